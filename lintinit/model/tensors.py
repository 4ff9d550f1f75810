"""Memory effects of tensors: allocation, views, stores, and values computed from other tensors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lintinit.model import arithmetic
from lintinit.model.dtypes import BOOL, FLOAT, PYTHON_TYPES
from lintinit.model.guards import FALSE, TRUE, Guard
from lintinit.model.heap import Seq, Site, Storage, Store, Tensor, options
from lintinit.model.regions import WHOLE, Region, Shape, covers
from lintinit.model.values import (
    NONE,
    Choice,
    Const,
    DType,
    External,
    Key,
    Method,
    Symbol,
    Value,
    fresh,
    key_of,
)
from lintinit.semantics.torch_api import VIEWS_REARRANGED, is_tensor_method

if TYPE_CHECKING:
    from lintinit.model.machine import Machine

_COMPARISONS = {"Equal", "NotEqual", "LessThan", "LessThanEqual", "GreaterThan", "GreaterThanEqual"}
_COMPLEMENTS = {"NotEqual": "Equal", "GreaterThanEqual": "LessThan", "LessThanEqual": "GreaterThan"}
_BIT_OPERATIONS = {"<<", ">>", "&", "|", "^", "~"}
_CUTS_BITS = frozenset({"&", ">>", "bitwise_and", "bitwise_right_shift"})
_UNKNOWN_DTYPE = Symbol(Key("name", "dtype"))


# Memory.


def allocate(m: Machine, allocator: str, shape: Shape, dtype: Value, node: Any, *, meta: bool = False) -> Tensor:
    """New memory that nobody wrote."""
    assert m.block is not None
    absent = TRUE if meta or m.meta else m.guards.any(_is_zero(m, size) for size in shape or ())
    storage = Storage(Site(m.block, node), allocator, shape, absent=absent, frame=m.frame)
    m.storages.append(storage)
    return Tensor(storage, dtype, shape=shape)


def _is_zero(m: Machine, size: Value) -> Guard:
    zero = (m.guards.all(g, m.guards.negate(m.truth(option))) for g, option in options(size))
    return m.guards.any(zero)


def valued(m: Machine, dtype: Value, shape: Shape = None, content: str = "", key: Key | None = None) -> Tensor:
    """New memory with defined values."""
    storage = Storage(None, shape=shape, filled=TRUE, frame=m.frame)
    if key is not None:
        storage.key = key
    return Tensor(storage, dtype, shape=shape, content=content)


def copied(m: Machine, tensor: Tensor, dtype: Value | None = None) -> Tensor:
    """A copy of the values as they are now: later stores to either do not reach the other."""
    old = tensor.storage
    new = replace(
        old,
        allocator="",
        stores=list(old.stores),
        filled=m.initialised(tensor),
        sources=old.roots(),
        key=fresh("tensor"),
        frame=m.frame,
    )
    if tensor.region:
        new.stores, new.shape = [], tensor.shape
    m.storages.append(new)
    return Tensor(new, dtype or tensor.dtype, WHOLE, tensor.shape, tensor.layout, None, tensor.content)


def overwrite(m: Machine, tensor: Tensor, value: Value | None = None) -> None:
    """Store *value* (None for one that is certainly defined) to all that *tensor* shows."""
    write_region(m, tensor, tensor.region, value)


def write_region(m: Machine, tensor: Tensor, region: Region, value: Value | None = None) -> None:
    """Store to *region* of the memory behind *tensor*, in the tensor's coordinates."""
    storage, guard = tensor.storage, m.path
    found = m.undefined(value) if value is not None else frozenset()
    if value is not None:
        for source in found:
            if source is not storage:
                storage.sources |= source.roots()
                storage.unpacked = isinstance(value, Tensor) and value.storage.unpacked
        guard = m.guards.all(guard, defined(m, value))
        if found - {storage}:
            # What was there is lost, and what takes its place is no value.
            storage.filled = m.guards.minus(storage.filled, m.guards.minus(m.path, guard))
    if region == WHOLE:
        storage.filled = m.guards.any((storage.filled, guard))
        if storage not in found:
            storage.overwritten = m.guards.any((storage.overwritten, m.path))
        m.record("write", [storage], "full")
        return
    storage.stores.append(Store(guard, region, tensor.layout))
    shape = storage.shape if tensor.layout is None else None if tensor.region else tensor.shape
    alike = [(store.guard, store.region) for store in storage.stores if store.layout == tensor.layout]
    storage.filled = m.guards.any((storage.filled, covers(alike, shape, m.guards)))
    m.record("write", [storage], "part")


