"""Which files a run checks: the paths a person names, and the Python files below the folders among them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pathspec import GitIgnoreSpec

from lintinit.errors import LintinitError

SUFFIXES = (".py", ".pyi")
#: Patterns, and the folder that they start from.
_Ignores = tuple[Path, GitIgnoreSpec]
#: Folders that hold no code of the project, and are large.
DEFAULT_EXCLUDES = (
    ".git/", ".hg/", ".svn/", ".tox/", ".nox/", ".venv/", "venv/", "__pycache__/", "node_modules/", "__pypackages__/",
    ".mypy_cache/", ".ruff_cache/", ".pytest_cache/", ".eggs/", ".lintinit_cache/", "site-packages/",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Excludes:
    """Patterns in the form of .gitignore, and the folder that they start from."""

    base: Path
    patterns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """A file to check, and whether somebody named it or it was found in a folder.

    A folder that cannot be listed comes as one too, with its *problem*: the files beside it are checked all the same.
    """

    path: Path
    named: bool
    problem: str | None = None


def discover(paths: Iterable[Path], excludes: Iterable[Excludes] = ()) -> Iterator[Found]:
    """The files to check, each once, in the order of *paths*, those of a folder by name.

    A named file is always taken, whatever it is called and whoever ignores it. Below a folder, git's ignore files
    and *excludes* hold. Links to folders are not followed, so that no loop can arise.
    Raises :class:`LintinitError` for a path that does not exist and for a pattern that means nothing.
    """
    seen: set[str] = set()
    shut_out = [(found.base, _spec(found.patterns)) for found in excludes if found.patterns]
    for path in paths:
        if not os.path.lexists(path):
            raise LintinitError(f"no such file or folder: {path}")
        for file in _walk(path, shut_out) if path.is_dir() else [Found(path, True)]:
            resolved = os.path.realpath(file.path)
            if resolved not in seen:
                seen.add(resolved)
                yield file


def _walk(root: Path, shut_out: list[_Ignores]) -> Iterator[Found]:
    """The files below *root*, depth first, by name."""
    default = (root, GitIgnoreSpec.from_lines(DEFAULT_EXCLUDES))
    pending = [(root, True, [default, *_ignores_above(root)])]
    while pending:
        path, is_folder, ignores = pending.pop()
        if not is_folder:
            yield Found(path, False)
            continue
        try:
            with os.scandir(path) as listing:
                entries = sorted(listing, key=lambda entry: entry.name, reverse=True)
        except OSError as error:
            yield Found(path, False, f"cannot be listed: {error.strerror}")
            continue
        if any(entry.name == ".gitignore" for entry in entries) and (own := _ignore_file(path)) is not None:
            ignores = [*ignores, (path, own)]
        pending += [
            (path / entry.name, is_folder, ignores)
            for entry in entries
            if ((is_folder := entry.is_dir(follow_symlinks=False)) or _is_source(entry))
            and not _ignored(path / entry.name, is_folder, [*ignores, *shut_out])
        ]


def _is_source(entry: os.DirEntry[str]) -> bool:
    return entry.name.endswith(SUFFIXES) and not (entry.is_symlink() and os.path.isdir(entry.path))


def _ignored(path: Path, is_folder: bool, ignores: list[_Ignores]) -> bool:
    """What the deepest file with a word to say about it says; a pattern may also take a path back in."""
    verdict = False
    for base, spec in ignores:
        relative = os.path.relpath(path, base).replace(os.sep, "/")
        found = spec.check_file(relative + "/" if is_folder else relative)
        if found.include is not None:
            verdict = found.include
    return verdict


def _ignores_above(root: Path) -> list[_Ignores]:
    """The ignore files between *root* and the top of its git repository, outermost first."""
    found: list[_Ignores] = []
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
    return GitIgnoreSpec.from_lines(line for line in lines if _has_meaning(line))


def _spec(patterns: Iterable[str]) -> GitIgnoreSpec:
    patterns = list(patterns)
    for pattern in patterns:
        if not _has_meaning(pattern):
            raise LintinitError(f"cannot exclude {pattern!r}: not a pattern in the form of .gitignore")
    return GitIgnoreSpec.from_lines(patterns)


def _has_meaning(pattern: str) -> bool:
    try:
        GitIgnoreSpec.from_lines([pattern])
    except ValueError:
        return False
    return True
