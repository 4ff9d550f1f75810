"""Which files a run checks: the paths a person names, and the Python files below the folders among them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pathspec import GitIgnoreSpec

from lintinit.errors import LintinitError

SUFFIXES = (".py", ".pyi")
#: Folders that hold no code of the project, and are large.
DEFAULT_EXCLUDES = (
    ".git/", ".hg/", ".svn/", ".tox/", ".nox/", ".venv/", "venv/", "__pycache__/", "node_modules/", "__pypackages__/",
    ".mypy_cache/", ".ruff_cache/", ".pytest_cache/", ".eggs/", ".lintinit_cache/", "site-packages/",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Found:
    """A file to check, and whether somebody named it or it was found in a folder."""

    path: Path
    named: bool


def discover(paths: Iterable[Path], excludes: Iterable[str] = ()) -> Iterator[Found]:
    """The files to check, each once, in the order of *paths*, those of a folder by name.

    A named file is always taken, whatever it is called and whoever ignores it. Below a folder, git's ignore files
    and *excludes* (patterns of the same form) hold. Links to folders are not followed, so that no loop can arise.
    Raises :class:`LintinitError` for a path that does not exist.
    """
    seen: set[Path] = set()
    shut_out = GitIgnoreSpec.from_lines([*DEFAULT_EXCLUDES, *excludes])
    for path in paths:
        if not os.path.lexists(path):
            raise LintinitError(f"no such file or folder: {path}")
        found = _walk(path, shut_out) if path.is_dir() else [Found(path, True)]
        for file in found:
            resolved = Path(os.path.realpath(file.path))
            if resolved not in seen:
                seen.add(resolved)
                yield file


def _walk(root: Path, shut_out: GitIgnoreSpec) -> Iterator[Found]:
    ignores = [(root, shut_out), *_ignores_above(root)]
    yield from _below(root, ignores)


def _below(folder: Path, ignores: list[tuple[Path, GitIgnoreSpec]]) -> Iterator[Found]:
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError as error:
        raise LintinitError(f"cannot list {folder}: {error.strerror}") from None
    if any(entry.name == ".gitignore" for entry in entries):
        own = _ignore_file(folder)
        ignores = [*ignores, (folder, own)] if own is not None else ignores
    for entry in entries:
        path = folder / entry.name
        is_folder = entry.is_dir(follow_symlinks=False)
        if not (is_folder or entry.name.endswith(SUFFIXES)) or _ignored(path, is_folder, ignores):
            continue
        if is_folder:
            yield from _below(path, ignores)
        elif entry.is_file() or entry.is_symlink():
            yield Found(path, False)


def _ignored(path: Path, is_folder: bool, ignores: list[tuple[Path, GitIgnoreSpec]]) -> bool:
    """What the deepest file with a word to say about it says; a pattern may also take a path back in."""
    verdict = False
    for base, spec in ignores:
        relative = os.path.relpath(path, base).replace(os.sep, "/")
        found = spec.check_file(relative + "/" if is_folder else relative)
        if found.include is not None:
            verdict = found.include
    return verdict


def _ignores_above(root: Path) -> list[tuple[Path, GitIgnoreSpec]]:
    """The ignore files between *root* and the top of its git repository, outermost first."""
    found: list[tuple[Path, GitIgnoreSpec]] = []
    folder = root.absolute()
    if (folder / ".git").exists():
        return found
    for above in folder.parents:
        spec = _ignore_file(above)
        if spec is not None:
            found.append((above, spec))
        if (above / ".git").exists():
            return [(base, spec) for base, spec in reversed(found)]
    return []


def _ignore_file(folder: Path) -> GitIgnoreSpec | None:
    try:
        lines = (folder / ".gitignore").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return None
    return GitIgnoreSpec.from_lines(lines)
