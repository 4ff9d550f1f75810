"""Where a statement stands: its line, its function, its class, and where something can be inserted around it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from lintinit._lazy import cst
from lintinit.model.heap import Site
from lintinit.remedy import Edit
from lintinit.source import Block, SourceFile

_BLANKS = re.compile(r"[ \t]*")
_SUITES = frozenset("If Else For While With Try ExceptHandler Finally IndentedBlock Match MatchCase".split())


@dataclass(frozen=True, slots=True)
class Member:
    """A function in a class body, with the block that it was parsed from."""

    block: Block
    node: cst.FunctionDef

    @property
    def receiver(self) -> str | None:
        """What the function calls the object it is called on; None where it is called on none."""
        decorators = {getattr(d.decorator, "value", None) for d in self.node.decorators}
        first = [*self.node.params.posonly_params, *self.node.params.params][:1]
        return first[0].name.value if first and not decorators & {"staticmethod", "classmethod"} else None

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of all parameters but the first."""
        params = self.node.params
        return tuple(p.name.value for p in (*params.posonly_params, *params.params, *params.kwonly_params))[1:]


class Place:
    """A statement of a file and what surrounds it."""

    def __init__(self, site: Site) -> None:
        self.block = site.block
        self.source = site.block.source
        self._parents: dict[cst.CSTNode, cst.CSTNode] = {}
        pending: list[cst.CSTNode] = list(site.block.statements)
        while pending:
            node = pending.pop()
            for child in node.children:
                self._parents[child] = node
                pending.append(child)
        self.statement = self._small(site.node)

    def _small(self, node: cst.CSTNode | None) -> cst.CSTNode | None:
        """The simple statement that *node* is or belongs to."""
        while node is not None:
            parent = self._parents.get(node)
            if isinstance(node, cst.BaseSmallStatement):
                return node
            if isinstance(node, cst.SimpleStatementLine):
                return node.body[0] if len(node.body) == 1 else None
            node = parent
        return None

    def around(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """What *node* stands in, from the inside out."""
        parent = self._parents.get(node)
        while parent is not None:
            yield parent
            parent = self._parents.get(parent)

    @cached_property
    def function(self) -> Member | None:
        """The method of a class that the statement stands in; None for anything else."""
        if self.statement is None:
            return None
        for node in self.around(self.statement):
            if isinstance(node, cst.FunctionDef):
                return Member(self.block, node) if self._class_of(node) is not None else None
            if isinstance(node, cst.Lambda | cst.ClassDef):
                return None
        return None

    def _class_of(self, node: cst.CSTNode) -> cst.ClassDef | Block | None:
        for outer in self.around(node):
            if isinstance(outer, cst.ClassDef):
                return outer
            if type(outer).__name__ not in _SUITES:
                return None
        return self.block.parent

    @cached_property
    def enclosing_class(self) -> cst.ClassDef | Block | None:
        """The class whose method the statement stands in: its node, or its block where its members are blocks."""
        return self._class_of(self.function.node) if self.function is not None else None

    @property
    def enclosing_function(self) -> cst.FunctionDef | None:
        """The innermost function around the statement, a method or not."""
        if self.statement is None:
            return None
        return next((node for node in self.around(self.statement) if isinstance(node, cst.FunctionDef)), None)

    @property
    def is_unconditional(self) -> bool:
        """Whether the statement stands in the body of its function itself."""
        above = list(self.around(self.statement))[:3] if self.statement is not None else []
        return [type(node).__name__ for node in above] == ["SimpleStatementLine", "IndentedBlock", "FunctionDef"]

    # Text.

    def text(self, node: cst.CSTNode) -> str:
        """*node* as it is written."""
        start, end = self.span(node)
        return self.source.decoded[start:end]

    def span(self, node: cst.CSTNode) -> tuple[int, int]:
        """Where *node* starts and ends, in characters of the file."""
        at = self.block.position(node)
        return self.source.offset(at.line, at.column), self.source.offset(at.end_line, at.end_column)

    # Insertions.

    def after_statement(self, lines: list[str]) -> Edit | None:
        """*lines* as statements right after the statement; None where only one line would fit and there are more."""
        assert self.statement is not None
        start, end = self.span(self.statement)
        line = next(iter(self.around(self.statement)))
        if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1:
            return insert_lines(self.source, _line_end(self.source, end), self.indent_at(start), lines)
        return insertion(self.source, end, f"; {lines[0]}") if len(lines) == 1 else None

    def indent_at(self, offset: int) -> str:
        """The indentation of the line at *offset*."""
        text = self.source.text
        found = _BLANKS.match(text, text.rfind("\n", 0, offset) + 1)
        assert found is not None
        return found[0]

    def body_indent(self, function: cst.FunctionDef) -> str:
        """The indentation of the body of *function*."""
        first, _ = self.span(function.body.body[0])
        return self.indent_at(first)

    def at_end_of(self, member: Member, line: str) -> Edit | None:
        """*line* as the last statement of the body of *member*; None for a body on the line of its ``def``."""
        if not isinstance(member.node.body, cst.IndentedBlock):
            return None
        last = member.node.body.body[-1]
        start, end = _span(member.block, last)
        del start
        first, _ = _span(member.block, member.node.body.body[0])
        return insert_lines(self.source, _line_end(self.source, end), self.indent_at(first), [line])

    def after_function(self, member: Member, lines: list[tuple[int, str]]) -> Edit:
        """*lines*, given with their depth, as a member of the class after *member*."""
        start, end = _span(member.block, member.node)
        indent = self.indent_at(start)
        step = self._step(member, indent)
        decoded = self.source.decoded
        at = _after_comments(decoded, _line_end(self.source, end), indent)
        newline = newline_at(self.source, at)
        text = "".join(f"{newline}{indent + step * depth + line if line else ''}" for depth, line in lines)
        following = re.compile(r"(?:\r\n|\n|\r)?([^\r\n]*)").match(decoded, at)
        separate = following is not None and following[1].strip()
        return insertion(self.source, at, newline + text + (newline if separate else ""), late=True)

    def _step(self, member: Member, indent: str) -> str:
        """One level of indentation, as the function itself has it."""
        if isinstance(member.node.body, cst.IndentedBlock):
            first, _ = _span(member.block, member.node.body.body[0])
            inner = self.indent_at(first)
            if inner.startswith(indent) and inner != indent:
                return inner[len(indent) :]
        return "\t" if "\t" in indent else "    "


def _span(block: Block, node: cst.CSTNode) -> tuple[int, int]:
    at = block.position(node)
    return block.source.offset(at.line, at.column), block.source.offset(at.end_line, at.end_column)


def insertion(source: SourceFile, at: int, text: str, late: bool = False) -> Edit:
    """*text* inserted at an offset."""
    return Edit(at, at, text, source.position_at(at), late)


def insert_lines(source: SourceFile, at: int, indent: str, lines: list[str]) -> Edit:
    """*lines* after the line that ends at the offset *at*."""
    newline = newline_at(source, at)
    return insertion(source, at, "".join(f"{newline}{indent}{line}" for line in lines))


def newline_at(source: SourceFile, at: int) -> str:
    """How the line that ends at *at* ends; the last line of a file does as the first."""
    pattern = re.compile(r"\r\n|\n|\r")
    found = pattern.match(source.decoded, at) or pattern.search(source.decoded)
    return found[0] if found else "\n"


def _line_end(source: SourceFile, offset: int) -> int:
    found = re.compile(r"[^\r\n]*").match(source.decoded, offset)
    assert found is not None
    return found.end()


def _after_comments(text: str, at: int, indent: str) -> int:
    """Behind the comments that follow a body at more than its *indent*."""
    deeper = re.compile(rf"(?:(?:\r\n|\n|\r)[ \t]*)*(?:\r\n|\n|\r){indent}[ \t]+#[^\r\n]*")
    while found := deeper.match(text, at):
        at = found.end()
    return at
