"""One file of the checked tree: its bytes, its text, and its statements as separate blocks.

Parsing is the dearest stage by far, so a file is cut into top-level statements, and a class into the members of
its body, by the text alone; each is parsed only when something asks for it. Positions stay those of the file.
"""

from __future__ import annotations

import bisect
import codecs
import io
import os
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from lintinit._lazy import cst
from lintinit.errors import Diagnostic
from lintinit.import_lines import Import, imports
from lintinit.parsing import explain_failure, parse
from lintinit.strings import long_strings

_CONTINUES = re.compile(r"(?:else|elif|except|finally)\b")
_HEAD = re.compile(r"(?:[ \t]*@[^\n]*\n(?:[ \t]*(?:#[^\n]*)?\n)*)*?[ \t]*(?:async[ \t]+)?(def|class)[ \t]+(\w+)")
_COMPOUND = re.compile(r"[ \t]*(?:if|try|with|for|while|match|else|elif)\b")
_BINDS = re.compile(
    r"^[ \t]*(?:async[ \t]+def|def|class)[ \t]+(\w+)"
    r"|^[ \t]*(?:from[ \t]+[\w.]+[ \t]+)?import[ \t]+(\([^)]*\)|[^\n#]*(?:\\\r?\n[^\n#]*)*)"
    # Words and the blanks between them are told apart, or a long run of blanks would be tried in every division.
    r"|^[ \t]*([\w,()*]+(?:[ \t]+[\w,()*]+)*)[ \t]*(?::[^=\n]+)?=(?!=)",
    re.MULTILINE,
)
_ANNOTATES = re.compile(r"^[ \t]*(\w+)[ \t]*:(?!=)", re.MULTILINE)
_RETURNS_MEMORY = re.compile(r"\breturn\b[^\n]*\bempty\w*\(")
_WORD = re.compile(r"\w+")
_LONE_RETURN = re.compile(r"\r(?!\n)")
_FORM_FEED = re.compile(r"(\r?\n)([ \t\f]*\f)")
_STAR = re.compile(r"import[\s(\\]*\*")
_NAME = re.compile(r"(?:[\w.]+\s+as\s+)?(\w+|\*)")
_BRACKETS = re.compile(r"[(\[{]|[)\]}]|:|#[^\n]*|\"\"\"|'''|\"(?:[^\\\"\n]|\\.)*\"|'(?:[^\\'\n]|\\.)*'")


