"""Classes of the checked tree: their bodies, their bases, and where a name of theirs comes from."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lintinit._lazy import cst
from lintinit.model.scope import Scope
from lintinit.model.values import (
    Choice,
    Class,
    External,
    Function,
    Symbol,
    Value,
    text_of,
)

if TYPE_CHECKING:
    from lintinit.model.machine import Machine

#: Libraries whose classes bring no module state along.
_PLAIN_LIBRARIES = frozenset(
    {"typing_extensions", "pydantic", "attr", "attrs", "msgspec", "numpy", *sys.stdlib_module_names}
)
_TENSOR_CLASSES = frozenset({"torch.nn.Parameter", "torch.nn.Buffer", "torch.Tensor"})


def bases_of(m: Machine, cls: Class) -> tuple[Value, ...]:
    """The base classes: of the tree or by their dotted name outside."""
    if cls.bases is None:
        cls.bases = ()
        found: list[Value] = []
        with m.elsewhere(cls.scope, cls.block):
            for base in cls.node.bases:
                node = base.value
                while isinstance(node, cst.Subscript):
                    node = node.value
                found.append(_as_class(m.evaluate(node)))
        cls.bases = tuple(base for base in found if base is not cls)
    return cls.bases


def _as_class(value: Value) -> Value:
    if isinstance(value, Choice):
        return next((o for _, o in value.options if isinstance(o, Class | External)), External("unknown"))
    if isinstance(value, Class | External):
        return value
    return External(text_of(value.key)) if isinstance(value, Symbol) else External("unknown")


def ancestry(m: Machine, cls: Value, _seen: frozenset[int] = frozenset()) -> tuple[Value, ...]:
    """*cls* and its bases in the order in which attributes are looked up."""
    if not isinstance(cls, Class) or id(cls) in _seen:
        return (cls,)
    line: list[Value] = []
    for base in bases_of(m, cls):
        line += ancestry(m, base, _seen | {id(cls)})
    # A class reached twice stands behind everything that derives from it.
    kept = [base for at, base in enumerate(line) if base not in line[at + 1 :]]
    return (cls, *kept)


def namespace_of(m: Machine, cls: Class) -> Scope:
    """The names of the body of *cls*, executed at once where its members are no blocks of their own."""
    if cls.namespace is None:
        members = cls.block.bindings if cls.split else {}
        cls.namespace = Scope(cls.scope.source, cls.scope, body_of=cls, bindings=members)
        if not cls.split:
            with m.elsewhere(cls.namespace, cls.block):
                m.execute(cls.node.body)
    return cls.namespace


def member_of(m: Machine, cls: Class, name: str) -> Value | None:
    """The attribute *name* that the body of *cls* itself defines."""
    return m.lookup(namespace_of(m, cls), name)


def functions_of(m: Machine, cls: Class) -> Iterator[Function]:
    """The functions that the body of *cls* itself defines, in order."""
    scope = namespace_of(m, cls)
    for name in dict.fromkeys((*scope.bindings, *scope.names)):
        value = m.lookup(scope, name)
        if isinstance(value, Function):
            yield value


def methods_of(m: Machine, cls: Class) -> dict[str, Function]:
    """The methods of *cls* with those that it inherits from classes of the tree, by name."""
    found: dict[str, Function] = {}
    for base in ancestry(m, cls):
        for function in functions_of(m, base) if isinstance(base, Class) else ():
            found.setdefault(function.name, function)
    return found


def lookup_class(m: Machine, cls: Value, name: str, after: Class | None = None) -> Value | None:
    """The attribute *name* of *cls*, optionally looking behind *after* only, as ``super()`` does."""
    line = ancestry(m, cls)
    if after is not None and after in line:
        line = line[line.index(after) + 1 :]
    for base in line:
        if isinstance(base, Class):
            found = member_of(m, base, name)
            if found is not None:
                return found
    return None


def is_plain(base: Value) -> bool:
    """Whether *base* is known to bring neither state nor methods that could fill any."""
    if not isinstance(base, External):
        return False
    library = base.name.partition(".")[0]
    return library == "builtins" or library in _PLAIN_LIBRARIES or base.name == "torch.nn.Module"


def is_open(m: Machine, cls: Class) -> bool:
    """Whether a base that is out of sight may add attributes or methods."""
    return any(isinstance(base, External) and not is_plain(base) for base in ancestry(m, cls))


def is_module(m: Machine, cls: Value) -> bool:
    """Whether instances are ``torch.nn.Module``; a base that is out of sight may be one."""
    for base in ancestry(m, cls):
        if isinstance(base, External) and base.name not in _TENSOR_CLASSES:
            if base.name.startswith("torch."):
                if base.name.startswith("torch.nn."):
                    return True
            elif not is_plain(base):
                return True
    return False


def parameter_kind(m: Machine, cls: Value) -> str | None:
    """``parameter`` or ``buffer`` where *cls* makes such, by its bases or, out of sight, by its name."""
    for base in ancestry(m, cls):
        if isinstance(base, External):
            name = base.name.rpartition(".")[2]
            if base.name.startswith("torch."):
                kinds = {"torch.nn.Parameter": "parameter", "torch.nn.Buffer": "buffer"}
                if base.name in kinds:
                    return kinds[base.name]
            elif name.endswith(("Parameter", "Param")):
                return "parameter"
            elif name == "Buffer":
                return "buffer"
    return None
