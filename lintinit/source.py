"""One file of the checked tree: its bytes, its text, and its top-level statements as separate blocks.

Parsing is the dearest stage by far, so a file is cut into top-level statements first (by its text alone)
and each is parsed only when something asks for it. Positions and text stay those of the whole file.
"""

from __future__ import annotations

import codecs
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from lintinit._lazy import cst
from lintinit.errors import Diagnostic

if TYPE_CHECKING:
    from libcst import CSTNode, Module

_TRIPLE = re.compile(r'"""|\'\'\'')
_PLAIN_PREFIX = re.compile(r"[^#'\"]*[rRbBuUfFtT]?\Z")
_LEXEME = re.compile(
    r"(?P<comment>#[^\n]*)"
    r"|(?P<long>\"\"\"(?:[^\\\"]|\\.|\"(?!\"\"))*(?:\"\"\"|\Z)|'''(?:[^\\']|\\.|'(?!''))*(?:'''|\Z))"
    r"|(?P<short>\"(?:[^\\\"\n]|\\.)*\"?|'(?:[^\\'\n]|\\.)*'?)",
    re.DOTALL,
)
_START = re.compile(r"^[^\s#)\]}]", re.MULTILINE)
_CONTINUES = re.compile(r"(?:else|elif|except|finally)\b")
_BINDS = re.compile(
    r"^[ \t]*(?:async[ \t]+def|def|class)[ \t]+(\w+)"
    r"|^[ \t]*(?:from[ \t]+[\w.]+[ \t]+)?import[ \t]+(\([^)]*\)|[^\n#]*(?:\\\r?\n[^\n#]*)*)"
    r"|^[ \t]*([\w, \t()*]+?)[ \t]*(?::[^=\n]+)?=(?!=)",
    re.MULTILINE,
)
_NAME = re.compile(r"(?:[\w.]+\s+as\s+)?(\w+|\*)")


@dataclass(frozen=True, slots=True)
class Position:
    """A range in a file: lines from 1, columns from 1 in code points, the end exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


class Block:
    """A top-level statement with its decorators; parsed on demand."""

    def __init__(self, source: SourceFile, start: int, end: int, line: int) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.line = line
        self._positions: dict[CSTNode, Position] | None = None

    @property
    def text(self) -> str:
        """The statement's own text."""
        return self.source.text[self.start : self.end]

    @cached_property
    def binds(self) -> tuple[str, ...]:
        """Names that the statement may bind in the module; ``*`` for a star import."""
        names: list[str] = []
        text = self.text
        compound = re.match(r"(?:if|try|with|for|while|match|else|elif)\b", text)
        for match in _BINDS.finditer(text):
            if not compound and match.start() and not text[: match.start()].lstrip().startswith("@"):
                break
            if match[1]:
                names.append(match[1])
            else:
                names += _NAME.findall(match[2] if match[2] is not None else match[3])
            if not compound and match[1]:
                break
        return tuple(dict.fromkeys(names))

    @cached_property
    def module(self) -> Module:
        """The parsed statement (libcst), as a module of its own."""
        return cst.parse_module(self.text)

    def position(self, node: CSTNode) -> Position:
        """Where *node* stands in the file. Computed for the whole block on the first question."""
        if self._positions is None:
            from libcst.metadata import MetadataWrapper, PositionProvider

            wrapper = MetadataWrapper(self.module, unsafe_skip_copy=True)
            shift = self.line - 1
            self._positions = {
                item: Position(
                    found.start.line + shift, found.start.column + 1, found.end.line + shift, found.end.column + 1
                )
                for item, found in wrapper.resolve(PositionProvider).items()
            }
        return self._positions[node]


class SourceFile:
    """A file as it was read; ``path`` is how findings name it."""

    def __init__(self, path: Path, data: bytes) -> None:
        self.path = path
        self.data = data

    @cached_property
    def encoding(self) -> str:
        """Declared or default encoding; raises :class:`Diagnostic` where Python would refuse it."""
        try:
            return tokenize.detect_encoding(io.BytesIO(self.data).readline)[0]
        except SyntaxError as error:
            raise Diagnostic(self.path, 1, f"cannot decode: {error.msg}") from None

    @cached_property
    def text(self) -> str:
        """The decoded text without a byte order mark; line ends as they are in the file."""
        data = self.data.removeprefix(codecs.BOM_UTF8)
        encoding = "utf-8" if self.encoding == "utf-8-sig" else self.encoding
        try:
            text = data.decode(encoding)
        except (UnicodeDecodeError, LookupError) as error:
            line = data[: getattr(error, "start", 0)].count(b"\n") + 1
            raise Diagnostic(self.path, line, f"cannot decode: {error}") from None
        if "\0" in text:
            raise Diagnostic(self.path, text[: text.index("\0")].count("\n") + 1, "source contains a null byte")
        return text

    @cached_property
    def lines(self) -> list[str]:
        """The text by lines, ends kept, cut where Python counts a new line."""
        return re.split(r"(?<=\n)|(?<=\r)(?!\n)", self.text)

    @cached_property
    def blocks(self) -> list[Block]:
        """The top-level statements in order."""
        starts = list(self._starts())
        ends = [*starts[1:], len(self.text)]
        blocks = []
        line, done = 1, 0
        for start, end in zip(starts, ends, strict=True):
            line += len(re.findall(r"\r\n?|\n", self.text[done:start]))
            done = start
            blocks.append(Block(self, start, end, line))
        return blocks

    @cached_property
    def bindings(self) -> dict[str, list[Block]]:
        """The blocks that may bind each module-level name."""
        found: dict[str, list[Block]] = {}
        for block in self.blocks:
            for name in block.binds:
                found.setdefault(name, []).append(block)
        return found

    def _starts(self) -> Iterator[int]:
        text = self.text
        strings = list(_long_strings(text))
        at, decorated = 0, False
        for match in _START.finditer(text):
            start = match.start()
            while at < len(strings) and strings[at][1] <= start:
                at += 1
            if at < len(strings) and strings[at][0] < start:
                continue
            if decorated or _CONTINUES.match(text, start) or text[:start].rstrip("\r\n").endswith("\\"):
                decorated = text[start] == "@"
                continue
            decorated = text[start] == "@"
            yield start


def _long_strings(text: str) -> Iterator[tuple[int, int]]:
    """Ranges of triple-quoted strings.

    The quick way pairs the quotes in order; it holds unless one stands in a comment or in another string,
    and then the text is scanned properly.
    """
    found = []
    at = 0
    while match := _TRIPLE.search(text, at):
        line_start = text.rfind("\n", 0, match.start()) + 1
        prefix = text[max(line_start, at) : match.start()]
        if not _PLAIN_PREFIX.match(prefix):
            return _scan(text)
        end = text.find(match[0], match.end())
        while end > 0 and _escaped(text, end):
            end = text.find(match[0], end + 1)
        at = len(text) if end < 0 else end + 3
        found.append((match.start(), at))
    return iter(found)


def _escaped(text: str, at: int) -> bool:
    slashes = 0
    while text[at - slashes - 1] == "\\":
        slashes += 1
    return slashes % 2 == 1


def _scan(text: str) -> Iterator[tuple[int, int]]:
    return (match.span() for match in _LEXEME.finditer(text) if match.lastgroup == "long")