@dataclass(frozen=True, slots=True)
class Position:
    """A range in a file: lines from 1, columns from 1 in code points, the end exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


class Block:
    """A statement with its decorators: of a file, or of a class body. Parsed on demand."""

    def __init__(self, source: SourceFile, start: int, end: int, parent: Block | None = None) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.parent = parent
        self._positions: dict[cst.CSTNode, Position] | None = None

    @cached_property
    def line(self) -> int:
        """The line that it starts on, from 1."""
        return self.source.text.count("\n", 0, self.start) + 1

    @cached_property
    def text(self) -> str:
        """The statement's own text, with its indentation."""
        return self.source.text[self.start : self.end]

    @cached_property
    def head(self) -> tuple[str, str] | None:
        """``("class" or "def", name)`` for a definition."""
        match = _HEAD.match(self.text)
        return (match[1], match[2]) if match else None

    @cached_property
    def binds(self) -> tuple[str, ...]:
        """Names that the statement may bind; ``*`` for a star import."""
        if self.head is not None:
            return (self.head[1],)
        names: list[str] = []
        compound = _COMPOUND.match(self.text) is not None
        for match in _BINDS.finditer(self.text):
            if match.start() and not compound:
                break
            names += [match[1]] if match[1] else _NAME.findall(match[2] if match[2] is not None else match[3])
        if self.parent is not None:
            names += _ANNOTATES.findall(self.text)
        return tuple(dict.fromkeys(names))

    @cached_property
    def words(self) -> set[str]:
        """Every identifier-like word of the text, those of comments and strings too, and numbers."""
        return set(_WORD.findall(self.text))

    @cached_property
    def header_words(self) -> set[str]:
        """The words of a definition's decorators and first line."""
        return set(_WORD.findall(self.header_text))

    @cached_property
    def header_text(self) -> str:
        """A definition's decorators and first line."""
        return self.source.text[self.start : self._header_end or self.end]

    @cached_property
    def inner_imports(self) -> list[Import]:
        """The imports inside a definition."""
        return list(imports(self.text)) if self.head is not None and "import " in self.text else []

    @property
    def is_import(self) -> bool:
        """Whether the statement is an import and nothing else."""
        return self.text.startswith(("import ", "from "))

    @cached_property
    def statements(self) -> list[cst.CSTNode]:
        """The parsed statement (libcst nodes); raises :class:`Diagnostic` where the file cannot be parsed."""
        return self._parsed[0]

    @cached_property
    def members(self) -> list[Block] | None:
        """The statements of the body of a class; None for anything that is not a class over several lines."""
        if self.head is None or self.head[0] != "class":
            return None
        opened = self._header_end
        if opened is None:
            return None
        text = self.source.text
        body = re.compile(r"(?:[ \t\f]*(?:#[^\n]*)?\r?\n)*([ \t]+)(?=\S)").match(text, opened, self.end)
        if body is None:
            return None
        return list(self.source.split(body.start(1), self.end, body[1], self))

    @cached_property
    def header(self) -> list[cst.CSTNode]:
        """A class statement without its body, parsed."""
        if self._header_end is None:
            return self.statements
        text = self.source.text[self.start : self._header_end].rstrip("\r\n") + "\n"
        indent = re.match(r"[ \t]*", text)
        assert indent is not None
        try:
            return _statements_of(parse(self._wrap(f"{text}{indent[0]}    pass\n"), self.source.path), self._nested)
        except Diagnostic:
            return self.statements

    @cached_property
    def bindings(self) -> dict[str, list[Block]]:
        """The members that may bind each name of the class body."""
        return _bindings(self.members or [])

    def forget_parse(self) -> None:
        """Let go of the parsed statement and those of the members; the text stays."""
        for name in ("statements", "header", "_parsed"):
            self.__dict__.pop(name, None)
        self._positions = None
        for member in self.__dict__.get("members") or ():
            member.forget_parse()

    def position(self, node: cst.CSTNode) -> Position:
        """Where *node* stands in the file. Computed for the whole block on the first question."""
        _, module, owner = self._parsed
        if owner is not self:
            return owner.position(node)
        if self._positions is None:
            from libcst.metadata import MetadataWrapper, PositionProvider

            shift = self.line - (2 if self._nested else 1)
            self._positions = {}
            for item, found in MetadataWrapper(module, unsafe_skip_copy=True).resolve(PositionProvider).items():
                start, end = found.start, found.end
                self._positions[item] = Position(start.line + shift, start.column + 1, end.line + shift, end.column + 1)
        return self._positions[node]

    @property
    def _nested(self) -> bool:
        return self.parent is not None

    def _wrap(self, text: str) -> str:
        return f"if 1:\n{text}" if self._nested else text

    @cached_property
    def _parsed(self) -> tuple[list[cst.CSTNode], cst.Module, Block]:
        """The nodes, their module, and the block that was really parsed for them.

        Where a cut was wrong (a continuation line at the indentation of a statement), the statement is found in
        what surrounds it.
        """
        self.source.parsed += len(self.text)
        try:
            module = parse(self._wrap(self.text), self.source.path)
            return _statements_of(module, self._nested), module, self
        except Diagnostic:
            around = self.parent or self.source.whole
            if around is self:
                raise explain_failure(self.source.text, self.source.path) from None
        nodes, module, owner = around._parsed
        if self.parent is not None and around.head is not None:
            nodes = [statement for node in nodes if isinstance(node, cst.ClassDef) for statement in node.body.body]
        lines = range(self.line, self.line + self.text.count("\n") + 1)
        return [node for node in nodes if owner.position(node).line in lines], module, owner

    @cached_property
    def _header_end(self) -> int | None:
        """Where the line of a class header's colon ends; None for a body on the same line."""
        text = self.source.text
        match = _HEAD.match(self.text)
        at, depth = self.start + (match.end() if match else 0), 0
        for token in _BRACKETS.finditer(text, at, self.end):
            if token[0] in "([{":
                depth += 1
            elif token[0] in ")]}":
                depth -= 1
            elif token[0] == ":" and not depth:
                line = re.compile(r"[ \t]*(?:#[^\n]*)?\r?\n").match(text, token.end(), self.end)
                return line.end() if line else None
        return None


