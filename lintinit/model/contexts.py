"""``try`` and ``with``: what may end early, and what is entered around other statements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from lintinit._lazy import cst
from lintinit.model.attributes import get_attribute
from lintinit.model.classes import lookup_class
from lintinit.model.guards import FALSE, Guard
from lintinit.model.handlers import handles
from lintinit.model.heap import Obj
from lintinit.model.machine import Arguments
from lintinit.model.targets import assign
from lintinit.model.values import NONE, Bound, Const, Function, Symbol, Value, fresh

if TYPE_CHECKING:
    from lintinit.model.machine import Machine

HANDLERS: dict[str, Callable[[Machine, Any], None]] = {}


@handles(HANDLERS, "Try", "TryStar")
def _try(m: Machine, node: cst.Try | cst.TryStar) -> None:
    assert m.frame is not None
    before, outer = m.path, m.raised
    m.raised = FALSE
    if m.frame.scope.is_module or not node.handlers:
        # Of the imports that a module tries, the first choice is what it is written for.
        m.execute(node.body)
        ends = [m.path]
        leftover = m.raised
    else:
        ends, leftover = _handled(m, node, before)
    m.path = m.guards.any(ends)
    if node.finalbody is not None:
        normal = m.path
        m.path = before
        m.execute(node.finalbody)
        m.path = m.guards.all(m.path, normal)
    m.raised = m.guards.any((outer, leftover))


def _handled(m: Machine, node: cst.Try | cst.TryStar, before: Guard) -> tuple[list[Guard], Guard]:
    """The paths on which the body or one of its handlers ends, and what is raised on."""
    failed = m.guards.atom(fresh("exception"))
    m.path = m.guards.minus(before, failed)
    m.execute(node.body)
    if node.orelse is not None and m.path != FALSE:
        m.execute(node.orelse)
    ends = [m.path]
    entry = m.guards.any((m.guards.all(before, failed), m.raised))
    m.raised = FALSE
    handlers: Sequence[cst.ExceptHandler | cst.ExceptStarHandler] = node.handlers
    for at, handler in enumerate(handlers):
        last = at == len(handlers) - 1
        mine = entry if last else m.guards.all(entry, m.guards.atom(fresh("handler")))
        entry = m.guards.minus(entry, mine)
        m.path = mine
        if m.path == FALSE:
            continue
        if handler.name is not None:
            assign(m, handler.name.name, Symbol(fresh("exception")))
        m.execute(handler.body)
        ends.append(m.path)
    return ends, m.raised


@handles(HANDLERS, "Finally")
def _finally(m: Machine, node: cst.Finally) -> None:
    m.execute(node.body)


@handles(HANDLERS, "With")
def _with(m: Machine, node: cst.With) -> None:
    _enter(m, node.items, node.body)


def _enter(m: Machine, items: Sequence[cst.WithItem], body: cst.CSTNode) -> None:
    """Enter the context managers one by one, the body innermost."""
    if not items:
        m.execute(body)
        return
    item, rest = items[0], items[1:]
    generator = _generator(m, item.item)
    if generator is not None:
        _within(m, item, generator, lambda: _enter(m, rest, body))
        return
    outer_meta, before = m.meta, m.path
    value = m.known(m.evaluate(item.item))
    manager = value if isinstance(value, Obj) and _has_exit(m, value) else None
    if manager is not None:
        value = m.call(get_attribute(m, manager, "__enter__", item.item), Arguments(), item.item)
    if value == Const("meta"):
        m.meta = True
    if item.asname is not None:
        assign(m, item.asname.name, value if not isinstance(value, Const) else Symbol(fresh()))
    suppressed = _suppresses(item.item)
    if suppressed:
        m.path = m.guards.minus(before, m.guards.atom(fresh("exception")))
    _enter(m, rest, body)
    if suppressed:
        m.path = before
    if manager is not None:
        m.call(get_attribute(m, manager, "__exit__", item.item), Arguments([NONE, NONE, NONE]), item.item)
    m.meta = outer_meta


def _has_exit(m: Machine, obj: Obj) -> bool:
    return obj.cls is not None and lookup_class(m, obj.cls, "__exit__") is not None


def _generator(m: Machine, node: cst.BaseExpression) -> Function | None:
    """The generator of the tree that a call makes a context manager of."""
    if not isinstance(node, cst.Call) or not isinstance(node.func, (cst.Name, cst.Attribute)):
        return None
    value = m.known(m.evaluate(node.func))
    function = value.function if isinstance(value, Bound) else value
    return function if isinstance(function, Function) and function.is_a("contextmanager") else None


def _within(m: Machine, item: cst.WithItem, manager: Function, body: Callable[[], None]) -> None:
    """Do what *body* does where *manager* yields: what stands behind the yield comes after it."""
    caller = m.block, m.frame, m.discarded

    def inside(value: Value) -> None:
        within = m.block, m.frame, m.discarded
        m.block, m.frame, m.discarded = caller
        if item.asname is not None:
            assign(m, item.asname.name, value)
        body()
        m.block, m.frame, m.discarded = within

    m.entered_contexts[manager] = inside
    m.evaluate(item.item)
    if m.entered_contexts.pop(manager, None) is not None:
        inside(Symbol(fresh()))


def _suppresses(node: cst.BaseExpression) -> bool:
    func = getattr(node, "func", None)
    name = getattr(func, "attr", func)
    return getattr(name, "value", "") == "suppress"
