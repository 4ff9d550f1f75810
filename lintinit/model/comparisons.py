"""Conditions: comparisons, ``isinstance`` and ``hasattr``, decided where possible, atoms elsewhere.

A condition over unknowns becomes an atom named by what is compared, in one spelling: ``a != b`` is not
``a == b``, ``a >= b`` is not ``a < b``. Tests for the meta device all become atoms of kind ``meta``, so that
a rule can ask what happens on a real one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from lintinit.model import arithmetic
from lintinit.model.classes import ancestry, is_open, lookup_class
from lintinit.model.guards import FALSE, TRUE, Guard
from lintinit.model.heap import Map, Obj, Registry, Seq, Tensor
from lintinit.model.modules import MODULE_METHODS
from lintinit.model.objects import force
from lintinit.model.tensors import combine
from lintinit.model.values import (
    NONE,
    Bound,
    Choice,
    Class,
    Const,
    DType,
    External,
    Function,
    Key,
    Partial,
    Symbol,
    Value,
    key_of,
)
from lintinit.semantics.torch_api import TENSOR_ATTRIBUTES, is_tensor_method

if TYPE_CHECKING:
    from lintinit.model.machine import Machine

_NEGATED = {
    "NotEqual": "Equal",
    "IsNot": "Is",
    "NotIn": "In",
    "GreaterThanEqual": "LessThan",
    "LessThanEqual": "GreaterThan",
}
_DEFINITE = (Obj, Seq, Map, DType, External, Class, Function, Bound, Partial, Tensor, Registry)


def compare(m: Machine, op: str, left: Value, right: Value, node: Any) -> Value:
    """``left op right``: a boolean value, or a mask where tensors are compared element by element."""
    if op not in ("Is", "IsNot", "In", "NotIn"):
        for value in (left, right):
            if isinstance(m.known(value), Tensor):
                return combine(m, op, [m.known(left), m.known(right)], node)
    if op in _NEGATED:
        return m.boolean(m.guards.negate(condition(m, _NEGATED[op], left, right, node)))
    return m.boolean(condition(m, op, left, right, node))


def condition(m: Machine, op: str, left: Value, right: Value, node: Any) -> Guard:
    """When ``left op right`` holds."""
    left, right = m.known(left), m.known(right)
    if isinstance(left, Choice):
        return m.guards.any(m.guards.all(g, condition(m, op, option, right, node)) for g, option in left.options)
    if isinstance(right, Choice):
        return m.guards.any(m.guards.all(g, condition(m, op, left, option, node)) for g, option in right.options)
    for value in (left, right):
        if isinstance(value, Symbol) and value.sources and op not in ("Is",):
            m.record("read", value.sources, "tag", node)
    if op in ("Equal", "Is"):
        return _equal(m, left, right, op == "Is")
    if op == "In":
        return _contains(m, left, right, node)
    return _ordered(m, op, left, right)


def _equal(m: Machine, left: Value, right: Value, identity: bool) -> Guard:
    if isinstance(left, Const) and isinstance(right, Const):
        return TRUE if type(left.value) is type(right.value) and left.value == right.value else FALSE
    if key_of(left) == key_of(right):
        return TRUE
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Const) and isinstance(other, _DEFINITE):
            return FALSE
        if isinstance(one, Const) and isinstance(one.value, bool):
            truth = m.truth(other)
            return truth if one.value else m.guards.negate(truth)
        if isinstance(one, Const) and one.value == "meta":
            return m.guards.atom(Key("meta", key_of(other)))
    if isinstance(left, DType | Class | Function) and isinstance(right, DType | Class | Function):
        return FALSE
    if isinstance(left, Seq) and isinstance(right, Seq) and left.exact and right.exact:
        if len(left.items) != len(right.items):
            return FALSE
        pairs = zip(left.items, right.items, strict=True)
        return m.guards.all(*(_equal(m, m.known(a), m.known(b), False) for (_, a), (_, b) in pairs))
    return _equality(m, left, right)


def _equality(m: Machine, left: Value, right: Value) -> Guard:
    for one, other in ((left, right), (right, left)):
        if one == NONE:
            guard = m.guards.atom(Key("none", key_of(other)))
            m.guards.exclusive(Key("void", key_of(other)), "none", guard)
            return guard
    if arithmetic.difference(left, right) not in (None, 0):
        return FALSE
    for one, other in ((left, right), (right, left)):
        if one == Const(0) and isinstance(other, Symbol):
            return m.guards.negate(m.truth(other))
    keys = frozenset((key_of(left), key_of(right)))
    guard = m.guards.atom(keys)
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Const | DType | External | Class):
            m.guards.exclusive(Key("equal", key_of(other)), key_of(one), guard)
    return guard


def _ordered(m: Machine, op: str, left: Value, right: Value) -> Guard:
    if isinstance(left, Const) and isinstance(right, Const):
        try:
            return TRUE if (left.value < right.value if op == "LessThan" else left.value > right.value) else FALSE
        except TypeError:
            return FALSE
    for value in (left, right):
        m.sized(value, "int")
    gap = arithmetic.difference(left, right)
    if gap is not None:
        return TRUE if (gap < 0 if op == "LessThan" else gap > 0) else FALSE
    if op == "GreaterThan":
        left, right = right, left
    # What is compared here are sizes: not below zero.
    if left == Const(0) and isinstance(right, Symbol):
        return m.truth(right)
    if right == Const(1) and isinstance(left, Symbol):
        return m.guards.negate(m.truth(left))
    return m.guards.atom(Key("less", key_of(left), key_of(right)))


def _contains(m: Machine, left: Value, right: Value, node: Any) -> Guard:
    if isinstance(right, Seq | Map):
        items = right.items if isinstance(right, Seq) else [(guard, key) for guard, key, _ in right.entries]
        found = m.guards.any(m.guards.all(g, condition(m, "Equal", left, item, node)) for g, item in items)
        if right.exact:
            return found
        return m.guards.any((found, m.guards.atom(Key("in", key_of(left), key_of(right)))))
    if isinstance(left, Const) and isinstance(right, Const):
        try:
            return TRUE if left.value in right.value else FALSE
        except TypeError:
            return FALSE
    if isinstance(right, Registry) and isinstance(left, Const):
        return has_attribute(m, right.owner, str(left.value))
    return m.guards.atom(Key("in", key_of(left), key_of(right)))


def has_attribute(m: Machine, value: Value, name: str) -> Guard:
    """When ``hasattr(value, name)`` holds."""
    if isinstance(value, Choice):
        return m.guards.any(m.guards.all(g, has_attribute(m, option, name)) for g, option in value.options)
    atom = Key("has", key_of(value), name)
    if isinstance(value, Obj):
        force(m, value)
        own = value.attrs.get(name)
        present = FALSE
        if own is not None:
            present = m.guards.any(g for g, _ in own.options) if isinstance(own, Choice) else TRUE
        if present == TRUE or (isinstance(value.cls, Class) and lookup_class(m, value.cls, name) is not None):
            return TRUE
        if value.module and name in MODULE_METHODS:
            return TRUE
        if (isinstance(value.cls, Class) and not is_open(m, value.cls)) or _sets_itself(m, name):
            return present
        return m.guards.any((present, m.guards.atom(atom)))
    if isinstance(value, Tensor):
        if value.handle is not None and name in value.handle.attrs:
            return TRUE
        # An attribute that nobody set on a tensor made here is not there.
        return TRUE if is_tensor_method(name) or name in TENSOR_ATTRIBUTES else FALSE
    if isinstance(value, Symbol) and value.key in m.stand_ins:
        return has_attribute(m, m.stand_ins[value.key], name)
    if isinstance(value, Const | Seq | Map):
        return FALSE
    return m.guards.atom(atom)


def _sets_itself(m: Machine, name: str) -> bool:
    """Whether the running function sets the attribute *name*: a flag against running twice is not set yet."""
    function = m.frame.function if m.frame is not None else None
    return function is not None and re.search(rf"\.{re.escape(name)}\s*=(?!=)", function.text) is not None


def is_instance(m: Machine, value: Value, kind: Value) -> Guard:
    """When ``isinstance(value, kind)`` holds."""
    if isinstance(kind, Choice | Seq):
        items = kind.items if isinstance(kind, Seq) else list(kind.options)
        return m.guards.any(m.guards.all(g, is_instance(m, value, option)) for g, option in items)
    if isinstance(value, Choice):
        return m.guards.any(m.guards.all(g, is_instance(m, option, kind)) for g, option in value.options)
    name = kind.name.rpartition(".")[2] if isinstance(kind, External) else ""
    if isinstance(value, Tensor):
        if isinstance(kind, External) and kind.name.startswith("torch."):
            handle = value.handle
            wanted = {"Parameter": "parameter", "Buffer": "buffer"}.get(name)
            yes = name == "Tensor" or (handle is not None and handle.kind == wanted)
            return TRUE if yes else FALSE
        if isinstance(kind, Class) and value.handle is not None:
            return TRUE if kind in ancestry(m, value.handle.cls) else FALSE
        return FALSE if isinstance(kind, External) and kind.name.startswith("builtins.") else _unknown(m, value, kind)
    if isinstance(value, Obj) and value.cls is not None:
        line = ancestry(m, value.cls)
        if kind in line or (name == "Module" and value.module):
            return TRUE
        known = isinstance(kind, Class) or kind in (External("torch.nn.Module"), External("torch.Tensor"))
        if known or all(
            isinstance(c, Class) or (isinstance(c, External) and c.name.startswith(("torch.nn.", "builtins.")))
            for c in line
        ):
            return FALSE
        return _unknown(m, value, kind)
    builtin = {"str": str, "int": int, "float": float, "bool": bool, "list": Seq, "tuple": Seq, "dict": Map}.get(name)
    if isinstance(value, Const) and isinstance(kind, External):
        plain = isinstance(builtin, type) and builtin not in (Seq, Map) and isinstance(value.value, builtin)
        return TRUE if plain else FALSE
    if isinstance(value, Seq | Map) and builtin is not None:
        return TRUE if isinstance(value, builtin) else FALSE
    return _unknown(m, value, kind)


def _unknown(m: Machine, value: Value, kind: Value) -> Guard:
    return m.guards.atom(Key("isinstance", key_of(value), key_of(kind)))
