"""``torch.nn.Module``: registration, walking over state, and what its own methods do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lintinit.model import objects
from lintinit.model.classes import ancestry, member_of
from lintinit.model.guards import FALSE, TRUE, Guard
from lintinit.model.heap import Handle, Map, Obj, Registry, Seq, Tensor, options
from lintinit.model.machine import Arguments
from lintinit.model.tensors import clear, overwrite
from lintinit.model.values import (
    NONE,
    Bound,
    Choice,
    Class,
    Const,
    External,
    Symbol,
    Value,
    fresh,
    text_of,
)

if TYPE_CHECKING:
    from lintinit.model.machine import Machine

Handler = Callable[["Machine", Obj, Arguments, Any], Value]


# Registration.


def attribute_name(value: Value) -> str | None:
    """The attribute that a name argument stands for; unknown parts are written as in an f-string."""
    if isinstance(value, Const):
        return value.value if isinstance(value.value, str) else None
    if isinstance(value, Symbol):
        text = text_of(value.key)
        return text if value.key.kind == "text" else "{" + text + "}"
    return None


def register(m: Machine, obj: Obj, name: Value, value: Value, handle: Handle | None) -> Value:
    """Register *value* as the state *name* of *obj*; with *handle* as a buffer."""
    if isinstance(name, Choice):
        return m.each(name, lambda option: register(m, obj, option, value, handle))
    attribute = attribute_name(name)
    if attribute is not None:
        obj.module = True
        objects.write(m, obj, attribute, value, buffer=handle)
    return NONE


def _register_buffer(m: Machine, obj: Obj, arguments: Arguments, node: Any) -> Value:
    name, value = arguments.get(0, "name"), arguments.get(1, "tensor")
    if name is None or value is None:
        return NONE
    persistent = arguments.get(2, "persistent") or Const(True)
    return register(m, obj, name, value, Handle(External("torch.nn.Buffer"), "buffer", Const(False), persistent))


def _register_parameter(m: Machine, obj: Obj, arguments: Arguments, node: Any) -> Value:
    name, value = arguments.get(0, "name"), arguments.get(1, "param")
    if name is None or value is None:
        return NONE
    return register(m, obj, name, value, None)


def _add_module(m: Machine, obj: Obj, arguments: Arguments, node: Any) -> Value:
    name, value = arguments.get(0, "name"), arguments.get(1, "module")
    return register(m, obj, name, value, None) if name is not None and value is not None else NONE


# Walking over state.


def children_of(m: Machine, obj: Obj) -> Iterator[tuple[str, Guard, Obj]]:
    """Child modules with their names and when they exist."""
    for name, value in list(obj.attrs.items()):
        for guard, option in options(value):
            if isinstance(option, Obj) and option.module:
                yield name, guard, option
    if obj.items is not None:
        for guard, key, value in obj.items.entries:
            for inner, option in options(value):
                both = m.guards.all(guard, inner)
                if isinstance(option, Obj) and both != FALSE:
                    yield attribute_name(key) or str(key), both, option


def own_state(m: Machine, obj: Obj) -> Iterator[tuple[str, Guard, Tensor]]:
    """Parameters and buffers that *obj* holds itself: name, when it exists, and the tensor."""
    for name, value in list(obj.attrs.items()):
        for guard, option in options(value):
            if isinstance(option, Tensor) and option.handle is not None:
                yield name, guard, option
    if obj.items is not None:
        for guard, key, value in obj.items.entries:
            for inner, option in options(value):
                both = m.guards.all(guard, inner)
                if isinstance(option, Tensor) and both != FALSE:
                    yield attribute_name(key) or "?", both, option


def modules_of(m: Machine, obj: Obj) -> Iterator[tuple[str, Guard, Obj]]:
    """*obj* and all modules below it, each once."""
    seen: set[int] = set()
    pending: list[tuple[str, Guard, Obj]] = [("", TRUE, obj)]
    while pending:
        prefix, guard, module = pending.pop(0)
        if id(module) in seen:
            continue
        seen.add(id(module))
        yield prefix, guard, module
        for name, inner, child in children_of(m, module):
            pending.append((f"{prefix}.{name}".lstrip("."), m.guards.all(guard, inner), child))


def state_of(m: Machine, obj: Obj) -> Iterator[tuple[str, Guard, Tensor]]:
    """State of *obj* and of all modules below it."""
    for prefix, guard, module in modules_of(m, obj):
        for name, inner, tensor in own_state(m, module):
            both = m.guards.all(guard, inner)
            if both != FALSE:
                yield f"{prefix}.{name}".lstrip("."), both, tensor


def empty_state(m: Machine, obj: Obj, node: Any) -> None:
    """``to_empty``: all memory is replaced by memory that nobody wrote."""
    for _, _, tensor in state_of(m, obj):
        clear(m, tensor)
        if not tensor.storage.allocator and m.block is not None:
            from lintinit.model.heap import Site

            tensor.storage.allocator = "to_empty"
            tensor.storage.site = Site(m.block, node)


def _listing(kind: str | None, named: bool) -> Handler:
    def handler(m: Machine, obj: Obj, arguments: Arguments, node: Any) -> Value:
        recurse = arguments.get(1 if named else 0, "recurse") != Const(False)
        found = state_of(m, obj) if recurse else own_state(m, obj)
        items: list[tuple[Guard, Value]] = []
        for name, guard, tensor in found:
            if kind is None or (tensor.handle is not None and tensor.handle.kind == kind):
                item = Seq([(TRUE, Const(name)), (TRUE, tensor)]) if named else tensor
                items.append((guard, item))
        return Seq(items)

    return handler


def _modules(named: bool, below: bool) -> Handler:
    def handler(m: Machine, obj: Obj, arguments: Arguments, node: Any) -> Value:
        found = children_of(m, obj) if below else modules_of(m, obj)
        items: list[tuple[Guard, Value]] = []
        for name, guard, module in found:
            items.append((guard, Seq([(TRUE, Const(name)), (TRUE, module)]) if named else module))
        return Seq(items)

    return handler


def _apply(m: Machine, obj: Obj, arguments: Arguments, node: Any) -> Value:
    function = arguments.get(0, "fn")
    if function is not None:
        call_on_modules(m, obj, function, node)
    return obj


def call_on_modules(m: Machine, obj: Obj, function: Value, node: Any) -> None:
    """Call *function* with *obj* and every module below it, children first, as ``Module.apply`` does.

    A closed child has no state here that the function could reach.
    """
    for _, guard, module in reversed(list(modules_of(m, obj))):
        if module.pending is not None:
            continue
        before = m.path
        m.path = m.guards.all(before, guard)
        if m.path != FALSE:
            m.call(function, Arguments([module]), node)
        m.path = m.guards.any((m.path, m.guards.minus(before, guard)))


def _state_dict(m: Machine, obj: Obj, arguments: Arguments, node: Any) -> Value:
    found = [(guard, name, tensor) for name, guard, tensor in state_of(m, obj) if not _is_temporary(tensor)]
    return Map([(guard, Const(name), replace(tensor, handle=None)) for guard, name, tensor in found])


def _is_temporary(tensor: Tensor) -> bool:
    return tensor.handle is not None and tensor.handle.persistent == Const(False)


def _load_state_dict(m: Machine, obj: Obj, arguments: Arguments, node: Any) -> Value:
    given = arguments.get(0, "state_dict")
    for name, guard, tensor in state_of(m, obj):
        before = m.path
        m.path = m.guards.all(before, guard)
        if isinstance(given, Map) and given.exact:
            for present, key, value in given.entries:
                if attribute_name(key) == name:
                    inner = m.path
                    m.path = m.guards.all(inner, present)
                    overwrite(m, tensor, value)
                    m.path = inner
        else:
            overwrite(m, tensor)
        m.path = before
    return NONE


def _get(m: Machine, obj: Obj, arguments: Arguments, node: Any) -> Value:
    target = arguments.get(0, "target")
    value: Value = obj
    if isinstance(target, Const) and isinstance(target.value, str):
        for name in filter(None, target.value.split(".")):
            value = m.each(value, lambda option, name=name: _below(m, option, name, node))  # type: ignore[misc]
        return value
    return Symbol(fresh())


def _below(m: Machine, value: Value, name: str, node: Any) -> Value:
    from lintinit.model.attributes import get_attribute
    from lintinit.model.containers import object_item

    if isinstance(value, Obj) and value.items is not None:
        return object_item(m, value, Const(int(name)) if name.isdigit() else Const(name), node)
    return get_attribute(m, value, name, node)


def _set_attribute(m: Machine, obj: Obj, arguments: Arguments, node: Any) -> Value:
    name, value = arguments.get(0, "name"), arguments.get(1, "value")
    attribute = attribute_name(m.known(name)) if name is not None else None
    if attribute is not None and value is not None:
        objects.write(m, obj, attribute, value)
    return NONE


def _same(m: Machine, obj: Obj, arguments: Arguments, node: Any) -> Value:
    return obj


def _to_empty(m: Machine, obj: Obj, arguments: Arguments, node: Any) -> Value:
    empty_state(m, obj, node)
    return obj


def _nothing(m: Machine, obj: Obj, arguments: Arguments, node: Any) -> Value:
    return NONE


def _post_init(m: Machine, obj: Obj, arguments: Arguments, node: Any) -> Value:
    """transformers' contract: ``post_init`` and ``init_weights`` call ``_init_weights`` on every module."""
    initialiser = objects.read(m, obj, "_init_weights")
    if isinstance(initialiser, Bound):
        call_on_modules(m, obj, initialiser, node)
    return NONE


