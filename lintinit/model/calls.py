"""Calls: who is called, how arguments meet parameters, and following a function of the tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lintinit.model import objects
from lintinit.model.attributes import get_attribute
from lintinit.model.builtin_calls import BUILTINS
from lintinit.model.classes import ancestry, lookup_class, member_of
from lintinit.model.containers import container_method
from lintinit.model.functions import follow_call, reaches_state
from lintinit.model.guards import TRUE
from lintinit.model.heap import Map, Obj, Registry, Seq, Tensor
from lintinit.model.iteration import rounds
from lintinit.model.machine import Arguments
from lintinit.model.methods import allocated, computed, tensor_method
from lintinit.model.modules import CONTRACTS, contract_method, module_method
from lintinit.model.opaque import opaque_call, opaque_method
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
    is_tensor_method,
    resets_itself,
)

if TYPE_CHECKING:
    from lintinit.model.machine import Machine

_MAX_DEFINITIONS = 3
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
        result = container_method(m, receiver, name, arguments)
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
    if obj.pending is not None and obj.module and not any(reaches_state(m, value) for value in arguments.all()):
        return opaque_method(m, obj, name, arguments, node)
    found = objects.read(m, obj, name)
    unknown = (isinstance(found, Symbol) and found.key == Key("attr", obj.key, name)) or isinstance(found, Method)
    if not unknown:
        return m.each(found, lambda option: m.call(option, arguments, node))
    result = container_method(m, obj, name, arguments)
    if result is not None:
        return result
    handler = module_method(m, obj, name)
    if handler is not None or (name in _REGISTERING and attribute_like(arguments)):
        obj.module = True
        handler = handler or module_method(m, obj, name)
        assert handler is not None
        return handler(m, obj, arguments, node)
    return opaque_method(m, obj, name, arguments, node)


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
        return m.each(m.choose(results), lambda option: m.call(_method_of(option, receiver), arguments, node))
    if receiver.sources:
        return Symbol(
            Key("call", Key("attr", receiver.key, name), *(key_of(a) for a in arguments.all())), receiver.sources
        )
    return opaque_method(m, receiver, name, arguments, node)


def _method_of(value: Value, receiver: Value) -> Value:
    return Bound(value, receiver) if isinstance(value, Function) else value


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