def defined(m: Machine, value: Value) -> Guard:
    """When *value* does not depend on unwritten memory."""
    if isinstance(value, Choice):
        return m.guards.any(m.guards.all(g, defined(m, option)) for g, option in value.options)
    if isinstance(value, Tensor):
        return m.initialised(value)
    if isinstance(value, Seq):
        return m.guards.all(*(m.guards.any((m.guards.negate(g), defined(m, item))) for g, item in value.items))
    return FALSE if isinstance(value, Symbol) and value.sources else TRUE


def clear(m: Machine, tensor: Tensor) -> None:
    """The memory is replaced by memory that nobody wrote."""
    tensor.storage.filled = m.guards.minus(tensor.storage.filled, m.path)
    tensor.storage.overwritten = m.guards.minus(tensor.storage.overwritten, m.path)
    tensor.storage.stores.clear()


def replace_data(m: Machine, tensor: Tensor, value: Value) -> None:
    """``tensor.data = value``."""
    clear(m, tensor)
    overwrite(m, tensor, value)


# Uses.


def use(m: Machine, value: Value, how: str, node: Any) -> None:
    """Note what the content of *value* is used as, where it was never written."""
    before = m.path
    for guard, option in options(value):
        m.path = m.guards.all(guard, before)
        storages = m.undefined(option) if m.path != FALSE else None
        if storages:
            unpacked = isinstance(option, Tensor) and option.storage.unpacked
            m.record("read", storages, "lookup" if unpacked and how == "index" else how, node)
    m.path = before


def combine(m: Machine, op: str, operands: Sequence[Value], node: Any, extra: Iterable[Key] = ()) -> Tensor:
    """The tensor that *op* computes from *operands* without changing them."""
    how = (
        "bits" if op in _BIT_OPERATIONS else "compare" if op in _COMPARISONS else "value" if op == "item" else "number"
    )
    sources: frozenset[Storage] = frozenset()
    filled = TRUE
    for operand in operands:
        found = m.undefined(operand)
        if found:
            sources |= found
            if how != "value":
                m.record("read", found, how, node)
        filled = m.guards.all(filled, defined(m, operand))
    if not sources:
        filled = TRUE
    key = Key("op", op, *(key_of(operand) for operand in operands), *extra)
    shape = _common_shape(operands) if op != "item" else operands[0].shape if isinstance(operands[0], Tensor) else None
    storage = Storage(None, shape=shape, filled=filled, sources=sources, key=key, frame=m.frame)
    if sources and m.block is not None:
        storage.site = Site(m.block, node)
        storage.unpacked = op in _CUTS_BITS or any(isinstance(o, Tensor) and o.storage.unpacked for o in operands)
    return Tensor(storage, _result_dtype(op, operands), shape=shape)


def _common_shape(operands: Sequence[Value]) -> Shape:
    shapes = {operand.shape for operand in operands if isinstance(operand, Tensor)}
    scalars = all(isinstance(operand, Tensor | Const) for operand in operands)
    return shapes.pop() if len(shapes) == 1 and scalars else None


def _result_dtype(op: str, operands: Sequence[Value]) -> Value:
    if op in _COMPARISONS:
        return BOOL
    flat = [item for o in operands for item in ([v for _, v in o.items] if isinstance(o, Seq) else [o])]
    dtypes = [operand.dtype for operand in flat if isinstance(operand, Tensor)]
    if op == "/" or any(isinstance(operand, Const) and isinstance(operand.value, float) for operand in operands):
        return FLOAT
    kinds = [dtype.kind if isinstance(dtype, DType) else "" for dtype in dtypes]
    for kind in ("complex", "floating"):
        if kind in kinds:
            return dtypes[kinds.index(kind)]
    return dtypes[0] if dtypes and all(kinds) else _UNKNOWN_DTYPE


def mask_of(tensor: Tensor) -> tuple[Key, bool]:
    """A boolean tensor as a condition and whether it selects where that holds."""
    key = tensor.storage.key
    if key.kind == "op" and key.parts[0] in ("~", "logical_not"):
        inner = key.parts[1]
        return (inner.parts[0] if inner.kind == "view" else inner), False
    if key.kind == "op" and key.parts[0] in _COMPLEMENTS:
        return Key("op", _COMPLEMENTS[key.parts[0]], *key.parts[1:]), False
    return key, True


# Attributes and views.


