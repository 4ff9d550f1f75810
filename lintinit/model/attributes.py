"""Attribute access on any value: ``value.name`` and ``value.name = ...``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeGuard

from lintinit._lazy import cst
from lintinit.model import objects
from lintinit.model.classes import lookup_class, namespace_of
from lintinit.model.dtypes import dtype_named
from lintinit.model.heap import Handle, Obj, Tensor, options
from lintinit.model.tensors import replace_data, tensor_attribute
from lintinit.model.values import (
    NONE,
    Bound,
    Class,
    Const,
    DType,
    External,
    Function,
    Key,
    Method,
    Package,
    Partial,
    Super,
    Symbol,
    Value,
)
from lintinit.semantics.torch_api import canonical

if TYPE_CHECKING:
    from lintinit.model.machine import Machine


def get_attribute(m: Machine, value: Value, name: str, node: Any) -> Value:
    """``value.name``."""
    match value:
        case Obj():
            return objects.read(m, value, name)
        case Tensor():
            return tensor_attribute(m, value, name, node)
        case External("typing"):
            return Const(False) if name == "TYPE_CHECKING" else External(f"typing.{name}")
        case External():
            dotted = canonical(f"{value.name}.{name}")
            return dtype_named(dotted) or External(dotted)
        case Package():
            return member(m, value, name)
        case Class():
            found = lookup_class(m, value, name)
            if found is not None:
                return Bound(found, value) if _is_classmethod(found) else found
            return Const(value.name) if name == "__name__" else Symbol(Key("attr", Key("name", value.name), name))
        case Super():
            return objects.read_super(m, value, name)
        case DType():
            return _of_dtype(m, value, name)
        case Symbol():
            return _of_symbol(m, value, name, node)
        case Const() if isinstance(value.value, str) and name == "type":
            # A device is followed as its name.
            return Const(value.value.partition(":")[0])
        case Partial() if name == "func":
            return value.function
    return Method(value, name)


def _is_classmethod(value: Value) -> TypeGuard[Function]:
    return isinstance(value, Function) and value.is_a("classmethod")


def member(m: Machine, package: Package, name: str) -> Value:
    """A name of another file of the tree, or a file below it."""
    found = m.lookup(package.scope, name)
    if found is not None:
        return found
    source = m.program.find(name, 1, package.scope.source) if package.scope.source.path.name == "__init__.py" else None
    return (
        Package(m.module(source))
        if source is not None
        else Symbol(Key("attr", Key("name", package.scope.source.path.stem), name))
    )


def _of_dtype(m: Machine, value: DType, name: str) -> Value:
    if name == "is_floating_point":
        return Const(value.kind == "floating")
    if name == "is_complex":
        return Const(value.kind == "complex")
    if name == "value":
        # A member of an enumeration of dtypes.
        return value
    return Symbol(Key("attr", Key("dtype", value.name), name))


def _of_symbol(m: Machine, value: Symbol, name: str, node: Any) -> Value:
    found = m.stand_ins.get(value.key)
    if found is not None:
        return objects.read(m, found, name)
    if name == "is_meta":
        return Symbol(Key("meta", value.key))
    watched = m.watching(value.key, name)
    if watched is not None:
        return watched
    return Symbol(
        Key("attr", value.key, name), value.sources if name in ("values", "indices", "shape") else frozenset()
    )


def set_attribute(m: Machine, owner: Value, name: str, value: Value, target: Any) -> Value:
    """``owner.name = value``; returns None's value so that it can run on every alternative of an owner."""
    if isinstance(owner, Tensor):
        if name == "data":
            _set_data(m, owner, value, target)
        elif owner.handle is not None:
            m.store(owner.handle.attrs, name, value)
            if name == "requires_grad":
                owner.handle.trainable = value
    elif isinstance(owner, Symbol):
        if name == "data" and owner.key.kind == "attr" and _has_tensor(value):
            base, attribute = owner.key.parts
            objects.write(
                m,
                objects.stand_in(m, Symbol(base)),
                attribute,
                _under(m, value, Handle(External("torch.nn.Parameter"), "parameter")),
            )
        else:
            objects.write(m, objects.stand_in(m, owner), name, value)
    elif isinstance(owner, Obj):
        objects.write(m, owner, name, value)
    elif isinstance(owner, Class):
        m.store(namespace_of(m, owner).names, name, value)
    return NONE


def _has_tensor(value: Value) -> bool:
    return any(isinstance(option, Tensor) for _, option in options(value))


def _under(m: Machine, value: Value, handle: Handle) -> Value:
    """*value* with the tensors in it under another handle."""

    def shown(option: Value) -> Value:
        if isinstance(option, Tensor):
            return Tensor(option.storage, option.dtype, option.region, option.shape, option.layout, handle)
        return option

    return m.each(value, shown)


def _set_data(m: Machine, owner: Tensor, value: Value, target: Any) -> None:
    """``p.data = value``: under the name that the owner has as an attribute this is a new registration."""
    node = getattr(target, "value", None)
    if isinstance(node, cst.Attribute) and owner.handle is not None:
        holder = m.evaluate(node.value)
        for guard, option in options(holder):
            option = m.stand_ins.get(option.key, option) if isinstance(option, Symbol) else option
            if isinstance(option, Obj) and m.guards.meet(guard, m.path):
                objects.write(m, option, node.attr.value, _under(m, value, owner.handle))
        return
    replace_data(m, owner, value)


def delete_attribute(m: Machine, owner: Value, name: str) -> Value:
    """``del owner.name``."""
    if isinstance(owner, Symbol):
        owner = m.stand_ins.get(owner.key, owner)
    if isinstance(owner, Obj):
        objects.delete(m, owner, name)
    return NONE
