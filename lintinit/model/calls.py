"""Calls: who is called, how arguments meet parameters, and following a function of the tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lintinit.model import objects
from lintinit.model.attributes import get_attribute
from lintinit.model.builtin_calls import BUILTINS
from lintinit.model.classes import lookup_class, member_of
from lintinit.model.containers import container_method
from lintinit.model.entries import may_matter
from lintinit.model.guards import FALSE, TRUE
from lintinit.model.heap import Map, Obj, Registry, Seq, Tensor, options
from lintinit.model.iteration import rounds
from lintinit.model.machine import Arguments, Frame
from lintinit.model.methods import allocated, computed, is_tensor_method, tensor_method
from lintinit.model.modules import CONTRACTS, contract_method, module_method
from lintinit.model.opaque import opaque_call, opaque_method
from lintinit.model.scope import Scope
from lintinit.model.tensors import use
from lintinit.model.torch_calls import call_external
from lintinit.model.values import (
    NONE,
    Bound,
    Class,
    Const,
    External,
    Function,
    Key,
    Method,
    Package,
    Partial,
    Super,
    Symbol,
    Value,
    fresh,
    key_of,
    text_of,
)
from lintinit.semantics.torch_api import (
    ALLOCATORS,
    INDEX_INPUT_MODULES,
    resets_itself,
)

if TYPE_CHECKING:
    from lintinit.model.machine import Machine

_MAX_DEFINITIONS = 3
#: The key of the object under construction.
OWN = Key("param", "self")
_REGISTERING = ("register_buffer", "register_parameter", "register_module", "add_module")


def evaluate_call(m: Machine, node: Any) -> Value:
    """The value of a call expression."""
    func = node.func
    name = func.value if type(func).__name__ == "Name" else None
    if name == "super":
        return _super(m, node)
    if type(func).__name__ == "Attribute":
        receiver = m.evaluate(func.value)
        arguments = _arguments(m, node)
        return m.each(receiver, lambda option: call_method(m, option, func.attr.value, arguments, node))
    callee = m.evaluate(func)
    arguments = _arguments(m, node)
    return m.each(callee, lambda option: m.call(option, arguments, node))


def _super(m: Machine, node: Any) -> Value:
    frame = m.frame
    while frame is not None and (frame.function is None or frame.function.owner is None):
        frame = frame.parent
    if frame is None or frame.function is None or frame.function.owner is None:
        return Symbol(fresh("super"))
    receiver = frame.receiver
    if receiver is None:
        first = frame.function.node.params.params[:1]
        receiver = frame.scope.names.get(first[0].name.value) if first else None
    return Super(frame.function.owner, receiver) if receiver is not None else Symbol(fresh("super"))


def _arguments(m: Machine, node: Any) -> Arguments:
    result = Arguments()
    for arg in node.args:
        value = m.known(m.evaluate(arg.value))
        if arg.star == "*":
            found = rounds(m, value)
            result.positional += [item for guard, item in found.items]
            result.open = result.open or not found.exact
        elif arg.star == "**":
            table = value if isinstance(value, Map) else None
            for guard, key, item in table.entries if table else ():
                if isinstance(key, Const) and isinstance(key.value, str):
                    # An entry that is there on some paths only is None on the others.
                    old = result.keyword.get(key.value, NONE)
                    result.keyword[key.value] = (
                        item if guard == TRUE else m.choose([(guard, item), (m.guards.negate(guard), old)])
                    )
            result.open = result.open or table is None or not table.exact
        elif arg.keyword is not None:
            result.keyword[arg.keyword.value] = value
        else:
            result.positional.append(value)
    return result


def call(m: Machine, callee: Value, arguments: Arguments, node: Any) -> Value:
    """The result of calling any value."""
    match callee:
        case Function():
            return follow_call(m, callee, None, arguments, node)
        case Bound():
            return follow_call(m, callee.function, callee.receiver, arguments, node)
        case Class():
            return objects.instantiate(m, callee, arguments, node)
        case Partial():
            merged = Arguments(
                [*callee.args, *arguments.positional], {**dict(callee.kwargs), **arguments.keyword}, arguments.open
            )
            return m.each(callee.function, lambda option: m.call(option, merged, node))
        case Method():
            return call_method(m, callee.receiver, callee.name, arguments, node)
        case External() if callee.name.startswith("builtins."):
            handler = BUILTINS.get(callee.name.removeprefix("builtins."))
            if handler is not None:
                return handler(m, arguments, node)
            return opaque_call(m, callee, callee.name, arguments, node)
        case External():
            return call_external(m, callee, arguments, node)
        case Obj():
            return _call_object(m, callee, arguments, node)
    return opaque_call(m, callee, text_of(key_of(callee)), arguments, node)


def _call_object(m: Machine, obj: Obj, arguments: Arguments, node: Any) -> Value:
    if isinstance(obj.cls, External) and obj.cls.name in INDEX_INPUT_MODULES:
        for value in arguments.positional[:1]:
            use(m, value, "index", node)
    if isinstance(obj.cls, Class):
        for name in ("__call__", "forward"):
            found = lookup_class(m, obj.cls, name)
            if isinstance(found, Function):
                return m.call(Bound(found, obj), arguments, node)
    return opaque_call(m, obj, "forward", arguments, node)


def call_method(m: Machine, receiver: Value, name: str, arguments: Arguments, node: Any) -> Value:
    """``receiver.name(...)``."""
    if isinstance(receiver, Tensor):
        if receiver.handle is not None and name in receiver.handle.attrs:
            return m.call(m.known(receiver.handle.attrs[name]), arguments, node)
        found = lookup_class(m, receiver.handle.cls, name) if receiver.handle is not None else None
        if isinstance(found, Function):
            return m.call(objects.bind(m, found, receiver), arguments, node)
        return tensor_method(m, receiver, name, arguments, node)
    if isinstance(receiver, Obj):
        return _object_method(m, receiver, name, arguments, node)
    if isinstance(receiver, Seq | Map | Registry | Const):
        result = container_method(m, receiver, name, arguments, node)
        return result if result is not None else Symbol(fresh())
    if isinstance(receiver, Super):
        return _super_method(m, receiver, name, arguments, node)
    if isinstance(receiver, Symbol):
        return _symbol_method(m, receiver, name, arguments, node)
    if isinstance(receiver, External | Package | Class | Partial):
        return m.each(
            get_attribute(m, receiver, name, node),
            lambda option: _unless_same(m, option, receiver, name, arguments, node),
        )
    return opaque_method(m, receiver, name, arguments, node)


def _unless_same(m: Machine, callee: Value, receiver: Value, name: str, arguments: Arguments, node: Any) -> Value:
    if isinstance(callee, Method):
        return opaque_method(m, receiver, name, arguments, node)
    return m.call(callee, arguments, node)


def _object_method(m: Machine, obj: Obj, name: str, arguments: Arguments, node: Any) -> Value:
    contract = contract_method(m, obj, name)
    if contract is not None:
        return contract(m, obj, arguments, node)
    if obj.pending is not None and obj.module and not any(_reaches_state(m, value) for value in arguments.all()):
        return opaque_method(m, obj, name, arguments, node)
    found = objects.read(m, obj, name)
    unknown = (isinstance(found, Symbol) and found.key == Key("attr", obj.key, name)) or isinstance(found, Method)
    if not unknown:
        return m.each(found, lambda option: m.call(option, arguments, node))
    result = container_method(m, obj, name, arguments, node)
    if result is not None:
        return result
    handler = module_method(m, obj, name)
    if handler is not None or (name in _REGISTERING and attribute_like(arguments)):
        obj.module = True
        handler = handler or module_method(m, obj, name)
        assert handler is not None
        return handler(m, obj, arguments, node)
    return opaque_method(m, obj, name, arguments, node)


def _reaches_state(m: Machine, value: Value | None) -> bool:
    """Whether code that gets *value* could change module state through it."""
    for _, option in options(value) if value is not None else ():
        if isinstance(option, Obj) and (option.module or option.cls is None):
            return True
        if isinstance(option, Function | Bound | Registry) or m.undefined(option):
            return True
        if isinstance(option, Seq) and any(_reaches_state(m, item) for _, item in option.items[:8]):
            return True
        if isinstance(option, Map) and any(_reaches_state(m, item) for _, _, item in option.entries[:8]):
            return True
    return False


def attribute_like(arguments: Arguments) -> bool:
    """Whether the first argument can be the name of a state, as against a pointer or a size."""
    name = arguments.get(0, "name")
    if isinstance(name, Symbol):
        return name.key.kind in ("text", "param", "element", "item", "attr", "op")
    return isinstance(name, Const) and isinstance(name.value, str)


def _super_method(m: Machine, receiver: Super, name: str, arguments: Arguments, node: Any) -> Value:
    found = objects.read_super(m, receiver, name)
    target = receiver.receiver
    if isinstance(found, Bound) and found.function.owner is not None and isinstance(target, Obj):
        contract = CONTRACTS.get(found.function.owner.name, {}).get(name)
        if contract is not None:
            return contract(m, target, arguments, node)
    if not isinstance(found, Method):
        return m.call(found, arguments, node)
    if name == "__new__":
        owner = (
            target
            if isinstance(target, Class)
            else m.known(arguments.positional[0])
            if arguments.positional
            else receiver.after
        )
        return objects.wrap(m, owner, Arguments(arguments.positional[1:], arguments.keyword, arguments.open))
    if isinstance(target, Obj):
        if name == "__init__":
            return _outside_constructor(m, target, node)
        handler = module_method(m, target, name)
        if handler is not None:
            return handler(m, target, arguments, node)
        return opaque_method(m, target, name, arguments, node)
    if isinstance(target, Tensor) and name != "__init__":
        return tensor_method(m, target, name, arguments, node)
    return NONE


def _outside_constructor(m: Machine, obj: Obj, node: Any) -> Value:
    """``super().__init__()`` of a class out of sight; torch's own modules reset themselves at the end."""
    from lintinit.model.classes import ancestry

    for base in ancestry(m, obj.cls) if obj.cls is not None else ():
        method = resets_itself(base.name) if isinstance(base, External) and base.name.startswith("torch.nn.") else None
        if method is not None and isinstance(obj.cls, Class):
            found = lookup_class(m, obj.cls, method)
            if isinstance(found, Function):
                m.call(Bound(found, obj), Arguments(), node)
    return NONE


