"""Symbolic integers against integers."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from lintinit.model.arithmetic import binary, difference, negative, split, text
from lintinit.model.values import Const, Key, Symbol, Value, key_of

UNKNOWNS = "nkm"
OPERATORS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
}
Sizes = dict[str, int]
SIZES: st.SearchStrategy[Sizes] = st.fixed_dictionaries({name: st.integers(-9, 9) for name in UNKNOWNS})
#: A number, the name of an unknown, or ``(operator, left, right)``.
Expression = Any
EXPRESSIONS: st.SearchStrategy[Expression] = st.recursive(
    st.one_of(st.integers(-4, 4), st.booleans(), st.sampled_from(UNKNOWNS)),
    lambda inner: st.tuples(st.sampled_from(list(OPERATORS)), inner, inner),
    max_leaves=7,
)


def unknown(name: str) -> Value:
    return Symbol(Key("name", name))


def symbolic(expression: Expression) -> Value:
    match expression:
        case int():
            return Const(expression)
        case str():
            return unknown(expression)
        case operator, left, right:
            return binary(operator, symbolic(left), symbolic(right))
    raise AssertionError(expression)


def number(expression: Expression, sizes: Sizes) -> int:
    match expression:
        case int():
            return expression
        case str():
            return sizes[expression]
        case operator, left, right:
            return int(OPERATORS[operator](number(left, sizes), number(right, sizes)))
    raise AssertionError(expression)


def value_of(key: Key, sizes: Sizes) -> int:
    """What a symbolic value stands for when the unknowns are known."""
    match key.kind:
        case "const":
            return int(key.parts[1])
        case "name":
            return sizes[key.parts[0]]
        case "sum":
            return sum(count * value_of(term, sizes) for term, count in key.parts[0]) + int(key.parts[1])
        case "op":
            operator, left, right = key.parts
            return int(OPERATORS[operator](value_of(left, sizes), value_of(right, sizes)))
    raise AssertionError(key.kind)


def numbers(sizes: Sizes, *expressions: Expression) -> list[int]:
    """The values of *expressions*; sizes for which one of them divides by zero are no example."""
    try:
        return [number(expression, sizes) for expression in expressions]
    except ZeroDivisionError:
        assume(False)
        raise


def meaning(value: Value, sizes: Sizes) -> int:
    """As :func:`value_of`; a product with zero may have lost the division by zero in its other factor."""
    try:
        return value_of(key_of(value), sizes)
    except ZeroDivisionError:
        assume(False)
        raise


@given(EXPRESSIONS, SIZES)
def test_symbolic_value_stands_for_the_number(expression: Expression, sizes: Sizes) -> None:
    [expected] = numbers(sizes, expression)
    assert meaning(symbolic(expression), sizes) == expected


@given(EXPRESSIONS, SIZES)
def test_negative(expression: Expression, sizes: Sizes) -> None:
    [expected] = numbers(sizes, expression)
    assert meaning(negative(symbolic(expression)), sizes) == -expected


@given(EXPRESSIONS, EXPRESSIONS, SIZES)
def test_difference_holds_for_all_sizes(left: Expression, right: Expression, sizes: Sizes) -> None:
    known = difference(symbolic(left), symbolic(right))
    if known is not None:
        first, second = numbers(sizes, left, right)
        assert first - second == known


LINEAR: st.SearchStrategy[Expression] = st.recursive(
    st.one_of(st.integers(-4, 4), st.sampled_from(UNKNOWNS)),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from("+-"), inner, inner), st.tuples(st.just("*"), st.integers(-3, 3), inner)
    ),
    max_leaves=7,
)


@given(LINEAR, LINEAR, st.lists(SIZES, min_size=8, max_size=8))
def test_difference_of_linear_expressions_is_found(left: Expression, right: Expression, examples: list[Sizes]) -> None:
    basis = [dict.fromkeys(UNKNOWNS, 0), *({**dict.fromkeys(UNKNOWNS, 0), name: 1} for name in UNKNOWNS)]
    gaps = {number(left, sizes) - number(right, sizes) for sizes in [*basis, *examples]}
    # A linear form is constant exactly when it is so on a basis.
    assert difference(symbolic(left), symbolic(right)) == (gaps.pop() if len(gaps) == 1 else None)


@given(LINEAR, SIZES)
def test_split_takes_a_counter_out(expression: Expression, sizes: Sizes) -> None:
    found = split(symbolic(expression), lambda key: key == key_of(unknown("k")))
    step = number(expression, {**sizes, "k": 1}) - number(expression, {**sizes, "k": 0})
    if found is None:
        assert step == 0, "only an expression without the counter cannot be split"
        return
    key, factor, rest = found
    assert key == key_of(unknown("k"))
    assert factor == step
    assert value_of(key_of(rest), sizes) == number(expression, {**sizes, "k": 0})


@given(
    st.lists(
        st.one_of(
            st.integers(-9, 9), st.text("ab", min_size=1, max_size=2), st.sampled_from([unknown(n) for n in "nk"])
        )
    )
)
def test_text_keeps_known_parts_together(parts: list[Any]) -> None:
    values: list[Value] = [part if isinstance(part, Symbol) else Const(part) for part in parts]
    result = text(values)
    if not any(isinstance(part, Symbol) for part in parts):
        assert result == Const("".join(map(str, parts)))
        return
    assert isinstance(result, Symbol)
    pieces = [f"<{key.parts[0]}>" if key.kind == "name" else key.parts[1] for key in result.key.parts]
    assert "".join(pieces) == "".join(f"<{p.key.parts[0]}>" if isinstance(p, Symbol) else str(p) for p in parts)
    kinds = [key.kind for key in result.key.parts]
    assert ("const", "const") not in pairwise(kinds)
    halves = (values[: len(values) // 2], values[len(values) // 2 :])
    assert text([text(half) for half in halves if half]) == result
