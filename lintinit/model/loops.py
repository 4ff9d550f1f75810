"""``for`` and ``while``: rounds, early exits, and the numbers that a loop counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lintinit._lazy import cst
from lintinit.model import arithmetic
from lintinit.model.guards import FALSE
from lintinit.model.handlers import handles
from lintinit.model.iteration import counter, rounds
from lintinit.model.machine import Loop
from lintinit.model.targets import follow
from lintinit.model.values import Const, Symbol

if TYPE_CHECKING:
    from lintinit.model.machine import Machine

HANDLERS: dict[str, Callable[[Machine, Any], None]] = {}

#: Statements whose bodies belong to the round of the loop around them.
_INNER = frozenset(
    "IndentedBlock SimpleStatementLine SimpleStatementSuite If Else For While With Try ExceptHandler Finally".split()
)


@handles(HANDLERS, "For")
def _for(m: Machine, node: cst.For) -> None:
    assert m.frame is not None
    items = rounds(m, m.evaluate(node.iter))
    if not items.exact:
        _forget_counts(m, node.body)
    finished = FALSE

    def round_() -> None:
        nonlocal finished
        assert m.frame is not None
        loop = Loop()
        m.frame.loops.append(loop)
        m.execute(node.body)
        m.frame.loops.pop()
        m.path = m.guards.any((m.path, loop.again))
        finished = m.guards.any((finished, loop.left))

    follow(m, node.target, items, round_)
    if node.orelse is not None and m.path != FALSE:
        m.execute(node.orelse)
    m.path = m.guards.any((m.path, finished))


@handles(HANDLERS, "While")
def _while(m: Machine, node: cst.While) -> None:
    assert m.frame is not None
    before = m.path
    _count(m, node)
    _forget_counts(m, node.body)
    if m.truth(m.evaluate(node.test)) == FALSE:
        m.path = before
        return
    loop = Loop()
    m.frame.loops.append(loop)
    m.execute(node.body)
    m.frame.loops.pop()
    m.path = m.guards.any((m.path, loop.again, loop.left))
    if node.orelse is not None and m.path != FALSE:
        m.execute(node.orelse)


@handles(HANDLERS, "Break")
def _break(m: Machine, node: cst.Break) -> None:
    assert m.frame is not None
    if m.frame.loops:
        loop = m.frame.loops[-1]
        loop.left = m.guards.any((loop.left, m.path))
        m.path = FALSE


@handles(HANDLERS, "Continue")
def _continue(m: Machine, node: cst.Continue) -> None:
    assert m.frame is not None
    if m.frame.loops:
        loop = m.frame.loops[-1]
        loop.again = m.guards.any((loop.again, m.path))
        m.path = FALSE


# Counters.


def _count(m: Machine, node: cst.While) -> None:
    """The number that a ``while`` counts up or down to a bound, ``while i < n: ...; i += 1``, becomes a counter."""
    assert m.frame is not None
    test, names = node.test, m.frame.scope.names
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1 or not isinstance(test.left, cst.Name):
        return
    name, relation = test.left.value, type(test.comparisons[0].operator).__name__
    start, bound = names.get(name), m.known(m.evaluate(test.comparisons[0].comparator))
    if start is None or not isinstance(start := m.known(start), Const | Symbol):
        return
    step = _steps(node.body).get(name)
    if step == 1 and relation in ("LessThan", "LessThanEqual"):
        stop = bound if relation == "LessThan" else arithmetic.binary("+", bound, Const(1))
        names[name] = counter(m, start, stop)
    elif step == -1 and relation in ("GreaterThan", "GreaterThanEqual"):
        first = bound if relation == "GreaterThanEqual" else arithmetic.binary("+", bound, Const(1))
        names[name] = counter(m, first, arithmetic.binary("+", start, Const(1)))


def _steps(body: cst.BaseSuite) -> dict[str, int]:
    """Names that the body of a loop changes by a fixed number once in every round."""
    found: dict[str, int] = {}
    for line in body.body:
        for item in line.body if isinstance(line, cst.SimpleStatementLine) else ():
            if isinstance(item, cst.AugAssign) and isinstance(item.target, cst.Name):
                sign = {"AddAssign": 1, "SubtractAssign": -1}.get(type(item.operator).__name__)
                if sign is not None and isinstance(item.value, cst.Integer):
                    found[item.target.value] = sign * int(item.value.value, 0)
    return found


def _forget_counts(m: Machine, body: cst.BaseSuite) -> None:
    """Numbers that a loop carries along (``at += n``) become counters from their present value on."""
    assert m.frame is not None
    names = m.frame.scope.names
    for name in _carried(body):
        value = names.get(name)
        if isinstance(value, Symbol) and value.key in m.counters:
            continue
        if (isinstance(value, Const) and type(value.value) is int) or (
            isinstance(value, Symbol) and value.key.kind in ("sum", "op")
        ):
            names[name] = counter(m, value, None)


def _carried(body: cst.BaseSuite) -> set[str]:
    """Names whose value in a round depends on the one that they had in the round before."""
    found: set[str] = set()
    computed: dict[str, set[str]] = {}
    copied: list[tuple[str, str]] = []
    pending: list[Any] = [body]
    while pending:
        item = pending.pop()
        kind = type(item).__name__
        if kind == "AugAssign" and type(item.target).__name__ == "Name":
            found.add(item.target.value)
        elif kind == "Assign" and type(item.targets[0].target).__name__ == "Name":
            name = item.targets[0].target.value
            if type(item.value).__name__ == "BinaryOperation":
                sides = (item.value.left, item.value.right)
                computed[name] = {side.value for side in sides if type(side).__name__ == "Name"}
            elif type(item.value).__name__ == "Name":
                copied.append((name, item.value.value))
        elif kind in _INNER:
            pending += item.children
    found.update(name for name, parts in computed.items() if name in parts)
    # ``end = start + size; ...; start = end``
    found.update(name for name, source in copied if name in computed.get(source, ()))
    return found
