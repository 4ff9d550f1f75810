"""The files of the checked tree as a program: which file an import means, and which files name something."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

from lintinit.errors import Diagnostic
from lintinit.source import SourceFile

#: Never looked up in the checked tree: what they do is known, and a folder of this name would mislead.
_OUTSIDE = frozenset({"torch", "numpy", *sys.stdlib_module_names})
_PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg", ".git")
_MAX_BYTES = 4_000_000


class Program:
    """Finds and keeps the files that imports lead to."""

    def __init__(self, roots: Iterable[Path] = ()) -> None:
        self._roots = [root.resolve() for root in roots]
        self._files: dict[Path, SourceFile | None] = {}
        self._found: dict[tuple[Path, str], Path | None] = {}
        self._meant: dict[tuple[Path, str, int], Path | None] = {}
        self._mentions: dict[tuple[Path, str], list[Path]] = {}
        self._listings: dict[Path, list[Path]] = {}
        self._packages: dict[Path, Path | None] = {}

    def trim(self, text: int, parsed: int) -> bool:
        """Let go of parsed code beyond *parsed* characters, and of all files beyond *text* bytes; whether of these."""
        sources = [source for source in self._files.values() if source is not None]
        if sum(source.parsed for source in sources) > parsed:
            for source in sources:
                if source.parsed:
                    source.forget_parse()
        if sum(len(source.data) for source in sources) <= text:
            return False
        self._files.clear()
        return True

    def add(self, source: SourceFile) -> None:
        """Make *source* known under its path, so that it is not read again."""
        self._files[source.path.resolve()] = source

    def find(self, dotted: str, level: int, importer: SourceFile) -> SourceFile | None:
        """The file that ``import dotted`` (with *level* leading dots) means in *importer*, if it is in the tree."""
        key = (importer.folder, dotted, level)
        if key not in self._meant:
            self._meant[key] = self._locate(*key)
        path = self._meant[key]
        return self._load(path) if path is not None else None

    def _locate(self, folder: Path, dotted: str, level: int) -> Path | None:
        if level:
            for _ in range(level - 1):
                folder = folder.parent
            return self._module_in(folder, dotted)
        if not dotted or dotted.split(".")[0] in _OUTSIDE:
            return None
        return next((path for start in self._search_path(folder) if (path := self._module_in(start, dotted))), None)

    def mentioning(self, source: SourceFile, name: str) -> list[SourceFile]:
        """The other files of the package of *source* in which *name* occurs as an attribute or a string."""
        package = self._package(source.folder)
        if package is None:
            return []
        key = (package, name)
        if key not in self._mentions:
            word = name.encode()
            pattern = re.compile(rb"\.%b\b|[\"']%b[\"']" % (re.escape(word), re.escape(word)))
            found = []
            for path in self._listing(package):
                try:
                    data = path.read_bytes()
                except OSError:
                    continue
                if word in data and pattern.search(data):
                    found.append(path)
            self._mentions[key] = found
        own = source.path.resolve()
        return [file for path in self._mentions[key] if path != own and (file := self._load(path)) is not None]

    def _package(self, folder: Path) -> Path | None:
        """The outermost package that *folder* belongs to; a level on the way may lack its ``__init__.py``."""
        if folder not in self._packages:
            found = None
            for above in (folder, *folder.parents):
                if (above / "__init__.py").is_file():
                    found = above
                elif any((above / name).exists() for name in _PROJECT_FILES):
                    break
            self._packages[folder] = found
        return self._packages[folder]

    def _listing(self, package: Path) -> list[Path]:
        if package not in self._listings:
            self._listings[package] = sorted(path for path in package.rglob("*.py") if path.is_file())
        return self._listings[package]

    def _search_path(self, folder: Path) -> list[Path]:
        """Where an absolute import starts: above the importer's package, its own folder, the roots of the run."""
        package = self._package(folder)
        above = package.parent if package is not None else folder
        return list(dict.fromkeys((above, folder, *self._roots)))

    def _module_in(self, folder: Path, dotted: str) -> Path | None:
        key = (folder, dotted)
        if key not in self._found:
            base = folder.joinpath(*dotted.split(".")) if dotted else folder
            candidates = [base / "__init__.py"]
            if dotted:
                candidates.insert(0, base.with_name(base.name + ".py"))
            self._found[key] = next((path for path in candidates if path.is_file()), None)
        return self._found[key]

    def _load(self, path: Path) -> SourceFile | None:
        if path not in self._files:
            self._files[path] = self._read(path)
        return self._files[path]

    def _read(self, path: Path) -> SourceFile | None:
        try:
            if path.stat().st_size > _MAX_BYTES:
                return None
            source = SourceFile(path, path.read_bytes())
            source.text  # noqa: B018 -- decodes, so that a bad file is refused here
        except (OSError, Diagnostic):
            return None
        return source