#: Methods of ``torch.nn.Module`` by name.
MODULE_METHODS: dict[str, Handler] = {
    "register_buffer": _register_buffer,
    "register_parameter": _register_parameter,
    "add_module": _add_module,
    "register_module": _add_module,
    "parameters": _listing("parameter", False),
    "named_parameters": _listing("parameter", True),
    "buffers": _listing("buffer", False),
    "named_buffers": _listing("buffer", True),
    "modules": _modules(False, False),
    "named_modules": _modules(True, False),
    "children": _modules(False, True),
    "named_children": _modules(True, True),
    "apply": _apply,
    "__setattr__": _set_attribute,
    "state_dict": _state_dict,
    "load_state_dict": _load_state_dict,
    "get_parameter": _get,
    "get_buffer": _get,
    "get_submodule": _get,
    "to_empty": _to_empty,
    **dict.fromkeys(
        "to cuda cpu xpu half float double bfloat16 train eval requires_grad_ type share_memory".split(), _same
    ),
    **dict.fromkeys(
        "__init__ zero_grad extra_repr register_forward_hook register_forward_pre_hook compile".split(), _nothing
    ),
    **dict.fromkeys(
        "register_load_state_dict_post_hook register_load_state_dict_pre_hook register_state_dict_hook".split(),
        _nothing,
    ),
    **dict.fromkeys(
        "register_full_backward_hook register_state_dict_post_hook register_state_dict_pre_hook".split(), _nothing
    ),
    **dict.fromkeys("_register_load_state_dict_pre_hook _register_state_dict_hook __getattr__".split(), _nothing),
}
#: Library classes that are taken by their contract even where their source is in the tree, with their methods.
CONTRACTS: dict[str, dict[str, Handler]] = {
    "PreTrainedModel": {"__init__": _nothing, "post_init": _post_init, "init_weights": _post_init},
}


