"""``value[...]`` on any value, and which part of a tensor an index means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lintinit.model import arithmetic, containers
from lintinit.model.heap import Map, Obj, Registry, Seq, Slice, Tensor
from lintinit.model.iteration import sweeps, swept
from lintinit.model.regions import ALL, SOME, Extent, Mask, Region, Shape, Span, point
from lintinit.model.tensors import combine, mask_of, use, write_region
from lintinit.model.values import (
    NONE,
    Choice,
    Class,
    Const,
    DType,
    External,
    Key,
    Package,
    Symbol,
    Value,
    key_of,
)

if TYPE_CHECKING:
    from lintinit.model.machine import Machine


EVERYTHING = Slice(None, None, None)
Part = Value


def index_of(m: Machine, node: Any) -> list[Part]:
    """The parts between the brackets of a subscript."""
    parts: list[Part] = []
    for element in node.slice:
        item = element.slice
        if type(item).__name__ == "Slice":
            bounds = [m.evaluate(part) if part is not None else None for part in (item.lower, item.upper, item.step)]
            parts.append(Slice(*bounds))
        else:
            value = m.known(m.evaluate(item.value))
            if len(node.slice) == 1 and type(item.value).__name__ != "List":
                parts += parts_of(m, value)
            else:
                parts.append(value)
    return parts


def parts_of(m: Machine, value: Value) -> list[Part]:
    """The parts that one value between the brackets stands for: a tuple means its elements."""
    value = m.known(value)
    return [m.known(part) for _, part in value.items] if isinstance(value, Seq) and value.exact else [value]


def get_item(m: Machine, value: Value, index: list[Part], node: Any) -> Value:
    """``value[index]``."""
    _note_indices(m, value, index, node)
    if isinstance(value, Tensor):
        return _view(m, value, index, node)
    first = index[0] if len(index) == 1 else None
    if isinstance(value, Seq):
        return containers.sequence_item(m, value, first)
    if isinstance(value, Map) and first is not None:
        return containers.lookup(m, value, first, None)
    if isinstance(value, Obj | Registry) and first is not None:
        return containers.object_item(m, value, first, node)
    if isinstance(value, Const) and isinstance(first, Const) and isinstance(value.value, str | bytes):
        try:
            return Const(value.value[first.value])
        except (IndexError, TypeError):
            pass
    if isinstance(value, External | Class | DType | Package):
        return value
    m.sized(value, "items")
    sources = value.sources if isinstance(value, Symbol) else frozenset()
    return Symbol(Key("item", key_of(value), *(_part_key(part) for part in index)), sources)


def set_item(m: Machine, value: Value, index: list[Part], new: Value, node: Any) -> Value:
    """``value[index] = new``; returns None's value so that it can run on every alternative."""
    _note_indices(m, value, index, node)
    first = index[0] if len(index) == 1 else None
    if isinstance(value, Tensor):
        region, _, _ = region_of(m, value, index)
        if _permutes(m, value, index, new):
            region = ()
        write_region(m, value, region, new)
    elif isinstance(value, Map) and first is not None:
        value.entries.append((m.path, first, new))
    elif isinstance(value, Obj | Registry) and first is not None:
        containers.set_object_item(m, value, first, new)
    elif isinstance(value, Seq) and isinstance(first, Const) and isinstance(first.value, int):
        _set_element(m, value, first.value, new)
    return NONE


def _set_element(m: Machine, seq: Seq, at: int, new: Value) -> None:
    if -len(seq.items) <= at < len(seq.items):
        guard, old = seq.items[at]
        seq.items[at] = (guard, m.choose([(m.path, new), (m.guards.negate(m.path), old)]))


def _part_key(part: Part) -> Key:
    return key_of(part)


def _note_indices(m: Machine, value: Value, index: list[Part], node: Any) -> None:
    for part in index:
        bounds = (part.start, part.stop) if isinstance(part, Slice) else (part,)
        for bound in bounds:
            if bound is not None:
                use(m, bound, "index", node)
                if isinstance(part, Slice):
                    m.sized(bound, "int")


def _view(m: Machine, tensor: Tensor, index: list[Part], node: Any) -> Value:
    if any(isinstance(part, Tensor | Seq) for part in index):
        region, shape, _ = region_of(m, tensor, index)
        part = Tensor(tensor.storage, tensor.dtype, region, shape, tensor.layout)
        return combine(m, "item", [part], node, extra=[_part_key(part) for part in index])
    region, shape, row = region_of(m, tensor, index)
    return Tensor(tensor.storage, tensor.dtype, region, shape, tensor.layout, tensor.handle, "", row)


