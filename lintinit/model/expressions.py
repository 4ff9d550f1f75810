"""Expressions: what each kind of libcst node evaluates to."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lintinit._lazy import cst
from lintinit.model import arithmetic
from lintinit.model.attributes import get_attribute
from lintinit.model.calls import evaluate_call
from lintinit.model.comparisons import compare
from lintinit.model.guards import FALSE, TRUE, Guard
from lintinit.model.handlers import handles
from lintinit.model.heap import Map, Seq, Tensor
from lintinit.model.iteration import rounds
from lintinit.model.scope import Scope
from lintinit.model.subscripts import get_item, index_of
from lintinit.model.targets import follow
from lintinit.model.tensors import combine
from lintinit.model.values import (
    NO,
    NONE,
    YES,
    Choice,
    Const,
    External,
    Function,
    Key,
    Symbol,
    Value,
    fresh,
    key_of,
)

if TYPE_CHECKING:
    from lintinit.model.machine import Machine

HANDLERS: dict[str, Callable[[Machine, Any], Value]] = {}

_BUILTINS = frozenset(vars(builtins))
_LITERALS = {"None": NONE, "True": YES, "False": NO, "Ellipsis": Const(...)}
#: libcst operator classes as the operators that arithmetic knows, plain and augmented.
OPERATORS = {
    "Add": "+", "Subtract": "-", "Multiply": "*", "Divide": "/", "FloorDivide": "//", "Modulo": "%", "Power": "**",
    "LeftShift": "<<", "RightShift": ">>", "BitAnd": "&", "BitOr": "|", "BitXor": "^", "MatrixMultiply": "@",
}  # fmt: skip


@handles(HANDLERS, "Name")
def _name(m: Machine, node: cst.Name) -> Value:
    name = node.value
    if name in _LITERALS:
        return _LITERALS[name]
    return resolve(m, name)


def resolve(m: Machine, name: str) -> Value:
    """What *name* means where the machine is: local, enclosing, module, builtin, or unknown."""
    assert m.frame is not None
    first = m.frame.scope
    scope: Scope | None = first
    while scope is not None:
        found = m.lookup(scope, name) if scope.body_of is None or scope is first else None
        if found is not None:
            return m.known(found)
        scope = scope.parent
    return External(f"builtins.{name}") if name in _BUILTINS else Symbol(Key("name", name))


@handles(HANDLERS, "Integer", "Float", "Imaginary", "SimpleString")
def _literal(m: Machine, node: cst.Integer | cst.Float | cst.Imaginary | cst.SimpleString) -> Value:
    try:
        return Const(ast.literal_eval(node.value))
    except (ValueError, SyntaxError, MemoryError):
        return Symbol(fresh())


@handles(HANDLERS, "Ellipsis")
def _ellipsis(m: Machine, node: cst.Ellipsis) -> Value:
    return Const(...)


@handles(HANDLERS, "ConcatenatedString")
def _concatenated(m: Machine, node: cst.ConcatenatedString) -> Value:
    return arithmetic.binary("+", m.evaluate(node.left), m.evaluate(node.right))


@handles(HANDLERS, "FormattedString")
def _formatted(m: Machine, node: cst.FormattedString) -> Value:
    parts: list[Value] = []
    for part in node.parts:
        if isinstance(part, cst.FormattedStringText):
            parts.append(Const(part.value.replace("{{", "{").replace("}}", "}")))
        elif isinstance(part, cst.FormattedStringExpression):
            parts.append(m.evaluate(part.expression))
    return _joined(m, parts)


def _joined(m: Machine, parts: list[Value]) -> Value:
    at = next((at for at, part in enumerate(parts) if isinstance(part, Choice)), None)
    if at is None:
        return arithmetic.text(parts)
    return m.each(parts[at], lambda option: _joined(m, [*parts[:at], option, *parts[at + 1 :]]))


@handles(HANDLERS, "Attribute")
def _attribute(m: Machine, node: cst.Attribute) -> Value:
    return m.each(m.evaluate(node.value), lambda value: get_attribute(m, value, node.attr.value, node))


@handles(HANDLERS, "Call")
def _call(m: Machine, node: cst.Call) -> Value:
    return evaluate_call(m, node)


@handles(HANDLERS, "Subscript")
def _subscript(m: Machine, node: cst.Subscript) -> Value:
    value = m.evaluate(node.value)
    index = index_of(m, node)
    return m.each(value, lambda option: get_item(m, option, index, node))


@handles(HANDLERS, "BinaryOperation")
def _binary(m: Machine, node: cst.BinaryOperation) -> Value:
    return binary(m, OPERATORS[type(node.operator).__name__], m.evaluate(node.left), m.evaluate(node.right), node)


def binary(m: Machine, op: str, left: Value, right: Value, node: Any) -> Value:
    """``left op right`` for every kind of operand."""
    left, right = m.known(left), m.known(right)
    if isinstance(left, Choice):
        return m.each(left, lambda option: binary(m, op, option, right, node))
    if isinstance(right, Choice):
        return m.each(right, lambda option: binary(m, op, left, option, node))
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        return combine(m, op, [left, right], node)
    if isinstance(left, Seq) and isinstance(right, Seq) and op == "+":
        return Seq([*left.items, *right.items], left.exact and right.exact, right.rest if left.exact else left.rest)
    if isinstance(left, Seq) and op == "*" and left.exact:
        if isinstance(right, Const) and isinstance(right.value, int) and 0 <= right.value * len(left.items) <= 64:
            return Seq(left.items * right.value)
        return Seq([], False, left.items[0][1] if left.items else Symbol(fresh()))
    if isinstance(left, Map) and isinstance(right, Map) and op == "|":
        return Map([*left.entries, *right.entries], left.exact and right.exact)
    if op == "%" and isinstance(left, Const) and isinstance(left.value, str):
        return _interpolated(left.value, right)
    for operand in (left, right):
        if op in ("-", "//", "*", "%"):
            m.sized(operand, "int")
    return arithmetic.binary(op, left, right)


def _interpolated(template: str, value: Value) -> Value:
    """``"table_%d" % i`` as the f-string that it stands for."""
    values = [item for _, item in value.items] if isinstance(value, Seq) and value.exact else [value]
    parts: list[Value] = []
    for at, literal in enumerate(re.split(r"%[sdi]", template)):
        if at:
            if at > len(values):
                return Symbol(fresh())
            parts.append(values[at - 1])
        parts.append(Const(literal))
    return arithmetic.text(parts)


@handles(HANDLERS, "BooleanOperation")
def _boolean(m: Machine, node: cst.BooleanOperation) -> Value:
    left = m.evaluate(node.left)
    test = m.truth(left)
    take_left = m.guards.negate(test) if type(node.operator).__name__ == "And" else test
    return m.choose([(take_left, left), *_on_path(m, m.guards.negate(take_left), node.right)])


def _on_path(m: Machine, guard: Guard, node: cst.BaseExpression) -> list[tuple[Guard, Value]]:
    """The value of *node*, evaluated only where *guard* holds."""
    before = m.path
    m.path = m.guards.all(before, guard)
    if m.path == FALSE:
        m.path = before
        return []
    value = m.evaluate(node)
    m.path = m.guards.any((m.path, m.guards.minus(before, guard)))
    return [(guard, value)]


@handles(HANDLERS, "Comparison")
def _comparison(m: Machine, node: cst.Comparison) -> Value:
    result: Value = YES
    left = m.evaluate(node.left)
    for target in node.comparisons:
        right = m.evaluate(target.comparator)
        step = compare(m, type(target.operator).__name__, left, right, node)
        if len(node.comparisons) == 1:
            return step
        result = m.boolean(m.guards.all(m.truth(result), m.truth(step)))
        left = right
    return result


@handles(HANDLERS, "UnaryOperation")
def _unary(m: Machine, node: cst.UnaryOperation) -> Value:
    value = m.evaluate(node.expression)
    name = type(node.operator).__name__
    if name == "Not":
        return m.boolean(m.guards.negate(m.truth(value)))
    return m.each(value, lambda option: _signed(m, name, option, node))


def _signed(m: Machine, name: str, value: Value, node: Any) -> Value:
    if isinstance(value, Tensor):
        return combine(m, "~" if name == "BitInvert" else name, [value], node)
    if name == "Minus":
        return arithmetic.negative(value)
    if name == "Plus":
        return value
    if isinstance(value, Const) and isinstance(value.value, int):
        return Const(~value.value)
    return Symbol(Key("op", "~", key_of(value)))


@handles(HANDLERS, "IfExp")
def _conditional(m: Machine, node: cst.IfExp) -> Value:
    test = m.truth(m.evaluate(node.test))
    return m.choose([*_on_path(m, test, node.body), *_on_path(m, m.guards.negate(test), node.orelse)])


@handles(HANDLERS, "Tuple", "List", "Set")
def _display(m: Machine, node: cst.Tuple | cst.List | cst.Set) -> Value:
    result = Seq([])
    for element in node.elements:
        value = m.evaluate(element.value)
        if isinstance(element, cst.StarredElement):
            found = rounds(m, value)
            result.items += found.items
            if not found.exact:
                result.exact, result.rest = False, found.rest
        else:
            result.items.append((TRUE, value))
    return result


@handles(HANDLERS, "Dict")
def _dict(m: Machine, node: cst.Dict) -> Value:
    result = Map()
    for element in node.elements:
        value = m.evaluate(element.value)
        if isinstance(element, cst.DictElement):
            result.entries.append((TRUE, m.evaluate(element.key), value))
        elif isinstance(value, Map):
            result.entries += value.entries
            result.exact = result.exact and value.exact
        else:
            result.exact = False
    return result


@handles(HANDLERS, "ListComp", "SetComp", "GeneratorExp")
def _comprehension(m: Machine, node: cst.ListComp | cst.SetComp | cst.GeneratorExp) -> Value:
    result = Seq([])

    def collect() -> None:
        result.items.append((m.path, m.evaluate(node.elt)))

    result.exact = _comprehend(m, node.for_in, collect)
    if not result.exact and result.items:
        result.rest = result.items[-1][1]
    return result


@handles(HANDLERS, "DictComp")
def _dict_comprehension(m: Machine, node: cst.DictComp) -> Value:
    result = Map()

    def collect() -> None:
        result.entries.append((m.path, m.evaluate(node.key), m.evaluate(node.value)))

    result.exact = _comprehend(m, node.for_in, collect)
    return result


def _comprehend(m: Machine, clause: cst.CompFor, collect: Callable[[], None]) -> bool:
    """Run *collect* for every round of a comprehension; whether all rounds are known."""
    assert m.frame is not None
    outer = m.frame.scope
    m.frame.scope = Scope(outer.source, outer)
    exact = True

    def run(clause: cst.CompFor) -> None:
        nonlocal exact

        def round_() -> None:
            before = m.path
            for condition in clause.ifs:
                m.path = m.guards.all(m.path, m.truth(m.evaluate(condition.test)))
            if m.path != FALSE:
                if clause.inner_for_in is not None:
                    run(clause.inner_for_in)
                else:
                    collect()
            m.path = before

        exact = follow(m, clause.target, rounds(m, m.evaluate(clause.iter)), round_) and exact

    try:
        run(clause)
    finally:
        m.frame.scope = outer
    return exact


@handles(HANDLERS, "Lambda")
def _lambda(m: Machine, node: cst.Lambda) -> Value:
    assert m.frame is not None
    assert m.block is not None
    return Function("lambda", m.frame.scope, m.block, node)


@handles(HANDLERS, "NamedExpr")
def _walrus(m: Machine, node: cst.NamedExpr) -> Value:
    assert m.frame is not None
    assert isinstance(node.target, cst.Name)
    value = m.evaluate(node.value)
    m.store(m.frame.scope.names, node.target.value, value)
    return value


@handles(HANDLERS, "Await")
def _await(m: Machine, node: cst.Await) -> Value:
    return m.evaluate(node.expression)


@handles(HANDLERS, "Yield")
def _yield(m: Machine, node: cst.Yield) -> Value:
    assert m.frame is not None
    if m.frame.yields is None:
        m.frame.yields = Seq([])
    inside = m.entered_contexts.pop(m.frame.function, None) if m.frame.function is not None else None
    if inside is not None:
        inside(m.evaluate(node.value) if node.value is not None else NONE)
        return NONE
    if node.value is None:
        return NONE
    if isinstance(node.value, cst.From):
        found = rounds(m, m.evaluate(node.value.item))
        m.frame.yields.items += [(m.guards.all(m.path, guard), value) for guard, value in found.items]
        if not found.exact:
            m.frame.yields.exact, m.frame.yields.rest = False, found.rest
    else:
        m.frame.yields.items.append((m.path, m.evaluate(node.value)))
    return Symbol(fresh())
