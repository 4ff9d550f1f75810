"""Integers that are partly known: sizes, bounds and indices as linear forms over unknowns.

``n // 2`` stays opaque but equals itself, ``n + 1`` minus ``n`` is 1: enough to see that two slices meet
or that a loop stops one row short.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from lintinit.model.values import Const, Key, Symbol, Value, key_of

_FOLD: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}
_MAX_BITS = 256
_MAX_TEXT = 10_000


def binary(op: str, left: Value, right: Value) -> Value:
    """``left op right`` for numbers and strings, folded as far as it is known."""
    if isinstance(left, Const) and isinstance(right, Const):
        return _fold(op, left, right)
    sources = _sources(left) | _sources(right)
    if op in "+-" and not _is_text(left) and not _is_text(right):
        return _build(_combine(_terms(left), _terms(right), 1 if op == "+" else -1), sources)
    if op == "*":
        for number, other in ((left, right), (right, left)):
            if isinstance(number, Const) and type(number.value) is int:
                return _build(_combine({}, _terms(other), number.value), sources)
    if op == "+":
        return text([left, right], sources)
    return Symbol(Key("op", op, key_of(left), key_of(right)), sources)


def text(parts: list[Value], sources: frozenset[Any] = frozenset()) -> Value:
    """The string made of *parts* (an f-string, a concatenation), with unknown parts named."""
    keys: list[Key] = []
    for part in parts:
        key = key_of(part)
        for piece in key.parts if key.kind == "text" else (key,):
            if piece.kind == "const":
                piece = Key("const", "str", str(piece.parts[1]))
                if not piece.parts[1]:
                    continue
                if keys and keys[-1].kind == "const":
                    keys[-1] = Key("const", "str", keys[-1].parts[1] + piece.parts[1])
                    continue
            keys.append(piece)
    if all(key.kind == "const" for key in keys):
        return Const("".join(key.parts[1] for key in keys))
    return Symbol(Key("text", *keys), sources)


def negative(value: Value) -> Value:
    """``-value``."""
    return binary("-", Const(0), value)


def difference(left: Value, right: Value) -> int | None:
    """``left - right`` where that is one number whatever the unknowns are."""
    result = binary("-", left, right)
    if isinstance(result, Const) and type(result.value) is int:
        return result.value
    return None


def split(value: Value, is_counter: Callable[[Key], bool]) -> tuple[Key, int, Value] | None:
    """*value* as ``factor * counter + rest``, for an index that sweeps along a loop."""
    terms = _terms(value)
    counters = [key for key in terms if key is not None and is_counter(key)]
    if len(counters) != 1:
        return None
    factor = terms.pop(counters[0])
    return counters[0], factor, _build(terms, frozenset())


def _fold(op: str, left: Const, right: Const) -> Value:
    try:
        if (op == "**" and abs(right.value) > _MAX_BITS) or (op == "<<" and right.value > _MAX_BITS):
            return Symbol(Key("op", op, key_of(left), key_of(right)))
        if op == "*" and isinstance(left.value, str | bytes) and right.value > _MAX_TEXT:
            return Symbol(Key("op", op, key_of(left), key_of(right)))
        return Const(_FOLD[op](left.value, right.value), swept=left.swept or right.swept)
    except Exception:
        # The checked code would raise here too.
        return Symbol(Key("op", op, key_of(left), key_of(right)))


def _is_text(value: Value) -> bool:
    if isinstance(value, Const):
        return isinstance(value.value, str | bytes)
    return isinstance(value, Symbol) and value.key.kind == "text"


def _sources(value: Value) -> frozenset[Any]:
    return value.sources if isinstance(value, Symbol) else frozenset()


def _terms(value: Value) -> dict[Key | None, int]:
    """Coefficient by unknown; the key None holds the constant."""
    if isinstance(value, Const) and type(value.value) in (int, bool):
        return {None: int(value.value)}
    key = key_of(value)
    if key.kind == "sum":
        return {**dict(key.parts[0]), None: key.parts[1]}
    return {key: 1}


def _combine(left: dict[Key | None, int], right: dict[Key | None, int], factor: int) -> dict[Key | None, int]:
    result = dict(left)
    for key, count in right.items():
        result[key] = result.get(key, 0) + factor * count
    return {key: count for key, count in result.items() if count}


def _build(terms: dict[Key | None, int], sources: frozenset[Any]) -> Value:
    constant = terms.get(None, 0)
    unknown = frozenset((key, count) for key, count in terms.items() if key is not None)
    if not unknown:
        return Const(constant)
    if len(unknown) == 1 and not constant:
        [(key, count)] = unknown
        if count == 1:
            return Symbol(key, sources)
    return Symbol(Key("sum", unknown, constant), sources)