def _symbol_method(m: Machine, receiver: Symbol, name: str, arguments: Arguments, node: Any) -> Value:
    if receiver.key in m.stand_ins or (name in _REGISTERING and attribute_like(arguments)):
        return _object_method(m, objects.stand_in(m, receiver), name, arguments, node)
    if name in ALLOCATORS and name.startswith("new_"):
        return allocated(m, name, None, arguments, node)
    if is_tensor_method(name) and any(m.undefined(value) for value in arguments.all()):
        return computed(m, name, [receiver, *arguments.positional], arguments, node)
    found = _definitions(m, name)
    if found:
        left, results = TRUE, []
        for function in found:
            mine = m.guards.all(left, m.guards.atom(fresh("definition"))) if function is not found[-1] else left
            results.append((mine, function))
            left = m.guards.minus(left, mine)
        return m.each(m.choose(results), lambda function: m.call(Bound(function, receiver), arguments, node))
    if receiver.sources:
        return Symbol(
            Key("call", Key("attr", receiver.key, name), *(key_of(a) for a in arguments.all())), receiver.sources
        )
    return opaque_method(m, receiver, name, arguments, node)


def _definitions(m: Machine, name: str) -> list[Function]:
    """The methods *name* of the file that make tensors: what a call on something unknown can mean here."""
    assert m.frame is not None
    source = m.frame.scope.source
    if name not in source.allocating_methods:
        return []
    found = [
        member_of(m, value, name)
        for block in source.allocating_methods[name]
        if isinstance(value := m.lookup(m.module(source), block.head[1] if block.head else ""), Class)
    ]
    return [function for function in found if isinstance(function, Function)][:_MAX_DEFINITIONS]


# Functions of the tree.


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
        _reaches_state(m, receiver)
        or any(_reaches_state(m, value) for value in arguments.all())
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
    return receiver.key == OWN or frame.receiver is receiver or not receiver.module and function.name == "__init__"


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
    if type(params.star_arg).__name__ == "Param":
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
