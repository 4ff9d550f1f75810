"""Simple statements, and the branches ``if`` and ``match``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from lintinit._lazy import cst
from lintinit.model.attributes import delete_attribute
from lintinit.model.comparisons import condition
from lintinit.model.containers import container_method
from lintinit.model.expressions import OPERATORS, binary
from lintinit.model.guards import FALSE, Guard
from lintinit.model.handlers import handles
from lintinit.model.heap import Map, Obj, Registry, Seq, Site, Tensor
from lintinit.model.iteration import rounds
from lintinit.model.machine import Arguments
from lintinit.model.state import registry_delete
from lintinit.model.subscripts import Part, index_of, region_of
from lintinit.model.targets import assign
from lintinit.model.tensors import use, write_region
from lintinit.model.values import NONE, Const, Value, fresh, key_of

if TYPE_CHECKING:
    from lintinit.model.machine import Machine

HANDLERS: dict[str, Callable[[Machine, Any], None]] = {}


@handles(HANDLERS, "IndentedBlock", "SimpleStatementSuite", "SimpleStatementLine")
def _sequence(m: Machine, node: cst.BaseSuite | cst.SimpleStatementLine) -> None:
    for statement in node.body:
        if m.path == FALSE:
            break
        m.execute(statement)


def mark(m: Machine, node: cst.CSTNode) -> None:
    """Note *node* as the statement being executed."""
    m.step()
    if m.frame is not None and m.block is not None:
        m.frame.statement = Site(m.block, node)


# Simple statements.


@handles(HANDLERS, "Expr")
def _expression(m: Machine, node: cst.Expr) -> None:
    m.discarded = node.value
    m.evaluate(node.value)
    m.discarded = None


@handles(HANDLERS, "Assign")
def _assign(m: Machine, node: cst.Assign) -> None:
    value = m.evaluate(node.value)
    for target in node.targets:
        assign(m, target.target, value)


@handles(HANDLERS, "AnnAssign")
def _annotated(m: Machine, node: cst.AnnAssign) -> None:
    if node.value is not None:
        assign(m, node.target, m.evaluate(node.value))


@handles(HANDLERS, "AugAssign")
def _augmented(m: Machine, node: cst.AugAssign) -> None:
    right = m.evaluate(node.value)
    target = node.target
    op = OPERATORS[type(node.operator).__name__.removesuffix("Assign")]
    if isinstance(target, cst.Subscript):
        owner = m.evaluate(target.value)
        index = index_of(m, target)
        m.each(owner, lambda option: _augment_item(m, option, index, op, right, node))
        return
    left = m.known(m.evaluate(target))
    if isinstance(left, Tensor):
        use(m, left, "number", node)
        if op == "*" and right == Const(0):
            write_region(m, left, left.region)
        return
    if isinstance(left, Obj) and left.items is not None and op == "+":
        container_method(m, left, "extend", Arguments([right]))
        return
    if isinstance(left, Seq) and op == "+":
        found = rounds(m, right)
        assign(m, target, Seq([*left.items, *found.items], left.exact and found.exact, found.rest))
        return
    assign(m, target, binary(m, op, left, right, node))


def _augment_item(m: Machine, owner: Value, index: list[Part], op: str, right: Value, node: cst.AugAssign) -> Value:
    if isinstance(owner, Tensor):
        region, _, _ = region_of(m, owner, index)
        use(m, Tensor(owner.storage, owner.dtype, region, None, owner.layout), "number", node)
        if op == "*" and right == Const(0):
            write_region(m, owner, region)
    return NONE


@handles(HANDLERS, "Return")
def _return(m: Machine, node: cst.Return) -> None:
    assert m.frame is not None
    value = m.evaluate(node.value) if node.value is not None else NONE
    if m.path != FALSE:
        m.frame.returns.append((m.path, value))
    m.path = FALSE


@handles(HANDLERS, "Raise")
def _raise(m: Machine, node: cst.Raise) -> None:
    m.raised = m.guards.any((m.raised, m.path))
    m.path = FALSE


@handles(HANDLERS, "Assert")
def _assert(m: Machine, node: cst.Assert) -> None:
    assert m.frame is not None
    holds = m.truth(m.evaluate(node.test))
    if m.frame.own:
        m.guards.assume(m.guards.any((holds, m.guards.negate(m.path))))


@handles(HANDLERS, "Pass", "Global", "Nonlocal", "TypeAlias")
def _nothing(m: Machine, node: cst.BaseSmallStatement) -> None:
    pass


@handles(HANDLERS, "Del")
def _delete(m: Machine, node: cst.Del) -> None:
    targets = (
        [element.value for element in node.target.elements] if isinstance(node.target, cst.Tuple) else [node.target]
    )
    for target in targets:
        if isinstance(target, cst.Attribute):
            m.each(m.evaluate(target.value), partial(delete_attribute, m, name=target.attr.value))
        elif isinstance(target, cst.Subscript):
            owner = m.known(m.evaluate(target.value))
            for key in index_of(m, target)[:1]:
                _delete_item(m, owner, key)


def _delete_item(m: Machine, owner: Value, key: Value) -> None:
    if isinstance(owner, Registry):
        registry_delete(m, owner, key)
    elif isinstance(owner, Map):
        owner.entries = [entry for entry in owner.entries if key_of(entry[1]) != key_of(key)]


# Branches.


@handles(HANDLERS, "If")
def _if(m: Machine, node: cst.If) -> None:
    test = m.truth(m.evaluate(node.test))
    before, raised = m.path, m.raised
    ends = []
    for guard, branch in ((test, node.body), (m.guards.negate(test), node.orelse)):
        m.path = here = m.guards.all(before, guard)
        m.raised = FALSE
        if m.path != FALSE and branch is not None:
            m.execute(branch)
        assert m.frame is not None
        if m.path == FALSE and here != FALSE and m.raised == here and here != before and m.frame.own:
            # A branch that only raises says what holds from here on; the path need not carry it.
            m.guards.assume(m.guards.negate(here))
            ends.append(here)
        else:
            ends.append(m.path)
        raised = m.guards.any((raised, m.raised))
    m.path, m.raised = m.guards.any(ends), raised


@handles(HANDLERS, "Else")
def _else(m: Machine, node: cst.Else) -> None:
    m.execute(node.body)


@handles(HANDLERS, "Match")
def _match(m: Machine, node: cst.Match) -> None:
    subject = m.evaluate(node.subject)
    rest, ends = m.path, []
    for case in node.cases:
        test = _pattern(m, case.pattern, subject)
        if case.guard is not None:
            test = m.guards.all(test, m.truth(m.evaluate(case.guard)))
        m.path = m.guards.all(rest, test)
        rest = m.guards.minus(rest, test)
        if m.path != FALSE:
            m.execute(case.body)
            ends.append(m.path)
    m.path = m.guards.any((*ends, rest))


def _pattern(m: Machine, pattern: cst.MatchPattern, subject: Value) -> Guard:
    """When *subject* matches; binds the name that the whole of it gets."""
    if isinstance(pattern, (cst.MatchValue, cst.MatchSingleton)):
        return condition(m, "Equal", subject, m.evaluate(pattern.value), pattern)
    if isinstance(pattern, cst.MatchOr):
        return m.guards.any(_pattern(m, element.pattern, subject) for element in pattern.patterns)
    if isinstance(pattern, cst.MatchAs):
        test = _pattern(m, pattern.pattern, subject) if pattern.pattern is not None else m.guards.negate(FALSE)
        if pattern.name is not None:
            assign(m, pattern.name, subject)
        return test
    return m.guards.atom(fresh("match"))
