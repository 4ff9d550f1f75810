"""``torch.nn.Module``: what its own methods do, and the contracts of library classes built on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from lintinit.model import objects
from lintinit.model.attributes import get_attribute, set_attribute
from lintinit.model.classes import ancestry, member_of
from lintinit.model.guards import FALSE, TRUE, Guard
from lintinit.model.heap import Handle, Map, Obj, Seq, Tensor
from lintinit.model.machine import Arguments
from lintinit.model.state import (
    attribute_name,
    children_of,
    empty_state,
    modules_of,
    own_state,
    register,
    state_of,
)
from lintinit.model.tensors import overwrite
from lintinit.model.values import (
    NONE,
    Bound,
    Class,
    Const,
    External,
    Symbol,
    Value,
    fresh,
)

if TYPE_CHECKING:
    from lintinit.model.machine import Machine

Handler = Callable[["Machine", Obj, Arguments, Any], Value]


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


def _apply_to_state(m: Machine, obj: Obj, arguments: Arguments, node: Any) -> Value:
    """``module._apply(fn)``: what *fn* makes of a parameter or buffer takes its place."""
    function = arguments.get(0, "fn")
    if function is None:
        return obj
    for _, guard, tensor in list(state_of(m, obj)):
        before = m.path
        m.path = m.guards.all(before, guard)
        if m.path != FALSE:
            set_attribute(m, tensor, "data", m.call(function, Arguments([tensor]), node), node)
        m.path = m.guards.any((m.path, m.guards.minus(before, guard)))
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
            value = m.each(value, partial(_below, m, name, node))
        return value
    return Symbol(fresh())


def _below(m: Machine, name: str, node: Any, value: Value) -> Value:
    """What a dotted path finds under *name*: an item of a container, or an attribute."""
    # Looking into a container compares keys, which asks what attributes modules have: the methods in this file.
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
    "_apply": _apply_to_state,
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
