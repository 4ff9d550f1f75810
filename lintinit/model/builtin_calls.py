"""Python's own functions, as far as they matter to module state."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lintinit.model import arithmetic, objects
from lintinit.model.attributes import delete_attribute, get_attribute, set_attribute
from lintinit.model.classes import methods_of
from lintinit.model.comparisons import has_attribute, is_instance
from lintinit.model.containers import new_map
from lintinit.model.guards import FALSE, TRUE
from lintinit.model.heap import Map, Obj, Registry, Seq, Slice, Tensor
from lintinit.model.iteration import counted, numbered, one_of, paired, rounds
from lintinit.model.machine import Arguments
from lintinit.model.state import attribute_name
from lintinit.model.tensors import use
from lintinit.model.values import (
    NONE,
    Choice,
    Class,
    Const,
    External,
    Function,
    Key,
    Symbol,
    Value,
    fresh,
    key_of,
)

if TYPE_CHECKING:
    from lintinit.model.machine import Machine

Handler = Callable[["Machine", Arguments, Any], Value]


def _getattr(m: Machine, arguments: Arguments, node: Any) -> Value:
    owner, name, *default = arguments.positional
    name = m.known(name)
    if isinstance(name, Choice):
        return m.each(name, lambda option: _getattr(m, Arguments([owner, option, *default]), node))
    attribute = attribute_name(name)
    if attribute is None:
        return Symbol(fresh())
    if isinstance(name, Symbol) and name.key.kind == "text":
        known = m.known(owner)
        matching = _methods_like(m, known, name.key) if isinstance(known, Obj) and attribute not in known.attrs else []
        if matching:
            return one_of(m, [objects.bind(m, function, known) for function in matching])
    if not default:
        return m.each(owner, lambda option: get_attribute(m, option, attribute, node))

    def read(option: Value) -> Value:
        present = has_attribute(m, option, attribute)
        if present == FALSE:
            return default[0]
        found = get_attribute(m, option, attribute, node)
        if present == TRUE or isinstance(found, Symbol):
            return found
        return m.choose([(present, found), (m.guards.negate(present), default[0])])

    return m.each(owner, read)


def _methods_like(m: Machine, obj: Obj, name: Key) -> list[Function]:
    """The methods of *obj* that a name with unknown parts, ``f"_init_{kind}"``, can mean."""
    if not isinstance(obj.cls, Class):
        return []
    pattern = "".join(re.escape(part.parts[1]) if part.kind == "const" else ".*" for part in name.parts)
    if not pattern.replace(".*", ""):
        return []
    return [function for found, function in methods_of(m, obj.cls).items() if re.fullmatch(pattern, found)][:8]


def _setattr(m: Machine, arguments: Arguments, node: Any) -> Value:
    if len(arguments.positional) != 3:
        return NONE
    owner, name, value = arguments.positional
    attribute = attribute_name(m.known(name))
    if attribute is not None:
        target = node.args[0]
        m.each(owner, lambda option: set_attribute(m, option, attribute, value, target))
    return NONE


def _delattr(m: Machine, arguments: Arguments, node: Any) -> Value:
    owner, name = arguments.positional[:2]
    attribute = attribute_name(m.known(name))
    if attribute is not None:
        m.each(owner, lambda option: delete_attribute(m, option, attribute))
    return NONE


def _hasattr(m: Machine, arguments: Arguments, node: Any) -> Value:
    owner, name = arguments.positional[:2]
    attribute = attribute_name(m.known(name))
    if attribute is None:
        return Symbol(fresh())
    return m.boolean(has_attribute(m, m.known(owner), attribute))


def _isinstance(m: Machine, arguments: Arguments, node: Any) -> Value:
    return m.boolean(is_instance(m, m.known(arguments.positional[0]), m.known(arguments.positional[1])))


def _len(m: Machine, arguments: Arguments, node: Any) -> Value:
    value = m.known(arguments.positional[0])
    length = length_of(m, value)
    return length if length is not None else Symbol(Key("call", Key("external", "len"), key_of(value)))


def length_of(m: Machine, value: Value) -> Value | None:
    """``len(value)`` where it is known or has a name."""
    if isinstance(value, Tensor) and value.shape:
        return value.shape[0]
    if isinstance(value, Seq) and value.exact and all(guard == TRUE for guard, _ in value.items):
        return Const(len(value.items))
    if isinstance(value, Const) and isinstance(value.value, str | bytes):
        return Const(len(value.value))
    if isinstance(value, Symbol):
        m.sized(value, "items")
        return Symbol(Key("call", Key("external", "len"), value.key))
    return None


def _range(m: Machine, arguments: Arguments, node: Any) -> Value:
    bounds = [m.known(value) for value in arguments.positional]
    for value in bounds:
        if m.undefined(value):
            m.record("read", m.undefined(value), "shape", node)
    if len(bounds) == 1:
        return counted(m, Const(0), bounds[0], Const(1))
    return counted(m, bounds[0], bounds[1], bounds[2] if len(bounds) > 2 else Const(1)) if bounds else Seq([], False)


def _enumerate(m: Machine, arguments: Arguments, node: Any) -> Value:
    value = m.known(arguments.positional[0])
    start = arguments.get(1, "start") or Const(0)
    return numbered(m, rounds(m, value), start, length_of(m, value))


def _zip(m: Machine, arguments: Arguments, node: Any) -> Value:
    return paired(m, [rounds(m, value) for value in arguments.positional])


def _sequence(m: Machine, arguments: Arguments, node: Any) -> Value:
    if not arguments.positional:
        return Seq([])
    value = m.known(arguments.positional[0])
    found = rounds(m, value)
    return Seq(list(found.items), found.exact, found.rest) if not isinstance(value, Symbol) else found


def _map(m: Machine, arguments: Arguments, node: Any) -> Value:
    if len(arguments.positional) < 2:
        return Seq([], False)
    function, *columns = arguments.positional
    items = paired(m, [rounds(m, column) for column in columns])
    result = Seq([], items.exact)
    for guard, item in items.items:
        result.items.append((guard, m.call(function, Arguments([v for _, v in rounds(m, item).items]), node)))
    if not items.exact:
        result.rest = m.call(function, Arguments([v for _, v in rounds(m, items.rest).items]), node)
    return result


def _filter(m: Machine, arguments: Arguments, node: Any) -> Value:
    if len(arguments.positional) != 2:
        return Seq([], False)
    function, items = arguments.positional[0], rounds(m, arguments.positional[1])
    kept = Seq([], items.exact, items.rest)
    for guard, item in items.items:
        test = item if function == NONE else m.call(m.known(function), Arguments([item]), node)
        kept.items.append((m.guards.all(guard, m.truth(test)), item))
    return kept


def _number(m: Machine, arguments: Arguments, node: Any) -> Value:
    value = m.known(arguments.positional[0]) if arguments.positional else Const(0)
    if isinstance(value, Tensor):
        use(m, value, "host", node)
        return Symbol(Key("call", Key("external", "int"), key_of(value)), m.undefined(value))
    if isinstance(value, Const):
        try:
            return Const(int(value.value), value.swept)
        except (TypeError, ValueError):
            return Symbol(fresh())
    return value


def _text(m: Machine, arguments: Arguments, node: Any) -> Value:
    return arithmetic.text([Const(""), *map(m.known, arguments.positional[:1])])


def _bool(m: Machine, arguments: Arguments, node: Any) -> Value:
    return m.boolean(m.truth(arguments.positional[0])) if arguments.positional else Const(False)


def _dict(m: Machine, arguments: Arguments, node: Any) -> Value:
    return new_map(m, arguments)


def _sum(m: Machine, arguments: Arguments, node: Any) -> Value:
    value = m.known(arguments.positional[0])
    if isinstance(value, Seq) and value.exact and all(guard == TRUE for guard, _ in value.items):
        total: Value = arguments.get(1, "start") or Const(0)
        for _, item in value.items:
            if isinstance(item, Tensor):
                return Symbol(fresh())
            total = arithmetic.binary("+", total, item)
        return total
    return Symbol(Key("call", Key("external", "sum"), key_of(value)))


def _extreme(name: str) -> Handler:
    def handler(m: Machine, arguments: Arguments, node: Any) -> Value:
        known = [m.known(value) for value in arguments.positional]
        numbers = [value.value for value in known if isinstance(value, Const) and isinstance(value.value, int | float)]
        if len(known) > 1 and len(numbers) == len(known):
            return Const(max(numbers) if name == "max" else min(numbers))
        sources = frozenset().union(*(m.undefined(value) for value in known))
        return Symbol(Key("call", Key("external", name), *map(key_of, known)), sources)

    return handler


def _type(m: Machine, arguments: Arguments, node: Any) -> Value:
    value = m.known(arguments.positional[0]) if arguments.positional else NONE
    if isinstance(value, Obj) and value.cls is not None:
        return value.cls
    if isinstance(value, Tensor):
        return value.handle.cls if value.handle is not None else External("torch.Tensor")
    return Symbol(Key("call", Key("external", "type"), key_of(value)))


def _vars(m: Machine, arguments: Arguments, node: Any) -> Value:
    value = m.known(arguments.positional[0]) if arguments.positional else NONE
    return Registry(value, "__dict__") if isinstance(value, Obj) else Map([], False)


def _next(m: Machine, arguments: Arguments, node: Any) -> Value:
    found = rounds(m, m.known(arguments.positional[0])) if arguments.positional else Seq([], False)
    left, choices = TRUE, []
    for guard, item in found.items:
        choices.append((m.guards.all(left, guard), item))
        left = m.guards.minus(left, guard)
    last = found.rest if not found.exact else arguments.get(1, "default") or Symbol(fresh())
    return m.choose([*choices, (left, last)])


def _all(m: Machine, arguments: Arguments, node: Any) -> Value:
    value = m.known(arguments.positional[0]) if arguments.positional else NONE
    if isinstance(value, Seq) and value.exact:
        tests = [m.guards.any((m.guards.negate(g), m.truth(item))) for g, item in value.items]
        return m.boolean(m.guards.all(*tests))
    return Symbol(Key("call", Key("external", "all"), key_of(value)))


def _any(m: Machine, arguments: Arguments, node: Any) -> Value:
    value = m.known(arguments.positional[0]) if arguments.positional else NONE
    if isinstance(value, Seq) and value.exact:
        return m.boolean(m.guards.any(m.guards.all(g, m.truth(item)) for g, item in value.items))
    return Symbol(Key("call", Key("external", "any"), key_of(value)))


def _callable(m: Machine, arguments: Arguments, node: Any) -> Value:
    value = m.known(arguments.positional[0]) if arguments.positional else NONE
    if isinstance(value, Const | Seq | Map):
        return Const(False)
    return Symbol(Key("call", Key("external", "callable"), key_of(value)))


def _static(m: Machine, arguments: Arguments, node: Any) -> Value:
    value = m.known(arguments.positional[0]) if arguments.positional else NONE
    if isinstance(value, Function):
        return Function(
            value.name, value.scope, value.block, value.node, value.owner, (*value.decorators, "staticmethod")
        )
    return value


def _slice(m: Machine, arguments: Arguments, node: Any) -> Value:
    bounds = [None if value == NONE else m.known(value) for value in arguments.positional]
    if len(bounds) == 1:
        return Slice(None, bounds[0], None)
    return Slice(*[*bounds, None, None][:3])


def _memory(m: Machine, arguments: Arguments, node: Any) -> Value:
    return arguments.positional[0] if arguments.positional else Symbol(fresh())


BUILTINS: dict[str, Handler] = {
    "getattr": _getattr,
    "setattr": _setattr,
    "delattr": _delattr,
    "hasattr": _hasattr,
    "isinstance": _isinstance,
    "len": _len,
    "range": _range,
    "enumerate": _enumerate,
    "zip": _zip,
    "map": _map,
    "filter": _filter,
    **dict.fromkeys(("list", "tuple", "set", "frozenset", "sorted", "reversed", "iter"), _sequence),
    "memoryview": _memory,
    "int": _number,
    "float": _number,
    "round": _number,
    "abs": _number,
    "str": _text,
    "bool": _bool,
    "dict": _dict,
    "sum": _sum,
    "max": _extreme("max"),
    "min": _extreme("min"),
    "type": _type,
    "vars": _vars,
    "next": _next,
    "all": _all,
    "any": _any,
    "callable": _callable,
    "slice": _slice,
    "staticmethod": _static,
}
