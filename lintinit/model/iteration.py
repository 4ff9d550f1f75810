"""Rounds: what iterating over a value gives, and which integers count along.

A short, known iterable is unrolled. Any other gives one round whose element is a symbol; integers that
count along with it are *counters*, and a store at a counter reaches the whole range that it sweeps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lintinit.model import arithmetic
from lintinit.model.guards import TRUE
from lintinit.model.heap import Map, Obj, Registry, Seq, Tensor
from lintinit.model.regions import ALL, SOME, Region, Span
from lintinit.model.state import registry_items
from lintinit.model.values import Choice, Const, Key, Symbol, Value, fresh, key_of

if TYPE_CHECKING:
    from lintinit.model.machine import Machine

_MAX_UNROLLED = 16


def counter(m: Machine, start: Value, stop: Value | None, step: int = 1) -> Symbol:
    """A new loop counter that takes every value from *start* to *stop* in steps of *step*."""
    symbol = Symbol(fresh("counter"))
    m.counters[symbol.key] = (start, stop, step)
    m.usage[symbol.key] = "int"
    return symbol


def swept(m: Machine, index: Value) -> Span | None:
    """The range that *index* sweeps if it is a counter with a factor and an offset."""
    parts = arithmetic.split(index, m.counters.__contains__)
    if parts is None:
        return None
    key, factor, rest = parts
    start, stop, step = m.counters[key]
    if factor < 1:
        return Span(loop=True)
    scale = Const(factor)
    first = arithmetic.binary("+", arithmetic.binary("*", scale, start), rest)
    last = None if stop is None or factor > 1 else arithmetic.binary("+", stop, rest)
    return Span(first, last, factor * step, loop=True)


def sweeps(m: Machine, key: Key) -> bool:
    """Whether *key* was computed from a loop counter."""
    if key in m.counters:
        return True
    parts = [term for term, _ in key.parts[0]] if key.kind == "sum" else key.parts
    return any(isinstance(part, Key) and sweeps(m, part) for part in parts)


def rounds(m: Machine, value: Value) -> Seq:
    """What iterating over *value* gives."""
    value = m.known(value)
    if isinstance(value, Seq):
        return value
    if isinstance(value, Map):
        return Seq([(guard, key) for guard, key, _ in value.entries], value.exact)
    if isinstance(value, Tensor):
        return _rows(m, value)
    if isinstance(value, Obj) and value.items is not None:
        entries = value.items.entries
        return Seq([(guard, key if value.keyed else item) for guard, key, item in entries], value.items.exact)
    if isinstance(value, Registry):
        return Seq([(guard, key) for guard, key, _ in registry_items(m, value).entries])
    if isinstance(value, Const) and isinstance(value.value, str | bytes):
        return Seq([(TRUE, Const(char)) for char in value.value[:64]])
    if isinstance(value, Choice):
        found = [(guard, rounds(m, option)) for guard, option in value.options]
        items = [(m.guards.all(guard, inner), item) for guard, seq in found for inner, item in seq.items]
        return Seq(items, all(seq.exact for _, seq in found), found[0][1].rest)
    m.sized(value, "items")
    key = Key("element", key_of(value))
    sources = value.sources if isinstance(value, Symbol) else frozenset()
    return Seq([], False, Symbol(key, sources))


def _rows(m: Machine, tensor: Tensor) -> Seq:
    length = tensor.shape[0] if tensor.shape else None
    at = counter(m, Const(0), length)
    region: Region
    if tensor.region:
        region = (SOME,) if any(part != ALL for part in tensor.region) else WHOLE_ROW
        row = False
    else:
        row = True
        span = swept(m, at)
        region = (span if span is not None else SOME,)
    shape = tensor.shape[1:] if tensor.shape else None
    return Seq([], False, Tensor(tensor.storage, tensor.dtype, region, shape, tensor.layout, tensor.handle, "", row))


WHOLE_ROW = (ALL,)


def counted(m: Machine, start: Value, stop: Value, step: Value) -> Seq:
    """``range(start, stop, step)``."""
    numbers = [part.value for part in (start, stop, step) if isinstance(part, Const)]
    if len(numbers) == 3 and all(type(number) is int for number in numbers) and numbers[2]:
        values = range(*numbers)
        if len(values) <= _MAX_UNROLLED:
            return Seq([(TRUE, Const(number, swept=True)) for number in values])
    for part in (start, stop):
        m.sized(part, "int")
    stride = step.value if isinstance(step, Const) and type(step.value) is int else 1
    if stride < 0:
        return Seq(
            [], False, counter(m, arithmetic.binary("+", stop, Const(1)), arithmetic.binary("+", start, Const(1)))
        )
    return Seq([], False, counter(m, start, stop, max(stride, 1)))


def numbered(m: Machine, items: Seq, start: Value, length: Value | None) -> Seq:
    """``enumerate(items, start)``."""
    if items.exact and all(guard == TRUE for guard, _ in items.items):
        pairs = [
            (guard, Seq([(TRUE, _swept_number(start, at)), (TRUE, item)]))
            for at, (guard, item) in enumerate(items.items)
        ]
        return Seq(list(pairs))
    stop = None if length is None else arithmetic.binary("+", start, length)
    at = counter(m, start, stop)
    return Seq([], False, Seq([(TRUE, at), (TRUE, items.rest if not items.items else any_of(m, items))]))


def _swept_number(start: Value, at: int) -> Value:
    number = arithmetic.binary("+", start, Const(at))
    return Const(number.value, swept=True) if isinstance(number, Const) else number


def any_of(m: Machine, items: Seq) -> Value:
    """An element of *items*, each possible under a guard of its own."""
    return m.either([*items.items, *([] if items.exact else [(TRUE, items.rest)])])


def one_of(m: Machine, values: list[Value]) -> Value:
    """One of *values*, and nobody knows which."""
    return any_of(m, Seq([(TRUE, value) for value in values]))


def paired(m: Machine, columns: list[Seq]) -> Seq:
    """``zip(*columns)``."""
    exact = [column for column in columns if column.exact]
    if len(exact) == len(columns):
        rows = zip(*(column.items for column in columns), strict=False)
        return Seq([(m.guards.all(*(g for g, _ in row)), Seq([(TRUE, v) for _, v in row])) for row in rows])
    if exact and min(len(column.items) for column in exact) <= _MAX_UNROLLED:
        length = min(len(column.items) for column in exact)
        found = [[v for _, v in c.items[:length]] if c.exact else [c.rest] * length for c in columns]
        return Seq([(TRUE, Seq([(TRUE, v) for v in row])) for row in zip(*found, strict=True)])
    return Seq([], False, Seq([(TRUE, column.rest if not column.exact else any_of(m, column)) for column in columns]))
