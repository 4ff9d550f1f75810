"""Calls of code that is out of sight.

What such a call does to a tensor is a guess from how it is written, and the guess errs towards silence: a
call made for its effect may well fill what it is given, unless its name says that it only describes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lintinit.model.classes import ancestry
from lintinit.model.guards import FALSE, Guard
from lintinit.model.heap import Map, Obj, Seq, Tensor, options
from lintinit.model.state import state_of
from lintinit.model.tensors import overwrite
from lintinit.model.values import Const, External, Key, Symbol, Value, key_of
from lintinit.semantics.torch_api import resets_itself
from lintinit.semantics.vocabulary import describes_by_name, writes_by_name

if TYPE_CHECKING:
    from lintinit.model.machine import Arguments, Machine


def opaque_call(m: Machine, callee: Value, name: str, arguments: Arguments, node: Any) -> Value:
    """The result of calling *callee*, known only as *name*."""
    # ``kernel[grid](table)`` launches ``kernel``.
    short = name.partition("[")[0].rpartition(".")[2]
    inputs = [found for value in arguments.all() for found in _tensors(m, value, m.path)]
    if describes_by_name(short):
        _annotate(m, arguments)
    effect = writes_by_name(short) or (m.discarded is node and not describes_by_name(short))
    before = m.path
    for m.path, tensor in inputs:
        undefined = m.undefined(tensor)
        if undefined:
            m.record("lend" if tensor.region and not tensor.row else "opaque", undefined, short, node)
        if effect:
            overwrite(m, tensor)
    m.path = before
    if writes_by_name(short):
        for value in arguments.all():
            for _, option in options(value):
                if isinstance(option, Obj):
                    fill_state(m, option)
    # Code of somebody else may want no more of a tensor than its shape.
    computes = isinstance(callee, External) and callee.name.startswith("torch.") and not effect
    sources = frozenset().union(*(m.undefined(value) for value in arguments.all())) if computes else frozenset()
    return Symbol(Key("call", key_of(callee), *(key_of(value) for value in arguments.all())), sources)


def _annotate(m: Machine, arguments: Arguments) -> None:
    """``set_weight_attrs(param, {"weight_loader": ...})``: attributes for the tensors among the arguments."""
    values = [m.known(value) for value in arguments.all()]
    for tensor in values:
        if isinstance(tensor, Tensor) and tensor.handle is not None:
            for table in values:
                for guard, key, value in table.entries if isinstance(table, Map) else ():
                    if isinstance(key, Const) and isinstance(key.value, str):
                        tensor.handle.attrs[key.value] = m.choose([(guard, value)])
                if isinstance(table, Map) and not table.exact:
                    tensor.handle.annotated = True


def opaque_method(m: Machine, receiver: Value, name: str, arguments: Arguments, node: Any) -> Value:
    """The result of a method that is out of sight."""
    if isinstance(receiver, Obj) and writes_by_name(name) and not _is_torchs(m, receiver, name):
        fill_state(m, receiver)
    return opaque_call(m, Symbol(Key("attr", key_of(receiver), name)), name, arguments, node)


def _is_torchs(m: Machine, obj: Obj, name: str) -> bool:
    """Whether the method is one of torch's own modules: it fills what torch registered and nothing else."""
    return any(
        isinstance(base, External) and base.name.startswith("torch.nn.") and resets_itself(base.name) == name
        for base in (ancestry(m, obj.cls) if obj.cls is not None else ())
    )


def fill_state(m: Machine, obj: Obj) -> None:
    """Something presumably gave all present state of *obj* its values."""
    for _, guard, tensor in state_of(m, obj):
        before = m.path
        m.path = m.guards.all(before, guard)
        overwrite(m, tensor)
        m.path = before


def _tensors(m: Machine, value: Value, path: Guard) -> list[tuple[Guard, Tensor]]:
    """The tensors in *value* with the paths on which they are there."""
    found: list[tuple[Guard, Tensor]] = []
    for guard, option in options(value):
        here = m.guards.all(path, guard)
        if here == FALSE:
            continue
        if isinstance(option, Tensor):
            found.append((here, option))
        elif isinstance(option, Seq):
            found += [pair for g, item in option.items for pair in _tensors(m, item, m.guards.all(here, g))]
        elif isinstance(option, Map):
            found += [pair for g, _, item in option.entries for pair in _tensors(m, item, m.guards.all(here, g))]
    return found
