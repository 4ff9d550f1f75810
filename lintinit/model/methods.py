"""What the methods of a tensor do; torch's functions of the same name come here too."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lintinit.model.arithmetic import binary
from lintinit.model.dtypes import BOOL, CASTS, FLOAT, INT64
from lintinit.model.guards import TRUE
from lintinit.model.heap import Seq, Slice, Tensor
from lintinit.model.iteration import rounds
from lintinit.model.machine import Arguments
from lintinit.model.regions import SOME, WHOLE, Mask, Region, Span
from lintinit.model.subscripts import EVERYTHING, get_item, parts_of, region_of, set_item
from lintinit.model.tensors import (
    allocate,
    as_dtype,
    clear,
    combine,
    copied,
    mask_of,
    overwrite,
    product,
    rank_of,
    rearranged,
    sizes_of,
    use,
    valued,
    write_region,
)
from lintinit.model.values import (
    NONE,
    Choice,
    Const,
    DType,
    Key,
    Symbol,
    Value,
    fresh,
    key_of,
)
from lintinit.semantics.torch_api import (
    ALLOCATORS,
    BOOL_RESULTS,
    FLOAT_RESULTS,
    INDEX_ARGUMENTS,
    INDEXED_WRITES,
    INT64_RESULTS,
    METADATA,
    OVERWRITES,
    PARTIAL_WRITES,
    PERMUTATIONS,
    SIZE_ARGUMENTS,
    VALUE_FUNCTIONS,
    VIEWS_IN_ORDER,
    VIEWS_OF_PARTS,
    VIEWS_REARRANGED,
)

if TYPE_CHECKING:
    from lintinit.model.machine import Machine


def tensor_method(m: Machine, tensor: Tensor, name: str, arguments: Arguments, node: Any) -> Value:
    """``tensor.name(...)``."""
    if name in CASTS:
        return cast(m, tensor, CASTS[name])
    if name in ("to", "type", "type_as"):
        return _to(m, tensor, arguments)
    if name == "__setitem__" and len(arguments.positional) == 2:
        return set_item(m, tensor, parts_of(m, arguments.positional[0]), arguments.positional[1], node)
    if name in ("narrow", "select"):
        return _along(m, tensor, name, arguments, node)
    if name in ALLOCATORS:
        return allocated(m, name, tensor, arguments, node)
    if name in VIEWS_IN_ORDER:
        return replace(tensor, handle=tensor.handle if name == "requires_grad_" else None)
    if name in VIEWS_REARRANGED:
        return _rearranged(m, tensor, name, arguments, node)
    if name in VIEWS_OF_PARTS:
        return _part(m, tensor, name, arguments)
    if name in METADATA:
        return _metadata(m, tensor, name, arguments)
    if name == "tensor":
        return copied(m, tensor, as_dtype(m, arguments.get(None, "dtype"), tensor.dtype))
    if name in ("clone", "__deepcopy__", "cpu_clone"):
        return copied(m, tensor)
    if name in VALUE_FUNCTIONS:
        sizes = arguments.get(0, "size")
        dtype = as_dtype(m, arguments.get(None, "dtype"), tensor.dtype)
        return valued(m, dtype, sizes_of([sizes]) if sizes is not None and name != "new_tensor" else None)
    if name in ("tolist", "item", "__int__", "__index__", "__float__", "__bool__"):
        use(m, tensor, "host", node)
        return Symbol(Key("call", Key("attr", tensor.key, name)), m.undefined(tensor))
    if name.endswith("_") and not name.startswith("__"):
        return _in_place(m, tensor, name, arguments, node)
    if name == "fill":
        overwrite(m, tensor)
        return NONE
    return computed(m, name, [tensor, *arguments.positional], arguments, node)


def cast(m: Machine, tensor: Tensor, dtype: Value) -> Tensor:
    """The same values in another dtype; the same memory where the dtype is the same."""
    if dtype == tensor.dtype:
        return replace(tensor, handle=None)
    return copied(m, tensor, dtype)


def _to(m: Machine, tensor: Tensor, arguments: Arguments) -> Value:
    wanted = arguments.get(None, "dtype")
    for value in arguments.positional:
        value = m.known(value)
        if isinstance(value, Tensor):
            wanted = value.dtype
        elif isinstance(value, DType) or (isinstance(value, Choice) and isinstance(value.options[0][1], DType)):
            wanted = value
    if wanted is None or wanted == NONE:
        return replace(tensor, handle=None)
    return cast(m, tensor, as_dtype(m, wanted, tensor.dtype))


def allocated(m: Machine, name: str, like: Tensor | None, arguments: Arguments, node: Any) -> Value:
    """The result of ``torch.empty`` and its relatives; *like* gives what the arguments leave out."""
    how = ALLOCATORS[name]
    positional = arguments.positional
    if how == "like":
        shape = like.shape if like is not None else None
    elif "size" in arguments.keyword:
        shape = sizes_of([arguments.keyword["size"]])
    else:
        shape = None if arguments.open else sizes_of(positional if how == "sizes" else positional[:1])
        if arguments.open and Const(0) in positional:
            shape = (Const(0),)
    for size in shape or ():
        m.sized(size, "int")
        use(m, size, "shape", node)
    default = (
        like.dtype if like is not None else FLOAT if name != "empty_like" and not name.startswith("new_") else None
    )
    dtype = as_dtype(m, arguments.get(None, "dtype"), default or Symbol(fresh("dtype")))
    device = arguments.get(None, "device")
    allocator = name if name.startswith("new_") else f"torch.{name}"
    return allocate(m, allocator, shape, dtype, node, meta=device == Const("meta"))


def _rearranged(m: Machine, tensor: Tensor, name: str, arguments: Arguments, node: Any) -> Value:
    first = m.known(arguments.positional[0]) if arguments.positional else arguments.keyword.get("dtype")
    if name == "view" and isinstance(first, DType):
        return replace(tensor, dtype=first, shape=None, layout=Key("layout", "bits", tensor.layout), handle=None)
    for value in arguments.positional:
        use(m, value, "shape", node)
        m.sized(value, "int")
    return replace(rearranged(tensor, name, arguments.positional), handle=None)


def _part(m: Machine, tensor: Tensor, name: str, arguments: Arguments) -> Value:
    part = replace(tensor, region=(SOME,), shape=None, handle=None, row=False, content="")
    if name in ("chunk", "split", "tensor_split", "unbind", "hsplit", "vsplit", "dsplit"):
        return Seq([], False, replace(part, region=(Span(loop=True),) if not tensor.region else (SOME,), row=True))
    return part


def _along(m: Machine, tensor: Tensor, name: str, arguments: Arguments, node: Any) -> Value:
    """``narrow`` and ``select`` as the subscripts that they stand for."""
    dim, start = arguments.get(0, "dim"), arguments.get(1, "start", "index")
    length = arguments.get(2, "length")
    if not isinstance(dim, Const) or type(dim.value) is not int or dim.value < 0 or start is None:
        return _part(m, tensor, name, arguments)
    start = m.known(start)
    at = start if length is None else Slice(start, binary("+", start, m.known(length)), None)
    return get_item(m, tensor, [EVERYTHING] * dim.value + [at], node)


def _metadata(m: Machine, tensor: Tensor, name: str, arguments: Arguments) -> Value:
    shape = tensor.shape
    at = arguments.get(0, "dim")
    if name == "size" and shape is not None:
        if at is None:
            return Seq([(TRUE, size) for size in shape], sizes=True)
        if isinstance(at, Const) and isinstance(at.value, int) and -len(shape) <= at.value < len(shape):
            return shape[at.value]
    if name in ("numel", "nelement"):
        return _number_of_elements(m, tensor)
    if name in ("dim", "ndimension"):
        return rank_of(m, tensor)
    if name == "__len__" and shape:
        return shape[0]
    if name == "is_floating_point" and isinstance(tensor.dtype, DType):
        return Const(tensor.dtype.kind == "floating")
    if name == "is_complex" and isinstance(tensor.dtype, DType):
        return Const(tensor.dtype.kind == "complex")
    return Symbol(Key("call", Key("attr", tensor.storage.key, name), *(key_of(a) for a in arguments.positional)))


def _number_of_elements(m: Machine, tensor: Tensor) -> Value:
    storage = tensor.storage
    if tensor.shape is not None and all(isinstance(size, Const | Symbol) for size in tensor.shape):
        return product(tensor.shape)
    number = Symbol(Key("numel", tensor.key))
    if tensor.region == WHOLE:
        # Whatever its sizes are, where there are no elements there is nothing to fill.
        storage.absent = m.guards.any((storage.absent, m.guards.negate(m.truth(number))))
    return number


def _in_place(m: Machine, tensor: Tensor, name: str, arguments: Arguments, node: Any) -> Value:
    if name in OVERWRITES:
        value = (
            m.known(arguments.positional[0]) if arguments.positional and name in ("copy_", "set_", "fill_") else None
        )
        overwrite(m, tensor, value)
    elif name in INDEXED_WRITES:
        _indexed_write(m, tensor, name, arguments, node)
    elif name in PARTIAL_WRITES:
        mask = m.known(arguments.positional[0]) if arguments.positional else None
        masked = isinstance(mask, Tensor) and name.startswith("masked") and not tensor.region
        write_region(m, tensor, (Mask(*mask_of(mask)),) if masked and isinstance(mask, Tensor) else (SOME,))
    elif name in ("resize_", "resize_as_"):
        clear(m, tensor)
    elif (name == "mul_" and arguments.get(0, "other") == Const(0)) or (
        name == "bitwise_and_" and arguments.get(0) == Const(0)
    ):
        overwrite(m, tensor)
    else:
        use(m, tensor, "number", node)
        for value in arguments.all():
            use(m, value, "value", node)
    return tensor


def _indexed_write(m: Machine, tensor: Tensor, name: str, arguments: Arguments, node: Any) -> None:
    at = INDEXED_WRITES[name]
    index = m.known(arguments.get(at, "index", "indices") or Symbol(fresh()))
    use(m, index, "index", node)
    dim = arguments.get(0, "dim") if at else Const(0)
    values = arguments.positional[at + 1 :]
    parts = [part for _, part in rounds(m, index).items] if isinstance(index, Seq) else [index]
    region: Region = (SOME,)
    if dim == Const(0) and not tensor.region and (name != "scatter_" or tensor.shape is None or len(tensor.shape) == 1):
        region = region_of(m, tensor, parts)[0]
    write_region(m, tensor, region, values[0] if values else None)


def computed(m: Machine, name: str, operands: list[Value], arguments: Arguments, node: Any) -> Value:
    """The result of a function that only reads its operands."""
    plain = name.removesuffix("_")
    if plain in INDEX_ARGUMENTS and INDEX_ARGUMENTS[plain] < len(operands):
        use(m, operands[INDEX_ARGUMENTS[plain]], "index", node)
    if name in SIZE_ARGUMENTS and SIZE_ARGUMENTS[name] < len(operands):
        use(m, operands[SIZE_ARGUMENTS[name]], "shape", node)
    for key in ("index", "indices"):
        if key in arguments.keyword:
            use(m, arguments.keyword[key], "index", node)
    inputs = [m.known(value) for value in (*operands, *arguments.keyword.values())]
    relevant = [value for value in inputs if isinstance(value, Tensor | Seq) or m.undefined(value)]
    result = combine(m, name, relevant, node, extra=[key_of(value) for value in inputs if value not in relevant])
    dtype = arguments.keyword.get("dtype")
    if dtype is not None:
        result = replace(result, dtype=as_dtype(m, dtype, result.dtype))
    elif name in BOOL_RESULTS:
        result = replace(result, dtype=BOOL)
    elif name in INT64_RESULTS:
        result = replace(result, dtype=INT64)
    elif name in FLOAT_RESULTS:
        result = replace(result, dtype=FLOAT)
    if name in PERMUTATIONS:
        first = operands[0] if operands else None
        result = replace(result, content="permutation", shape=first.shape if isinstance(first, Tensor) else None)
    return result
