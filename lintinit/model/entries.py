"""Where following starts: the classes and functions of a block that can make module state."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from lintinit.source import Block

#: A function is worth an entry of its own only if it names something that registers.
_MATTERS = re.compile(r"empty|Parameter|Buffer|regist|\bu?int\d|torch\.(?:int|long|short|bool)\b|Tensor\(|yield")
_ALLOCATES = re.compile(r"empty|Tensor\(|resize_")
_SHORT = 12
_REGISTERS = re.compile(r"regist|parameter|buffer|param\b|setattr|new_state|add_state", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Entry:
    """A class to construct or a function to call, by its dotted name in the file."""

    block: Block
    kind: Literal["class", "function", "code"]
    names: tuple[str, ...]


def entries_of(block: Block) -> Iterator[Entry]:
    """The entries of a top-level statement."""
    if block.head is None:
        if _REGISTERS.search(block.text) or "class " in block.text:
            yield Entry(block, "code", ())
        return
    kind, name = block.head
    if kind == "class":
        yield from _class_entries(block, block, ())
    elif may_register(block.text) or "class " in block.text:
        yield Entry(block, "function", (name,))


def _class_entries(top: Block, block: Block, outer: tuple[str, ...]) -> Iterator[Entry]:
    assert block.head is not None
    names = (*outer, block.head[1])
    yield Entry(top, "class", names)
    for member in block.members or ():
        if member.head is not None and member.head[0] == "class":
            yield from _class_entries(top, member, names)


def may_register(text: str) -> bool:
    """Whether *text* names anything that registers state."""
    return _REGISTERS.search(text) is not None


def may_allocate(text: str) -> bool:
    """Whether *text* names anything that makes memory without values."""
    return _ALLOCATES.search(text) is not None


def may_matter(text: str) -> bool:
    """Whether the result of a function that gets no state can matter to state: it makes tensors, dtypes or names.

    Short functions are always worth following.
    """
    return text.count("\n") <= _SHORT or _MATTERS.search(text) is not None
