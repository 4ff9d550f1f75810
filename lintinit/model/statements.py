"""Statements: what each kind of libcst node does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lintinit.model import arithmetic, imports
from lintinit.model.attributes import delete_attribute
from lintinit.model.comparisons import condition
from lintinit.model.containers import container_method
from lintinit.model.expressions import OPERATORS, binary
from lintinit.model.guards import FALSE, Guard
from lintinit.model.heap import Map, Obj, Registry, Seq, Site, Tensor
from lintinit.model.iteration import counter, rounds
from lintinit.model.machine import Arguments, Loop, is_alternative
from lintinit.model.state import registry_delete
from lintinit.model.subscripts import index_of, region_of
from lintinit.model.targets import assign, follow
from lintinit.model.tensors import use, write_region
from lintinit.model.values import (
    NONE,
    Bound,
    Class,
    Const,
    Function,
    Imported,
    Symbol,
    Value,
    fresh,
    key_of,
)

if TYPE_CHECKING:
    from lintinit.model.machine import Machine

Handler = Callable[["Machine", Any], None]
STATEMENTS: dict[str, Handler] = {}


def _handles(*names: str) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        STATEMENTS.update(dict.fromkeys(names, handler))
        return handler

    return register


# Sequences of statements.


@_handles("IndentedBlock", "SimpleStatementSuite")
def _suite(m: Machine, node: Any) -> None:
    for statement in node.body:
        if m.path == FALSE:
            break
        m.execute(statement)


@_handles("SimpleStatementLine")
def _line(m: Machine, node: Any) -> None:
    for statement in node.body:
        if m.path == FALSE:
            break
        m.execute(statement)


def mark(m: Machine, node: Any) -> None:
    """Note *node* as the statement being executed."""
    m.step()
    if m.frame is not None and m.block is not None:
        m.frame.statement = Site(m.block, node)


# Simple statements.


@_handles("Expr")
def _expression(m: Machine, node: Any) -> None:
    m.discarded = node.value
    m.evaluate(node.value)
    m.discarded = None


@_handles("Assign")
def _assign(m: Machine, node: Any) -> None:
    value = m.evaluate(node.value)
    for target in node.targets:
        assign(m, target.target, value)


@_handles("AnnAssign")
def _annotated(m: Machine, node: Any) -> None:
    if node.value is not None:
        assign(m, node.target, m.evaluate(node.value))


@_handles("AugAssign")
def _augmented(m: Machine, node: Any) -> None:
    right = m.evaluate(node.value)
    target = node.target
    op = OPERATORS[type(node.operator).__name__.removesuffix("Assign")]
    if type(target).__name__ == "Subscript":
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
        container_method(m, left, "extend", Arguments([right]), node)
        return
    if isinstance(left, Seq) and op == "+":
        found = rounds(m, right)
        assign(m, target, Seq([*left.items, *found.items], left.exact and found.exact, found.rest))
        return
    assign(m, target, binary(m, op, left, right, node))


def _augment_item(m: Machine, owner: Value, index: Any, op: str, right: Value, node: Any) -> Value:
    if isinstance(owner, Tensor):
        region, _, _ = region_of(m, owner, index)
        use(m, Tensor(owner.storage, owner.dtype, region, None, owner.layout), "number", node)
        if op == "*" and right == Const(0):
            write_region(m, owner, region)
    return NONE


@_handles("Return")
def _return(m: Machine, node: Any) -> None:
    assert m.frame is not None
    value = m.evaluate(node.value) if node.value is not None else NONE
    if m.path != FALSE:
        m.frame.returns.append((m.path, value))
    m.path = FALSE


@_handles("Raise")
def _raise(m: Machine, node: Any) -> None:
    m.raised = m.guards.any((m.raised, m.path))
    m.path = FALSE


@_handles("Assert")
def _assert(m: Machine, node: Any) -> None:
    assert m.frame is not None
    holds = m.truth(m.evaluate(node.test))
    if m.frame.own:
        m.guards.assume(m.guards.any((holds, m.guards.negate(m.path))))


@_handles("Pass", "Global", "Nonlocal", "TypeAlias")
def _nothing(m: Machine, node: Any) -> None:
    pass


@_handles("Break")
def _break(m: Machine, node: Any) -> None:
    assert m.frame is not None
    if m.frame.loops:
        loop = m.frame.loops[-1]
        loop.left = m.guards.any((loop.left, m.path))
        m.path = FALSE


@_handles("Continue")
def _continue(m: Machine, node: Any) -> None:
    assert m.frame is not None
    if m.frame.loops:
        loop = m.frame.loops[-1]
        loop.again = m.guards.any((loop.again, m.path))
        m.path = FALSE


@_handles("Del")
def _delete(m: Machine, node: Any) -> None:
    targets = node.target.elements if type(node.target).__name__ == "Tuple" else [node.target]
    for target in targets:
        target = getattr(target, "value", target) if type(target).__name__ == "Element" else target
        kind = type(target).__name__
        if kind == "Attribute":
            owner = m.evaluate(target.value)
            m.each(owner, lambda option, name=target.attr.value: delete_attribute(m, option, name))  # type: ignore[misc]
        elif kind == "Subscript":
            owner, index = m.known(m.evaluate(target.value)), index_of(m, target)
            if isinstance(owner, Registry) and isinstance(index[0], Value):
                registry_delete(m, owner, index[0])
            elif isinstance(owner, Map) and isinstance(index[0], Value):
                owner.entries = [entry for entry in owner.entries if key_of(entry[1]) != key_of(index[0])]


# Branches.


@_handles("If")
def _if(m: Machine, node: Any) -> None:
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


@_handles("Else", "Finally")
def _else(m: Machine, node: Any) -> None:
    m.execute(node.body)


@_handles("Match")
def _match(m: Machine, node: Any) -> None:
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


def _pattern(m: Machine, pattern: Any, subject: Value) -> Guard:
    kind = type(pattern).__name__
    if kind in ("MatchValue", "MatchSingleton"):
        return condition(m, "Equal", subject, m.evaluate(pattern.value), pattern)
    if kind == "MatchOr":
        return m.guards.any(_pattern(m, element.pattern, subject) for element in pattern.patterns)
    if kind == "MatchAs":
        test = _pattern(m, pattern.pattern, subject) if pattern.pattern is not None else m.guards.negate(FALSE)
        if pattern.name is not None:
            assign(m, pattern.name, subject)
        return test
    return m.guards.atom(fresh("match"))


# Loops.


@_handles("For")
def _for(m: Machine, node: Any) -> None:
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


@_handles("While")
def _while(m: Machine, node: Any) -> None:
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


def _count(m: Machine, node: Any) -> None:
    """The number that a ``while`` counts up or down to a bound, ``while i < n: ...; i += 1``, becomes a counter."""
    assert m.frame is not None
    test, names = node.test, m.frame.scope.names
    if type(test).__name__ != "Comparison" or len(test.comparisons) != 1 or type(test.left).__name__ != "Name":
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


def _steps(body: Any) -> dict[str, int]:
    """Names that the body of a loop changes by a fixed number once in every round."""
    found: dict[str, int] = {}
    for line in body.body:
        for item in line.body if type(line).__name__ == "SimpleStatementLine" else ():
            if type(item).__name__ == "AugAssign" and type(item.target).__name__ == "Name":
                sign = {"AddAssign": 1, "SubtractAssign": -1}.get(type(item.operator).__name__)
                if sign is not None and type(item.value).__name__ == "Integer":
                    found[item.target.value] = sign * int(item.value.value)
    return found


def _forget_counts(m: Machine, body: Any) -> None:
    """Numbers that a loop carries along (``at += n``) become counters from their present value on."""
    assert m.frame is not None
    names = m.frame.scope.names
    for name in _carried(body):
        value = names.get(name)
        if isinstance(value, Symbol) and value.key in m.counters:
            continue
        if isinstance(value, Const) and type(value.value) is int:
            names[name] = counter(m, value, None)
        elif isinstance(value, Symbol) and value.key.kind in ("sum", "op"):
            names[name] = counter(m, value, None)


def _carried(node: Any) -> set[str]:
    found: set[str] = set()
    computed: dict[str, set[str]] = {}
    copied: list[tuple[str, str]] = []
    pending = [node]
    while pending:
        item = pending.pop()
        kind = type(item).__name__
        if kind in ("FunctionDef", "ClassDef", "Lambda"):
            continue
        if kind == "AugAssign" and type(item.target).__name__ == "Name":
            found.add(item.target.value)
        if kind == "Assign" and type(item.targets[0].target).__name__ == "Name":
            name = item.targets[0].target.value
            if type(item.value).__name__ == "BinaryOperation":
                computed[name] = {getattr(side, "value", None) for side in (item.value.left, item.value.right)}
            elif type(item.value).__name__ == "Name":
                copied.append((name, item.value.value))
        if kind in (
            "IndentedBlock",
            "SimpleStatementLine",
            "If",
            "Else",
            "For",
            "While",
            "With",
            "Try",
            "SimpleStatementSuite",
            "ExceptHandler",
            "Finally",
        ):
            pending += item.children
    found.update(name for name, parts in computed.items() if name in parts)
    # ``end = start + size; ...; start = end``
    found.update(name for name, source in copied if name in computed.get(source, ()))
    return found


# Exceptions and contexts.


@_handles("Try", "TryStar")
def _try(m: Machine, node: Any) -> None:
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


def _handled(m: Machine, node: Any, before: Guard) -> tuple[list[Guard], Guard]:
    failed = m.guards.atom(fresh("exception"))
    m.path = m.guards.minus(before, failed)
    m.execute(node.body)
    if node.orelse is not None and m.path != FALSE:
        m.execute(node.orelse)
    ends = [m.path]
    entry = m.guards.any((m.guards.all(before, failed), m.raised))
    m.raised = FALSE
    for at, handler in enumerate(node.handlers):
        last = at == len(node.handlers) - 1
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


@_handles("With")
def _with(m: Machine, node: Any) -> None:
    for at, item in enumerate(node.items):
        manager = _manager(m, item.item)
        if manager is not None:
            inner = node.with_changes(items=node.items[at + 1 :]) if node.items[at + 1 :] else node.body
            _within(m, item, manager, inner)
            return
    outer_meta = m.meta
    suppressed = False
    for item in node.items:
        value = m.known(m.evaluate(item.item))
        if value == Const("meta"):
            m.meta = True
        suppressed = suppressed or _suppresses(item.item)
        if item.asname is not None:
            assign(m, item.asname.name, value if not isinstance(value, Const) else Symbol(fresh()))
    before = m.path
    if suppressed:
        m.path = m.guards.minus(before, m.guards.atom(fresh("exception")))
    m.execute(node.body)
    if suppressed:
        m.path = before
    m.meta = outer_meta


def _manager(m: Machine, node: Any) -> Function | None:
    """The generator of the tree that a call makes a context manager of."""
    if type(node).__name__ != "Call" or type(node.func).__name__ not in ("Name", "Attribute"):
        return None
    value = m.known(m.evaluate(node.func))
    function = value.function if isinstance(value, Bound) else value
    return function if isinstance(function, Function) and function.is_a("contextmanager") else None


def _within(m: Machine, item: Any, manager: Function, body: Any) -> None:
    """Execute *body* where *manager* yields: what stands behind the yield comes after it."""
    caller = m.block, m.frame, m.discarded

    def inside(value: Value) -> None:
        within = m.block, m.frame, m.discarded
        m.block, m.frame, m.discarded = caller
        if item.asname is not None:
            assign(m, item.asname.name, value)
        m.execute(body)
        m.block, m.frame, m.discarded = within

    m.entered_contexts[manager] = inside
    m.evaluate(item.item)
    if m.entered_contexts.pop(manager, None) is not None:
        inside(Symbol(fresh()))


def _suppresses(node: Any) -> bool:
    func = getattr(node, "func", None)
    name = getattr(func, "attr", func)
    return getattr(name, "value", "") == "suppress"


# Definitions and imports.


@_handles("FunctionDef")
def _function(m: Machine, node: Any) -> None:
    assert m.frame is not None and m.block is not None
    scope = m.frame.scope
    decorators = tuple(_dotted(decorator.decorator) for decorator in node.decorators)
    name = node.name.value
    if is_alternative(decorators):
        m.keep_setter(scope, name, decorators, Function(name, scope, m.block, node, scope.body_of))
    else:
        m.store(scope.names, name, Function(name, scope, m.block, node, scope.body_of, decorators))


@_handles("ClassDef")
def _class(m: Machine, node: Any) -> None:
    assert m.frame is not None and m.block is not None
    made = Class(node.name.value, m.frame.scope, m.block, node)
    m.classes.append(made)
    m.store(m.frame.scope.names, made.name, made)


def _dotted(node: Any) -> str:
    if type(node).__name__ == "Call":
        node = node.func
    if type(node).__name__ == "Attribute":
        return f"{_dotted(node.value)}.{node.attr.value}"
    return str(node.value) if type(node).__name__ == "Name" else ""


@_handles("Import")
def _import(m: Machine, node: Any) -> None:
    assert m.frame is not None
    scope = m.frame.scope
    for alias in node.names:
        dotted = _dotted(alias.name)
        name = alias.asname.name.value if alias.asname is not None else dotted.partition(".")[0]
        imports.bind(m, scope, name, Imported(scope, dotted if alias.asname is not None else name, 0, ""))


@_handles("ImportFrom")
def _import_from(m: Machine, node: Any) -> None:
    assert m.frame is not None
    scope = m.frame.scope
    dotted = _dotted(node.module) if node.module is not None else ""
    level = len(node.relative)
    if not isinstance(node.names, tuple | list):
        imports.bind_star(m, scope, dotted, level)
        return
    for alias in node.names:
        name = alias.asname.name.value if alias.asname is not None else alias.name.value
        imports.bind(m, scope, name, Imported(scope, dotted, level, alias.name.value))
