"""Where following starts: the classes and functions of a block that can make module state."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from lintinit.source import Block

#: A function is worth an entry of its own only if it names something that registers.
_REGISTERS = re.compile(r"regist|parameter|buffer|param$|setattr|new_state|add_state", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Entry:
    """A class to construct or a function to call, by its dotted name in the file."""

    block: Block
    kind: Literal["class", "function", "code"]
    names: tuple[str, ...]


def entries_of(block: Block) -> Iterator[Entry]:
    """The entries of a top-level statement."""
    yield from _entries(block, block.module, ())


def _entries(block: Block, node: Any, outer: tuple[str, ...]) -> Iterator[Entry]:
    code = False
    for child in _statements(node):
        kind = type(child).__name__
        if kind == "ClassDef":
            names = (*outer, child.name.value)
            yield Entry(block, "class", names)
            yield from _entries(block, child.body, names)
        elif kind == "FunctionDef":
            if not outer and (may_register(child) or _defines_class(child)):
                yield Entry(block, "function", (child.name.value,))
        elif kind in ("If", "Try", "With", "For", "While", "Else"):
            yield from _entries(block, child, outer)
        elif not outer and kind == "SimpleStatementLine":
            code = code or may_register(child)
    if code:
        yield Entry(block, "code", ())


def _statements(node: Any) -> Iterator[Any]:
    for child in node.children if type(node).__name__ in ("If", "Try", "With", "For", "While", "Else") else node.body:
        if type(child).__name__ in ("IndentedBlock", "ExceptHandler", "Finally", "SimpleStatementSuite"):
            yield from _statements(child.body if hasattr(child.body, "body") else child)
        else:
            yield child


def identifiers(node: Any) -> set[str]:
    """Every name and attribute that occurs below *node*."""
    found: set[str] = set()
    pending = [node]
    while pending:
        item = pending.pop()
        if type(item).__name__ == "Name":
            found.add(item.value)
        else:
            pending += item.children
    return found


def may_register(node: Any) -> bool:
    """Whether *node* names anything that registers state."""
    return any(_REGISTERS.search(name) for name in identifiers(node))


def _defines_class(node: Any) -> bool:
    pending = [node.body]
    while pending:
        item = pending.pop()
        if type(item).__name__ == "ClassDef":
            return True
        if type(item).__name__ in ("IndentedBlock", "If", "Else", "With", "Try", "For"):
            pending += item.children
    return False
