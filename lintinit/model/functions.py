"""Functions of the checked tree: which calls of them are worth following, and what happens in one that is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lintinit._lazy import cst
from lintinit.model.entries import may_matter
from lintinit.model.guards import FALSE, TRUE
from lintinit.model.heap import Map, Obj, Registry, Seq, options
from lintinit.model.machine import Arguments, Frame
from lintinit.model.opaque import opaque_call, opaque_method
from lintinit.model.scope import Scope
from lintinit.model.values import NONE, Bound, Const, Function, Key, Symbol, Value, fresh, key_of

if TYPE_CHECKING:
    from lintinit.model.machine import Machine

#: The key of the object under construction.
OWN = Key("param", "self")


def follow_call(m: Machine, function: Function, receiver: Value | None, arguments: Arguments, node: Any) -> Value:
    """Execute the body of *function* with *arguments*, unless it is running already or too deep."""
    active = m.frame
    repeats = 0
    while active is not None:
        repeats += active.function is not None and active.function.node is function.node
        active = active.parent
    if m.deep() or repeats > (1 if receiver is not None else 2):
        return opaque_call(m, Symbol(Key("name", function.name)), function.name, arguments, node)
    if isinstance(receiver, Obj) and not _at_home(m, function, receiver):
        return opaque_method(m, receiver, function.name, arguments, node)
    if not (
        reaches_state(m, receiver)
        or any(reaches_state(m, value) for value in arguments.all())
        or may_matter(function.text)
    ):
        receivers = [receiver] if receiver is not None else []
        return Symbol(Key("call", Key("name", function.name), *map(key_of, (*receivers, *arguments.all()))))
    scope = Scope(function.scope.source, function.scope)
    bind_parameters(m, function, receiver, arguments, scope)
    return run_function(m, function, receiver, scope)


def _at_home(m: Machine, function: Function, receiver: Obj) -> bool:
    """Whether a method is worth following: of the object under construction, or of one defined in the same file.

    What the methods of other files' classes register is looked at where those classes are.
    """
    frame = m.frame
    while frame is not None and frame.parent is not None:
        frame = frame.parent
    if m.speculating or frame is None or function.scope.source is frame.scope.source:
        return True
    return receiver.key == OWN or frame.receiver is receiver or (not receiver.module and function.name == "__init__")


def run_function(m: Machine, function: Function, receiver: Value | None, scope: Scope) -> Value:
    """Execute the body of *function* in *scope*, on the current path."""
    saved = m.block, m.frame, m.discarded
    m.block, m.discarded = function.block, None
    m.entered.add(function.node)
    caller = m.frame
    m.frame = frame = Frame(scope, caller, function, receiver)
    frame.own = caller is None or caller.function is None or (caller.own and receiver is caller.receiver)
    frame.statement = caller.statement if caller is not None else None
    m.depth += 1
    try:
        if type(function.node).__name__ == "Lambda":
            return m.evaluate(function.node.body)
        before = m.path
        m.execute(function.node.body)
        if m.path != FALSE:
            frame.returns.append((m.path, NONE))
        m.path = m.guards.any(guard for guard, _ in frame.returns)
        if not frame.own and not (m.path == FALSE and "NotImplementedError" in function.text):
            # What code outside the object under construction raises on is too rough a guess to build on.
            m.path = before
        if frame.yields is not None:
            return frame.yields
        return m.choose(frame.returns) if len(frame.returns) != 1 else frame.returns[0][1]
    finally:
        m.depth -= 1
        m.block, m.frame, m.discarded = saved


def bind_parameters(m: Machine, function: Function, receiver: Value | None, arguments: Arguments, scope: Scope) -> None:
    """Give the parameters of *function* their values in *scope*."""
    params = function.node.params
    positional = list(arguments.positional)
    if receiver is not None:
        positional.insert(0, receiver)
    keyword = dict(arguments.keyword)
    for param in (*params.posonly_params, *params.params):
        name = param.name.value
        if positional:
            scope.names[name] = positional.pop(0)
        elif name in keyword:
            scope.names[name] = keyword.pop(name)
        else:
            scope.names[name] = _default(m, function, param, arguments.open)
    if isinstance(params.star_arg, cst.Param):
        scope.names[params.star_arg.name.value] = Seq([(TRUE, value) for value in positional], not arguments.open)
    for param in params.kwonly_params:
        name = param.name.value
        scope.names[name] = keyword.pop(name) if name in keyword else _default(m, function, param, arguments.open)
    if params.star_kwarg is not None:
        entries: list[tuple[int, Value, Value]] = [(TRUE, Const(name), value) for name, value in keyword.items()]
        scope.names[params.star_kwarg.name.value] = Map(entries, not arguments.open)


def _default(m: Machine, function: Function, param: Any, unknown: bool) -> Value:
    if param.default is None or unknown:
        return Symbol(fresh("param"))
    return default_of(m, function, param)


def default_of(m: Machine, function: Function, param: Any) -> Value:
    """The value of a parameter's default, evaluated where the function was defined."""
    scope = Scope(function.scope.source, function.scope) if function.scope.body_of is None else function.scope
    with m.elsewhere(scope, function.block):
        return m.evaluate(param.default)


def reaches_state(m: Machine, value: Value | None) -> bool:
    """Whether code that gets *value* could change module state through it."""
    for _, option in options(value) if value is not None else ():
        if isinstance(option, Obj) and (option.module or option.cls is None):
            return True
        if isinstance(option, Function | Bound | Registry) or m.undefined(option):
            return True
        if isinstance(option, Seq) and any(reaches_state(m, item) for _, item in option.items[:8]):
            return True
        if isinstance(option, Map) and any(reaches_state(m, item) for _, _, item in option.entries[:8]):
            return True
    return False