class SourceFile:
    """A file as it was read; ``path`` is how findings name it."""

    def __init__(self, path: Path, data: bytes) -> None:
        self.path = path
        self.data = data
        #: Characters parsed so far.
        self.parsed = 0

    def forget_parse(self) -> None:
        """Let go of everything parsed; it takes a hundred times the memory of the text."""
        self.parsed = 0
        for block in (self.whole, *self.blocks):
            block.forget_parse()

    @cached_property
    def real_path(self) -> str:
        """The path with every link resolved."""
        if os.path.islink(self.path):
            return os.path.realpath(self.path)
        folder, name = os.path.split(self.path)
        return os.path.join(_real_folder(folder or os.curdir), name)

    @cached_property
    def folder(self) -> str:
        """The folder that holds the file, links resolved."""
        return os.path.dirname(self.real_path)

    @cached_property
    def encoding(self) -> str:
        """Declared or default encoding; raises :class:`Diagnostic` where Python would refuse it."""
        head = self.data.find(b"\n", self.data.find(b"\n") + 1)
        declared = self.data.find(b"coding", 0, head if head >= 0 else None) >= 0
        if not declared and not self.data.startswith(codecs.BOM_UTF8):
            return "utf-8"
        try:
            return tokenize.detect_encoding(io.BytesIO(self.data).readline)[0]
        except SyntaxError as error:
            raise Diagnostic(self.path, 1, f"cannot decode: {error.msg}") from None

    @cached_property
    def text(self) -> str:
        """The decoded text without a byte order mark, as long as it is in the file.

        A carriage return alone becomes a line feed, and a form feed before the code of a line goes to the end of the
        line before: what the code means stays, and every line starts where its code does.
        """
        text = _LONE_RETURN.sub("\n", self.decoded) if "\r" in self.decoded else self.decoded
        return _FORM_FEED.sub(lambda match: " " * len(match[2]) + match[1], text) if "\f" in text else text

    @cached_property
    def decoded(self) -> str:
        """The decoded text without a byte order mark, every character as it is in the file."""
        data = self.data.removeprefix(codecs.BOM_UTF8)
        encoding = "utf-8" if self.encoding == "utf-8-sig" else self.encoding
        try:
            text = data.decode(encoding)
        except (UnicodeError, LookupError) as error:
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
    def whole(self) -> Block:
        """The file as one block."""
        return Block(self, 0, len(self.text))

    @cached_property
    def blocks(self) -> list[Block]:
        """The top-level statements in order."""
        return list(self.split(0, len(self.text), "", None))

    @cached_property
    def bindings(self) -> dict[str, list[Block]]:
        """The blocks that may bind each module-level name."""
        return _bindings(self.blocks)

    @cached_property
    def _passes_on(self) -> bool:
        return _STAR.search(self.text) is not None

    def may_bind(self, name: str) -> bool:
        """Whether the file may have *name*, its own or from a star import: a look at the text, without splitting it."""
        return name in self.text or self._passes_on

    @cached_property
    def imports(self) -> dict[str, list[Import]]:
        """The imports at module level, those under conditions too, by the name they bind."""
        found: dict[str, list[Import]] = {}
        for block in self.blocks:
            if block.head is None and "import" in block.text:
                for imported in imports(block.text):
                    found.setdefault(imported.alias, []).append(imported)
        return found

    @cached_property
    def allocating_methods(self) -> dict[str, list[Block]]:
        """Methods that return memory without values, by name, with their classes."""
        found: dict[str, list[Block]] = {}
        for block in self.blocks:
            if "empty" in block.text and block.head is not None and block.head[0] == "class":
                for member in block.members or ():
                    if member.head is not None and _RETURNS_MEMORY.search(member.text):
                        found.setdefault(member.head[1], []).append(block)
        return found

    def split(self, start: int, end: int, indent: str, parent: Block | None) -> Iterator[Block]:
        """The statements between two offsets that stand at the indentation *indent*."""
        starts = list(self._starts(start, end, indent))
        for at, stop in zip(starts, [*starts[1:], end], strict=False):
            yield Block(self, at, stop, parent)

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer(r"\r\n?|\n", self.text))]

    def offset(self, line: int, column: int) -> int:
        """How many characters of the text come before a place."""
        return self._line_starts[line - 1] + column - 1

    def position_at(self, offset: int) -> Position:
        """The empty range at *offset*."""
        line = bisect.bisect_right(self._line_starts, offset)
        column = offset - self._line_starts[line - 1] + 1
        return Position(line, column, line, column)

    @cached_property
    def _strings(self) -> list[tuple[int, int]]:
        return list(long_strings(self.text))

    def _starts(self, start: int, end: int, indent: str) -> Iterator[int]:
        text = self.text
        pattern = re.compile(rf"(?:\n|\A){indent}(?=[^\s#)\]}}])")
        decorated = False
        for match in pattern.finditer(text, max(start - 1, 0), end):
            first = match.end()
            at = first - len(indent)
            if self._in_string(first):
                continue
            follows = (
                decorated or _CONTINUES.match(text, first) or text[max(at - 3, 0) : at].rstrip("\r\n").endswith("\\")
            )
            decorated = text[first] == "@"
            if not follows:
                yield at

    def _in_string(self, at: int) -> bool:
        found = bisect.bisect_left(self._strings, (at,)) - 1
        return found >= 0 and at < self._strings[found][1]


@cache
def _real_folder(folder: str) -> str:
    return os.path.realpath(folder)


def _bindings(blocks: list[Block]) -> dict[str, list[Block]]:
    found: dict[str, list[Block]] = {}
    for block in blocks:
        for name in block.binds:
            found.setdefault(name, []).append(block)
    return found


def _statements_of(module: cst.Module, nested: bool) -> list[cst.CSTNode]:
    if not nested:
        return list(module.body)
    around = module.body[0]
    assert isinstance(around, cst.If)
    return list(around.body.body)
