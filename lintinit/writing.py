"""A file gets new content whole or not at all: written beside it, on the disk, and only then put in its place."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from lintinit.errors import Diagnostic

_MARK = ".lintinit-"


def replace(path: Path, before: bytes, after: bytes) -> None:
    """Give *path*, which must still hold *before*, the content *after*; mode bits and symbolic links stay.

    Raises :class:`Diagnostic`, and leaves the file as it is, where it has changed, may not be written, or the disk
    is full.
    """
    real = Path(os.path.realpath(path))
    try:
        status = real.stat()
        if not os.access(real, os.W_OK):
            raise Diagnostic(path, 1, "is not fixed: the file is read-only")
        _remove_left_over(real)
        _put(real, before, after, status, path)
    except OSError as error:
        raise Diagnostic(path, 1, f"is not fixed: it cannot be written: {error.strerror}") from None


def _put(real: Path, before: bytes, after: bytes, status: os.stat_result, path: Path) -> None:
    written = real.with_name(f".{real.name}{_MARK}{os.getpid()}")
    try:
        handle = os.open(written, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(after)
            file.flush()
            os.fsync(file.fileno())
        written.chmod(stat.S_IMODE(status.st_mode))
        with contextlib.suppress(OSError, AttributeError):
            os.chown(written, status.st_uid, status.st_gid)
        if real.read_bytes() != before:
            raise Diagnostic(path, 1, "is not fixed: it changed after it was read; run again")
        written.replace(real)
    except BaseException:
        written.unlink(missing_ok=True)
        raise
    _sync(real.parent)


def _sync(folder: Path) -> None:
    """The new name of the file is on the disk, too, where the system can tell."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _remove_left_over(real: Path) -> None:
    """What a run that was killed left beside the file; that of a run still alive stays."""
    for path in real.parent.glob(f".{_escaped(real.name)}{_MARK}*"):
        process = path.name.rpartition("-")[2]
        if process.isdecimal() and not _is_alive(int(process)):
            path.unlink(missing_ok=True)


def _escaped(name: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
