"""Calls of functions and classes outside the checked tree: torch, its initialisers, numpy, functools."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lintinit.model import methods, objects, standard
from lintinit.model.arithmetic import difference
from lintinit.model.classes import parameter_kind
from lintinit.model.containers import fill_container
from lintinit.model.dtypes import FLOAT, INT64, LEGACY_TENSORS
from lintinit.model.heap import Map, Obj, Seq, Tensor
from lintinit.model.iteration import rounds
from lintinit.model.machine import Arguments
from lintinit.model.opaque import opaque_call
from lintinit.model.state import empty_state
from lintinit.model.tensors import (
    allocate,
    as_dtype,
    combine,
    overwrite,
    sizes_of,
    use,
    valued,
)
from lintinit.model.values import (
    NONE,
    Class,
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
from lintinit.semantics.torch_api import (
    ALLOCATORS,
    CONTAINERS,
    CONVERSIONS,
    INIT_NAMESPACE,
    INT64_RESULTS,
    META_CONTEXTS,
    PERMUTATIONS,
    VALUE_FUNCTIONS,
)

if TYPE_CHECKING:
    from lintinit.model.machine import Machine

Handler = Callable[["Machine", Arguments, Any], Value]

#: Wrappers that hand their first argument back.
_TRANSPARENT = frozenset(
    {
        "torch.jit.script", "torch.jit.ignore", "torch.jit.export", "torch.jit.unused", "torch.compile",
        "torch.no_grad", "torch.inference_mode", "typing.cast", "copy.copy", "torch.fx.wrap",
        "torch.nn.utils.parametrizations.weight_norm", "torch.nn.utils.weight_norm", "functools.wraps",
    }
)  # fmt: skip
#: Exchange data between processes: every process has the same unwritten memory to give.
_NO_WRITERS = ("torch.distributed.", "torch.cuda.", "torch.testing.", "torch.library.", "torch._check", "torch.jit.")


def call_external(m: Machine, callee: External, arguments: Arguments, node: Any) -> Value:
    """The result of calling something outside the tree."""
    name = callee.name
    special = _SPECIAL.get(name)
    if special is not None:
        return special(m, arguments, node)
    if name in _TRANSPARENT:
        return arguments.positional[-1 if name == "typing.cast" else 0] if arguments.positional else Symbol(fresh())
    if parameter_kind(m, callee) is not None:
        return objects.wrap(m, callee, arguments)
    library, _, function = name.rpartition(".")
    if name.startswith("torch."):
        return _torch(m, library, function, arguments, node)
    if name.startswith("numpy."):
        return _numpy(m, function, arguments, node)
    if function in META_CONTEXTS:
        return Const("meta")
    return opaque_call(m, callee, name, arguments, node)


def _torch(m: Machine, library: str, function: str, arguments: Arguments, node: Any) -> Value:
    out = arguments.keyword.get("out")
    if out is not None:
        result = _torch(m, library, function, _without(arguments, "out"), node)
        for target in rounds(m, out).items if isinstance(out, Seq) else [(0, out)]:
            m.each(target[1], lambda option: _overwritten(m, option, result))
        return out
    if library == INIT_NAMESPACE:
        return _initialise(m, function, arguments, node)
    if library in ("torch", "torch.cuda") and function in LEGACY_TENSORS:
        return _legacy(m, library, function, arguments, node)
    if library == "torch.Tensor" and arguments.positional:
        first = m.known(arguments.positional[0])
        if isinstance(first, Tensor):
            return methods.tensor_method(m, first, function, _rest(arguments), node)
    if library == "torch.nn.Module" and arguments.positional:
        first = m.known(arguments.positional[0])
        if isinstance(first, Obj | Symbol):
            return m.call(Method(first, function), _rest(arguments), node)
    if library == "torch.nn" and function[:1].isupper():
        return _module(m, function, arguments)
    if library in ("torch", "torch.nn.functional", "torch.special", "torch.linalg", "torch._C._nn"):
        return _function(m, function, arguments, node)
    name = f"{library}.{function}"
    if name.startswith(_NO_WRITERS) or not library.startswith("torch.ops"):
        for value in arguments.all():
            use(m, value, name, node)
        return Symbol(Key("call", Key("external", name), *(key_of(value) for value in arguments.all())))
    return opaque_call(m, External(name), name, arguments, node)


def _overwritten(m: Machine, target: Value, result: Value) -> Value:
    if isinstance(target, Tensor):
        overwrite(m, target, result)
    return NONE


def _function(m: Machine, name: str, arguments: Arguments, node: Any) -> Value:
    first = m.known(arguments.positional[0]) if arguments.positional else arguments.keyword.get("input")
    if name.startswith("_foreach_"):
        if name.endswith("_"):
            for _, item in rounds(m, first).items if first is not None else ():
                m.each(item, lambda option: _apply_in_place(m, option, name, arguments, node))
        return NONE
    if name in ALLOCATORS:
        if ALLOCATORS[name] == "like":
            like = first if isinstance(first, Tensor) else None
            return methods.allocated(m, name, like, _rest(arguments), node)
        return methods.allocated(m, name, None, arguments, node)
    if name in VALUE_FUNCTIONS and not (name == "tensor" and isinstance(first, Tensor)):
        return _values(m, name, first, arguments)
    if name in CONVERSIONS:
        if isinstance(first, Tensor):
            return methods.tensor_method(m, first, "to", _only(arguments, "dtype"), node)
        return valued(m, as_dtype(m, arguments.get(1, "dtype"), Symbol(fresh("dtype"))))
    if isinstance(first, Tensor) and "input" not in arguments.keyword:
        return methods.tensor_method(m, first, name, _rest(arguments), node)
    operands = list(arguments.positional)
    if any(isinstance(value, Tensor) or m.undefined(value) for value in map(m.known, arguments.all())) or (
        isinstance(first, Seq) and any(isinstance(m.known(item), Tensor) for _, item in first.items)
    ):
        return methods.computed(m, name, operands, arguments, node)
    if name in INT64_RESULTS or name in PERMUTATIONS:
        return valued(m, INT64, None, "permutation" if name in PERMUTATIONS else "")
    for value in arguments.all():
        use(m, value, "value", node)
    return Symbol(Key("call", Key("external", f"torch.{name}"), *(key_of(value) for value in arguments.all())))


def _apply_in_place(m: Machine, target: Value, name: str, arguments: Arguments, node: Any) -> Value:
    if isinstance(target, Tensor):
        methods.tensor_method(m, target, name.removeprefix("_foreach_"), _rest(arguments), node)
    return NONE


def _values(m: Machine, name: str, first: Value | None, arguments: Arguments) -> Value:
    like = first if name.endswith("_like") and isinstance(first, Tensor) else None
    default: Value = like.dtype if like is not None else INT64 if name in INT64_RESULTS else Symbol(fresh("dtype"))
    dtype = as_dtype(m, arguments.get(None, "dtype"), default)
    content, shape = "", like.shape if like is not None else None
    if name in ("arange", "randperm") and first is not None:
        bounds = [Const(0), first] if len(arguments.positional) == 1 else arguments.positional[:2]
        if len(arguments.positional) <= 2 and difference(bounds[0], Const(0)) == 0:
            content, shape = "permutation", (bounds[1],)
    elif name in ("zeros", "ones", "full", "rand", "randn"):
        size = arguments.keyword.get("size")
        shape = sizes_of(
            [size] if size is not None else arguments.positional[:1] if name == "full" else arguments.positional
        )
        for part in shape or ():
            m.sized(part, "int")
    return valued(m, dtype, shape, content)


def _initialise(m: Machine, function: str, arguments: Arguments, node: Any) -> Value:
    target = arguments.get(0, "tensor")
    if target is not None and function.endswith("_"):
        m.each(target, lambda option: _overwritten(m, option, Const(0)))
        return target
    return Symbol(fresh())


def _legacy(m: Machine, library: str, function: str, arguments: Arguments, node: Any) -> Value:
    """``torch.LongTensor(2, 3)`` allocates, ``torch.LongTensor([2, 3])`` copies."""
    dtype = as_dtype(m, arguments.keyword.get("dtype"), LEGACY_TENSORS[function])
    positional = [m.known(value) for value in arguments.positional]
    allocator = f"{library}.{function}"
    if len(positional) > 1:
        for size in positional:
            m.sized(size, "int")
        return allocate(m, allocator, None if arguments.open else tuple(positional), dtype, node)
    only = positional[0] if positional else None
    if isinstance(only, Tensor):
        return methods.cast(m, only, dtype)
    if isinstance(only, Const) and type(only.value) is int:
        return allocate(m, allocator, (only,), dtype, node)
    if isinstance(only, Seq) and only.sizes:
        return allocate(m, allocator, tuple(size for _, size in only.items) if only.exact else None, dtype, node)
    if arguments.open:
        return allocate(m, allocator, None, dtype, node)
    if isinstance(only, Symbol) and is_size(only.key):
        return allocate(m, allocator, None, dtype, node)
    if isinstance(only, Symbol):
        made = allocate(m, allocator, (only,), dtype, node)
        made.storage.data = only.key
        return made
    if only is None and not arguments.open:
        return allocate(m, allocator, (Const(0),), dtype, node)
    return valued(m, dtype)


def is_size(key: Key) -> bool:
    """Whether *key* is what a tensor says about its size, or a length: a number, or several, and no data."""
    if key.kind == "attr":
        return bool(key.parts[1] == "shape")
    callee = key.parts[0] if key.kind == "call" else None
    if not isinstance(callee, Key):
        return False
    if callee.kind == "attr":
        return callee.parts[1] in ("size", "numel", "nelement", "dim", "ndimension", "__len__")
    return callee == Key("external", "len")


def _module(m: Machine, function: str, arguments: Arguments) -> Value:
    name = f"torch.nn.{function}"
    if function.startswith("Uninitialized"):
        return Symbol(fresh("tensor"))
    made = Obj(External(name), fresh("object"), module=True, site=m.statement())
    m.objects.append(made)
    if name in CONTAINERS:
        made.items = Map()
        made.keyed = name.endswith("Dict")
        fill_container(m, made, arguments)
    return made


def _numpy(m: Machine, function: str, arguments: Arguments, node: Any) -> Value:
    first = m.known(arguments.positional[0]) if arguments.positional else None
    out = arguments.keyword.get("out")
    if isinstance(out, Tensor):
        overwrite(m, out)
        return out
    if function == "copyto" and isinstance(first, Tensor):
        overwrite(m, first, arguments.get(1, "src"))
        return NONE
    if isinstance(first, Tensor) and function in ("asarray", "array"):
        return first
    tensors = [value for value in map(m.known, arguments.all()) if isinstance(value, Tensor)]
    if tensors:
        return combine(m, function, tensors, node)
    return Symbol(Key("call", Key("external", f"numpy.{function}"), *(key_of(value) for value in arguments.all())))


def _device(m: Machine, arguments: Arguments, node: Any) -> Value:
    name = arguments.get(0, "type", "device")
    if isinstance(name, Const) and isinstance(name.value, str):
        return name
    return Symbol(Key("call", Key("external", "torch.device"), *(key_of(value) for value in arguments.all())))


def _is_floating(m: Machine, arguments: Arguments, node: Any) -> Value:
    value = m.known(arguments.positional[0]) if arguments.positional else NONE
    if isinstance(value, Tensor) and isinstance(value.dtype, DType):
        return Const(value.dtype.kind == "floating")
    return Symbol(Key("call", Key("external", "torch.is_floating_point"), key_of(value)))


def _skip_init(m: Machine, arguments: Arguments, node: Any) -> Value:
    cls = m.known(arguments.positional[0]) if arguments.positional else NONE
    if isinstance(cls, Class | External):
        made = m.call(cls, _rest(arguments), node)
        if isinstance(made, Obj):
            empty_state(m, made, node)
        return made
    return Symbol(fresh())


def _rest(arguments: Arguments) -> Arguments:
    return Arguments(arguments.positional[1:], arguments.keyword, arguments.open)


def _without(arguments: Arguments, name: str) -> Arguments:
    return Arguments(arguments.positional, {k: v for k, v in arguments.keyword.items() if k != name}, arguments.open)


def _only(arguments: Arguments, name: str) -> Arguments:
    return Arguments([], {k: v for k, v in arguments.keyword.items() if k == name})


_SPECIAL: dict[str, Handler] = {
    **standard.FUNCTIONS,
    "torch.device": _device,
    "torch.is_floating_point": _is_floating,
    "torch.nn.utils.skip_init": _skip_init,
    "torch.Size": lambda m, arguments, node: rounds(m, arguments.positional[0]) if arguments.positional else Seq([]),
    "torch.get_default_dtype": lambda m, arguments, node: FLOAT,
}