def region_of(m: Machine, tensor: Tensor, index: list[Part]) -> tuple[Region, Shape, bool]:
    """The part of the storage that ``tensor[index]`` is, its shape, and whether only leading dimensions are fixed."""
    parts = [part for part in index if part != NONE]
    if all(_is_everything(part) for part in parts):
        return tensor.region, tensor.shape, tensor.row
    if tensor.region and not tensor.row:
        return (SOME,), None, False
    shape = tensor.shape
    if Const(...) in parts:
        at = parts.index(Const(...))
        missing = len(shape) - len(parts) + 1 if shape is not None else (0 if at == len(parts) - 1 else None)
        if missing is None or missing < 0:
            return (SOME,), None, False
        parts[at : at + 1] = [EVERYTHING] * missing
    extents: list[Extent] = []
    left: list[Value] = []
    for dim, part in enumerate(parts):
        length = shape[dim] if shape is not None and dim < len(shape) else None
        extent = _extent(m, part, length)
        extents.append(extent)
        if isinstance(part, Slice):
            left.append(_length(extent, length))
    whole = tuple(left) + tuple(shape[len(parts) :]) if shape is not None else None
    row = all(not isinstance(part, Slice) for part in parts)
    return (*tensor.region, *extents), whole, row


def _is_everything(part: Part) -> bool:
    if isinstance(part, Slice):
        return (
            part.start in (None, NONE, Const(0)) and part.stop in (None, NONE) and part.step in (None, NONE, Const(1))
        )
    return part == Const(...)


def _length(extent: Extent, length: Value | None) -> Value:
    if extent == ALL and length is not None:
        return length
    if isinstance(extent, Span) and extent.step == 1:
        stop = extent.stop if extent.stop is not None else length
        if stop is not None:
            return arithmetic.binary("-", stop, extent.start)
    return Symbol(Key("length", id(extent)))


def _extent(m: Machine, part: Part, length: Value | None) -> Extent:
    if isinstance(part, Slice):
        return _slice_extent(m, part, length)
    part = m.known(part)
    if isinstance(part, Tensor):
        return _tensor_extent(m, part, length)
    if isinstance(part, Const):
        return point(part, length, part.swept)
    if isinstance(part, Symbol):
        span = swept(m, part)
        if span is not None:
            return span
        return Span(loop=True) if sweeps(m, part.key) else point(part, length)
    return SOME


def _tensor_extent(m: Machine, index: Tensor, length: Value | None) -> Extent:
    if isinstance(index.dtype, DType) and index.dtype.kind == "bool":
        key, selected = mask_of(index)
        return Mask(key, selected)
    if index.content != "permutation" or not index.shape:
        return SOME
    return ALL if length is None or arithmetic.difference(length, index.shape[0]) == 0 else SOME


def _slice_extent(m: Machine, part: Slice, length: Value | None) -> Extent:
    if _is_everything(part):
        return ALL
    bounds: list[Value | None] = []
    for bound in (part.start, part.stop):
        bound = m.known(bound) if bound is not None and bound != NONE else None
        if isinstance(bound, Choice | Tensor | Seq):
            return SOME
        if isinstance(bound, Const) and type(bound.value) is int and bound.value < 0:
            if length is None:
                return SOME
            bound = arithmetic.binary("+", length, bound)
        bounds.append(bound)
    start, stop = bounds
    step = part.step.value if isinstance(part.step, Const) and isinstance(part.step.value, int) else 1
    if step < 1:
        return SOME
    if start is not None and sweeps(m, key_of(start)):
        span = swept(m, start)
        return Span(span.start if span is not None else Const(0), None, loop=True)
    if stop is not None and sweeps(m, key_of(stop)):
        return Span(start or Const(0), None, loop=True)
    return Span(start or Const(0), stop, step)


def _permutes(m: Machine, tensor: Tensor, index: list[Part], new: Value) -> bool:
    """``inverse[perm] = arange(n)``: an index as long as the table, stored to with each position once."""
    if len(index) != 1 or tensor.region or not isinstance(new, Tensor) or new.content != "permutation":
        return False
    at = index[0]
    if not isinstance(at, Tensor) or (isinstance(at.dtype, DType) and at.dtype.kind == "bool"):
        return False
    lengths = [shape[0] for shape in (tensor.shape, at.shape, new.shape) if shape]
    return all(arithmetic.difference(lengths[0], other) == 0 for other in lengths[1:]) and at.region == ()
