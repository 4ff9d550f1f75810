"""Assignment: how the targets of an assignment or a loop take values apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from lintinit.model.attributes import set_attribute
from lintinit.model.guards import FALSE, TRUE
from lintinit.model.heap import Map, Seq, Tensor
from lintinit.model.regions import SOME, Piece
from lintinit.model.subscripts import index_of, set_item
from lintinit.model.values import Key, Symbol, Value, fresh, key_of

if TYPE_CHECKING:
    from lintinit.model.machine import Machine


def follow(m: Machine, target: Any, items: Seq, action: Callable[[], None]) -> bool:
    """Bind *target* and run *action* for every round of *items*; whether all rounds are known.

    A round under a guard leaves the path as it was: later rounds happen whether or not this one did.
    """
    before, after = m.path, FALSE
    for guard, item in items.items:
        m.path = m.guards.all(before, guard)
        if m.path == FALSE:
            continue
        assign(m, target, item)
        action()
        after = m.guards.any((after, m.path))
        before = m.guards.any((m.path, m.guards.minus(before, guard)))
        if before == FALSE:
            break
    m.path = before
    if not items.exact and before != FALSE:
        assign(m, target, _named(items.rest, target))
        action()
    return items.exact


def _named(element: Value, target: Any) -> Value:
    """An unknown element under the name that the loop gives it, for messages."""
    if isinstance(element, Symbol) and element.key.kind == "element" and type(target).__name__ == "Name":
        return Symbol(Key("element", element.key.parts[0], target.value), element.sources)
    return element


def assign(m: Machine, target: Any, value: Value) -> None:
    """``target = value`` for any kind of target."""
    kind = type(target).__name__
    if kind == "Name":
        assert m.frame is not None
        scope = m.frame.scope
        m.store(scope.names, target.value, value)
    elif kind == "Attribute":
        owner = m.evaluate(target.value)
        m.each(owner, lambda option: set_attribute(m, option, target.attr.value, value, target))
    elif kind == "Subscript":
        owner = m.evaluate(target.value)
        index = index_of(m, target)
        m.each(owner, lambda option: set_item(m, option, index, value, target))
    elif kind in ("Tuple", "List"):
        _unpack(m, list(target.elements), value)
    elif kind == "StarredElement":
        assign(m, target.value, value)


def _unpack(m: Machine, elements: list[Any], value: Value) -> None:
    if isinstance(value, Seq) and not value.exact and not value.items and isinstance(value.rest, Tensor):
        value = _cut(value.rest, value.key, len(elements))
    star = next((i for i, e in enumerate(elements) if type(e).__name__ == "StarredElement"), None)
    for at, element in enumerate(elements):
        if star is None or at < star:
            part = m.each(value, partial(_part, m, at))
        elif at == star:
            part = m.each(value, partial(_tail, star, len(elements) - star - 1))
        else:
            part = m.each(value, partial(_part, m, at - len(elements)))
        assign(m, element.value, part)


def _cut(part: Tensor, cut: Key, count: int) -> Seq:
    """The parts of a tensor as so many names take them."""
    if len(part.region) != 1 or part.region == (SOME,):
        return Seq([(TRUE, part)] * count)
    return Seq([(TRUE, replace(part, region=(Piece(cut, at, count),), row=False)) for at in range(count)])


def _tail(start: int, after: int, value: Value) -> Value:
    if isinstance(value, Seq) and value.exact:
        return Seq(value.items[start : len(value.items) - after])
    return Seq([], False)


def _part(m: Machine, at: int, value: Value) -> Value:
    """Element *at* of *value*, as unpacking sees it."""
    if isinstance(value, Seq):
        if value.exact and -len(value.items) <= at < len(value.items):
            return value.items[at][1]
        return value.rest if not value.exact and not value.items else Symbol(fresh())
    if isinstance(value, Tensor):
        return Tensor(value.storage, value.dtype, (SOME,), None, value.layout)
    m.sized(value, "items")
    if isinstance(value, Map) and value.exact and 0 <= at < len(value.entries):
        return value.entries[at][1]
    sources = value.sources if isinstance(value, Symbol) else frozenset()
    return Symbol(Key("item", key_of(value), Key("const", "int", at)), sources)
