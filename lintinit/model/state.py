"""State of modules: giving it a name, and walking over what an object and the modules below it hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lintinit.model import objects
from lintinit.model.guards import FALSE, TRUE, Guard
from lintinit.model.heap import Handle, Map, Obj, Registry, Site, Tensor, options
from lintinit.model.tensors import clear
from lintinit.model.values import NONE, Choice, Const, External, Symbol, Value, text_of

if TYPE_CHECKING:
    from lintinit.model.machine import Machine


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
            tensor.storage.allocator = "to_empty"
            tensor.storage.site = Site(m.block, node)


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