def tensor_attribute(m: Machine, tensor: Tensor, name: str, node: Any) -> Value:
    """``tensor.name``."""
    if tensor.handle is not None and name in tensor.handle.attrs:
        return m.known(tensor.handle.attrs[name])
    match name:
        case "data" | "values" | "indices" | "real":
            return replace(tensor, handle=None) if name == "data" else tensor
        case "T" | "mT" | "H" | "mH":
            return rearranged(tensor, name, [])
        case "dtype":
            return tensor.dtype
        case "shape":
            return (
                Seq([(TRUE, size) for size in tensor.shape], sizes=True)
                if tensor.shape is not None
                else _about(tensor, name)
            )
        case "ndim":
            return rank_of(m, tensor)
        case "requires_grad":
            return tensor.handle.trainable if tensor.handle is not None else Symbol(fresh())
        case "is_meta":
            return Symbol(Key("meta", tensor.storage.key))
        case "grad":
            return NONE
        case "device":
            return _about(tensor, name)
        case "is_cuda" | "layout" | "itemsize" | "nbytes" | "is_sparse" | "is_quantized" | "names":
            return _about(tensor, name)
    if tensor.handle is not None and name not in VIEWS_REARRANGED and not is_tensor_method(name):
        return _about(tensor, name)
    return Method(tensor, name)


def _about(tensor: Tensor, name: str) -> Symbol:
    return Symbol(Key("attr", tensor.storage.key, name))


def rank_of(m: Machine, tensor: Tensor) -> Value:
    """The number of dimensions, where it is certain."""
    shape = tensor.shape
    if shape is None or (len(shape) == 1 and isinstance(shape[0], Symbol) and m.usage.get(shape[0].key) != "int"):
        return _about(tensor, "ndim")
    return Const(len(shape))


def rearranged(tensor: Tensor, name: str, arguments: Sequence[Value]) -> Tensor:
    """The same memory under other coordinates."""
    shape = _new_shape(tensor.shape, name, arguments)
    layout = Key("layout", name, tensor.layout, *(key_of(argument) for argument in arguments))
    if tensor.region:
        # A rearranged part stays a part, and only a store to all of it is followed.
        return replace(tensor, shape=shape, row=False, content="")
    return replace(tensor, shape=shape, layout=layout, content="")


def _new_shape(shape: Shape, name: str, arguments: Sequence[Value]) -> Shape:
    if name in ("t", "T", "mT", "H", "mH", "t_") and shape is not None and len(shape) <= 2:
        return tuple(reversed(shape))
    if name in ("view", "reshape"):
        sizes = sizes_of(arguments)
        if sizes is None:
            return None
        # The size that torch works out is some number; the others are as they are given.
        return tuple(Symbol(fresh("size")) if size == Const(-1) else size for size in sizes)
    if name in ("flatten", "ravel") and shape is not None and not arguments:
        return (product(shape),)
    if name in ("unsqueeze", "unsqueeze_") and shape is not None and arguments == [Const(0)]:
        return (Const(1), *shape)
    return None


def product(shape: Sequence[Value]) -> Value:
    """The number of elements of *shape*."""
    total: Value = Const(1)
    for size in shape:
        total = arithmetic.binary("*", total, size)
    return total


def sizes_of(arguments: Sequence[Value]) -> Shape:
    """The sizes that arguments like ``(n, m)`` or ``((n, m),)`` name; None where unknown."""
    if len(arguments) == 1:
        only = arguments[0]
        if isinstance(only, Seq):
            return tuple(size for _, size in only.items) if only.exact else None
        if not isinstance(only, Const | Symbol | Choice):
            return None
        if isinstance(only, Choice) and any(isinstance(option, Seq) for _, option in only.options):
            return None
    return tuple(arguments)


def as_dtype(m: Machine, value: Value | None, default: Value) -> Value:
    """The dtype that an argument names; *default* for None."""
    if value is None or value == NONE:
        return default
    if isinstance(value, Choice):
        return m.choose((g, as_dtype(m, option, default)) for g, option in value.options)
    if isinstance(value, External):
        return PYTHON_TYPES.get(value.name.removeprefix("builtins."), Symbol(Key("external", value.name)))
    return value if isinstance(value, DType) else Symbol(key_of(value))


def holds_integers(m: Machine, dtype: Value) -> Guard:
    """When *dtype* is certainly not floating."""
    return m.guards.any(g for g, option in options(dtype) if isinstance(option, DType) and option.holds_integers)
