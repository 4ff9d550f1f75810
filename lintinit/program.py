"""The files of the checked tree as a program: which file an import means, and which files name something."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from lintinit.errors import Diagnostic
from lintinit.source import SourceFile

#: Never looked up in the checked tree: what they do is known, and a folder of this name would mislead.
_OUTSIDE = frozenset({"torch", "numpy", *sys.stdlib_module_names})
_PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg", ".git")
_MAX_BYTES = 4_000_000


class Program:
    """Finds and keeps the files that imports lead to. Inside, paths are strings: they are compared a lot."""

    def __init__(self, roots: Iterable[Path] = ()) -> None:
        self._roots = [os.path.realpath(root) for root in roots]
        self._files: dict[str, SourceFile | None] = {}
        #: Bytes of the files that are kept.
        self._size = 0
        self._modules: dict[tuple[str, str], str | None] = {}
        self._meant: dict[tuple[str, str, int], str | None] = {}
        self._mentions: dict[tuple[str, str], list[str]] = {}
        self._listings: dict[str, list[str]] = {}
        self._packages: dict[str, str | None] = {}
        self._names: dict[str, frozenset[str]] = {}

    def trim(self, text: int, parsed: int) -> bool:
        """Let go of parsed code beyond *parsed* characters, and of all files beyond *text* bytes; whether of these."""
        sources = [source for source in self._files.values() if source is not None and source.parsed]
        if sum(source.parsed for source in sources) > parsed:
            for source in sources:
                source.forget_parse()
        if self._size <= text:
            return False
        self._files.clear()
        self._size = 0
        return True

    def add(self, source: SourceFile) -> None:
        """Make *source* known under its path, so that it is not read again."""
        self._files[source.real_path] = source
        self._size += len(source.data)

    def find(self, dotted: str, level: int, importer: SourceFile) -> SourceFile | None:
        """The file that ``import dotted`` (with *level* leading dots) means in *importer*, if it is in the tree."""
        key = (importer.folder, dotted, level)
        try:
            path = self._meant[key]
        except KeyError:
            path = self._meant[key] = self._locate(*key)
        return self._load(path) if path is not None else None

    def _locate(self, folder: str, dotted: str, level: int) -> str | None:
        if level:
            for _ in range(level - 1):
                folder = os.path.dirname(folder)
            return self._module_in(folder, dotted)
        if not dotted or dotted.partition(".")[0] in _OUTSIDE:
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
                    with open(path, "rb", buffering=0) as opened:
                        data = opened.read()
                except OSError:
                    continue
                if word in data and pattern.search(data):
                    found.append(path)
            self._mentions[key] = found
        own = source.real_path
        return [file for path in self._mentions[key] if path != own and (file := self._load(path)) is not None]

    def _package(self, folder: str) -> str | None:
        """The outermost package that *folder* belongs to; a level on the way may lack its ``__init__.py``."""
        if folder not in self._packages:
            found = None
            for above in _upwards(folder):
                names = self._listed(above)
                if "__init__.py" in names:
                    found = above
                elif not names.isdisjoint(_PROJECT_FILES):
                    break
            self._packages[folder] = found
        return self._packages[folder]

    def _listing(self, package: str) -> list[str]:
        if package not in self._listings:
            found = (
                os.path.join(folder, name)
                for folder, _, names in os.walk(package)
                for name in names
                if name.endswith(".py") and os.path.isfile(os.path.join(folder, name))  # a pipe may never end
            )
            self._listings[package] = sorted(found, key=lambda path: path.split(os.sep))
        return self._listings[package]

    def _search_path(self, folder: str) -> list[str]:
        """Where an absolute import starts: above the importer's package, its own folder, the roots of the run."""
        package = self._package(folder)
        above = os.path.dirname(package) if package is not None else folder
        return list(dict.fromkeys((above, folder, *self._roots)))

    def _module_in(self, folder: str, dotted: str) -> str | None:
        """The file of module *dotted* below *folder*, asked folder by folder, so that each is listed once."""
        key = (folder, dotted)
        if key not in self._modules:
            self._modules[key] = self._file_of(folder, dotted)
        return self._modules[key]

    def _file_of(self, folder: str, dotted: str) -> str | None:
        above, _, last = dotted.rpartition(".")
        if above:
            for name in above.split("."):
                if name not in self._listed(folder):
                    return None
                folder = os.path.join(folder, name)
        if last:
            names = self._listed(folder)
            path = os.path.join(folder, last)
            if f"{last}.py" in names and os.path.isfile(f"{path}.py"):
                return f"{path}.py"
            if last not in names:
                return None
            folder = path
        path = os.path.join(folder, "__init__.py")
        return path if "__init__.py" in self._listed(folder) and os.path.isfile(path) else None

    def _listed(self, folder: str) -> frozenset[str]:
        """The names in *folder*; none where it cannot be listed."""
        if folder not in self._names:
            try:
                self._names[folder] = frozenset(os.listdir(folder))
            except OSError:
                self._names[folder] = frozenset()
        return self._names[folder]

    def _load(self, path: str) -> SourceFile | None:
        try:
            return self._files[path]
        except KeyError:
            source = self._files[path] = self._read(path)
            self._size += len(source.data) if source is not None else 0
            return source

    def _read(self, path: str) -> SourceFile | None:
        try:
            if os.stat(path).st_size > _MAX_BYTES:
                return None
            source = SourceFile(Path(path), Path(path).read_bytes())
            source.text  # noqa: B018 -- decodes, so that a bad file is refused here
        except (OSError, Diagnostic):
            return None
        return source


def _upwards(folder: str) -> Iterator[str]:
    """*folder* and those around it, innermost first."""
    while True:
        yield folder
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above