def contract_method(m: Machine, obj: Obj, name: str) -> Handler | None:
    """What the contract of a library base class of *obj* says about a method that its own classes do not define."""
    for base in ancestry(m, obj.cls) if isinstance(obj.cls, Class) else ():
        found = CONTRACTS.get(getattr(base, "name", "").rpartition(".")[2], {}).get(name)
        if found is not None:
            return found
        if isinstance(base, Class) and member_of(m, base, name) is not None:
            return None
    return None


def module_method(m: Machine, obj: Obj, name: str) -> Handler | None:
    """What the outside base classes of *obj* do for a method *name* that the tree does not define."""
    return MODULE_METHODS.get(name) if obj.module or obj.cls is None else None


# ``_parameters`` and ``_buffers`` as dicts.


def registry_items(m: Machine, registry: Registry) -> Map:
    """The entries of ``module._parameters`` or ``module._buffers``."""
    kind = {"_parameters": "parameter", "_buffers": "buffer"}.get(registry.kind)
    if registry.kind == "_modules":
        return Map([(guard, Const(name), child) for name, guard, child in children_of(m, registry.owner)])
    found = [
        (guard, Const(name), tensor)
        for name, guard, tensor in own_state(m, registry.owner)
        if kind is None or (tensor.handle is not None and tensor.handle.kind == kind)
    ]
    return Map(list(found))


def registry_set(m: Machine, registry: Registry, key: Value, value: Value) -> None:
    """``module._buffers[key] = value``."""
    handle = Handle(External("torch.nn.Buffer"), "buffer", Const(False)) if registry.kind == "_buffers" else None
    register(m, registry.owner, key, value, handle)


def registry_delete(m: Machine, registry: Registry, key: Value) -> None:
    """``del module._buffers[key]``."""
    name = attribute_name(key)
    if name is not None:
        objects.delete(m, registry.owner, name)
