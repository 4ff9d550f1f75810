"""Lists, dicts, strings and the module containers: items and methods."""

from __future__ import annotations

import string
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lintinit.model import arithmetic, objects
from lintinit.model.classes import lookup_class
from lintinit.model.comparisons import condition
from lintinit.model.guards import FALSE, TRUE, Guard
from lintinit.model.heap import Assignment, Map, Obj, Registry, Seq, Slice, Tensor, options
from lintinit.model.iteration import rounds
from lintinit.model.machine import Arguments
from lintinit.model.regions import SOME
from lintinit.model.state import registry_delete, registry_items, registry_set
from lintinit.model.tensors import combine
from lintinit.model.values import (
    NONE,
    Bound,
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

_MAX_ENTRIES = 64
#: Of more tensors than this, an unknown one is a value computed from all of them.
_MAX_PICKED = 4


# Sequences.


def sequence_item(m: Machine, seq: Seq, index: Any) -> Value:
    """``seq[index]`` for an integer, a slice, or something unknown."""
    if isinstance(index, Const) and isinstance(index.value, int):
        certain = seq.exact and all(guard == TRUE for guard, _ in seq.items)
        if certain and -len(seq.items) <= index.value < len(seq.items):
            return seq.items[index.value][1]
        if (
            index.value >= 0
            and all(g == TRUE for g, _ in seq.items[: index.value + 1])
            and index.value < len(seq.items)
        ):
            return seq.items[index.value][1]
    if isinstance(index, Slice) and seq.exact:
        bounds = [bound.value if isinstance(bound, Const) else None for bound in (index.start, index.stop, index.step)]
        known = all(bound is None or isinstance(bound, Const) for bound in (index.start, index.stop, index.step))
        if known:
            return Seq(seq.items[slice(*bounds)])
    if isinstance(index, Slice):
        return Seq(list(seq.items), False, seq.rest) if index.start in (None, NONE, Const(0)) else _some_of(seq)
    rest = None if seq.exact else seq.rest
    if isinstance(rest, Tensor) and isinstance(index, Const):
        # One part of several; which one is not followed.
        rest = replace(rest, region=(SOME,), row=False)
    return any_item(m, [(guard, item) for guard, item in seq.items], rest)


def _some_of(seq: Seq) -> Seq:
    """Elements of a list that leave out others, nobody knows which: a store to them all reaches a part only."""

    def part(value: Value) -> Value:
        return replace(value, region=(SOME,), row=False) if isinstance(value, Tensor) else value

    return Seq([(guard, part(item)) for guard, item in seq.items], False, part(seq.rest))


def any_item(m: Machine, items: list[tuple[Guard, Value]], rest: Value | None) -> Value:
    """One of *items*, unknown which."""
    if rest is not None:
        items = [*items, (TRUE, rest)]
    if not items or len(items) > _MAX_ENTRIES:
        return Symbol(fresh())
    if len(items) > _MAX_PICKED and all(isinstance(item, Tensor) for _, item in items):
        return combine(m, "item", [item for _, item in items], m.statement().node)
    return m.either(items)


# Dicts.


def new_map(m: Machine, arguments: Arguments) -> Map:
    """``dict(...)``."""
    result = Map()
    for value in arguments.positional[:1]:
        value = m.known(value)
        if isinstance(value, Map):
            result = Map(list(value.entries), value.exact)
        else:
            pairs = rounds(m, value)
            result.exact = pairs.exact
            for guard, pair in pairs.items:
                if isinstance(pair, Seq) and len(pair.items) == 2:
                    result.entries.append((guard, pair.items[0][1], pair.items[1][1]))
    result.entries += [(TRUE, Const(name), value) for name, value in arguments.keyword.items()]
    result.exact = result.exact and not arguments.open
    return result


def lookup(m: Machine, table: Map, key: Value, default: Value | None) -> Value:
    """``table[key]``; with *default*, ``table.get(key, default)``."""
    left: Guard = m.path
    choices: list[tuple[Guard, Value]] = []
    for guard, entry, value in reversed(table.entries[-_MAX_ENTRIES:]):
        same = TRUE if key_of(entry) == key_of(key) else condition(m, "Equal", key, entry, None)
        here = m.guards.all(left, guard, same)
        if here != FALSE:
            choices.append((here, value))
            left = m.guards.minus(left, here)
        if left == FALSE:
            break
    if left != FALSE:
        if default is not None:
            choices.append((left, default))
        elif table.exact and not isinstance(key, Const) and table.entries:
            # Any other key is an error.
            at, last = choices.pop() if choices else (FALSE, table.entries[0][2])
            choices.append((m.guards.any((at, left)), last))
        elif not table.exact or not choices:
            choices.append((left, Symbol(Key("item", table.key, key_of(key)))))
    return m.known(m.choose(choices))


# Module containers and registries.


def fill_container(m: Machine, obj: Obj, arguments: Arguments) -> None:
    """The constructor arguments of ``ModuleList``, ``ParameterDict``, ``Sequential``, ..."""
    assert obj.items is not None
    for at, value in enumerate(map(m.known, arguments.positional)):
        if obj.keyed or isinstance(value, Map):
            found = value if isinstance(value, Map) else new_map(m, Arguments([value]))
            for guard, key, item in found.entries:
                add_item(m, obj, key, item, guard)
            obj.items.exact = obj.items.exact and found.exact
        elif isinstance(value, Obj) and value.items is None:
            add_item(m, obj, Const(at), value)
        else:
            items = rounds(m, value)
            for index, (guard, item) in enumerate(items.items):
                add_item(m, obj, Const(index), item, guard)
            obj.items.exact = obj.items.exact and items.exact


def add_item(m: Machine, obj: Obj, key: Value, value: Value, guard: Guard = TRUE) -> None:
    """Put *value* under *key*; a tensor in a container becomes its parameter."""
    assert obj.items is not None
    obj.items.exact = obj.items.exact and not isinstance(key, Symbol)
    here = m.guards.all(m.path, guard)
    name = "ParameterList" if not obj.keyed else "ParameterDict"
    for inner, option in options(value):
        state = option
        if isinstance(option, Tensor) and option.handle is None:
            wrapped = objects.wrap(m, External("torch.nn.Parameter"), Arguments([option]))
            state = wrapped
        both = m.guards.all(here, inner)
        if both == FALSE:
            continue
        obj.items.entries.append((both, key, state))
        if isinstance(state, Tensor):
            site, callers, within = objects.registration_site(m, state.storage, "")
            obj.history.setdefault(name, []).append(
                Assignment(both, state, site, callers, True, within, m.steps, len(m.events))
            )


def object_item(m: Machine, value: Obj | Registry, key: Value, node: Any) -> Value:
    """``module_list[i]``, ``parameter_dict[name]``, ``module._buffers[name]``, or the class's ``__getitem__``."""
    if isinstance(value, Registry):
        return lookup(m, registry_items(m, value), key, None)
    objects.force(m, value)
    if value.items is not None:
        exact = Map(value.items.entries, value.items.exact)
        if isinstance(key, Slice):
            certain = exact.exact and all(guard == TRUE for guard, _, _ in exact.entries)
            return sequence_item(m, Seq([(g, item) for g, _, item in exact.entries], certain), key)
        if isinstance(key, Const) or value.keyed:
            return lookup(m, exact, key, None)
        return any_item(m, [(g, item) for g, _, item in exact.entries], None)
    getter = lookup_class(m, value.cls, "__getitem__") if isinstance(value.cls, Class) else None
    if isinstance(getter, Function):
        return m.call(Bound(getter, value), Arguments([key]), node)
    return Symbol(Key("item", value.key, key_of(key)))


def set_object_item(m: Machine, value: Obj | Registry, key: Value, new: Value) -> None:
    """``parameter_dict[name] = new`` and the like."""
    if isinstance(value, Registry):
        registry_set(m, value, key, new)
    elif value.items is not None:
        kept = []
        for guard, entry, item in value.items.entries:
            guard = m.guards.minus(guard, m.path) if key_of(entry) == key_of(key) else guard
            if guard != FALSE:
                kept.append((guard, entry, item))
        value.items.entries = kept
        add_item(m, value, key, new)


# Methods.


def container_method(m: Machine, value: Value, name: str, arguments: Arguments) -> Value | None:
    """The result of a method of a list, dict, string or container; None where it is none of theirs."""
    if isinstance(value, Seq):
        return _list_method(m, value, name, arguments)
    if isinstance(value, Map):
        return _dict_method(m, value, name, arguments)
    if isinstance(value, Registry):
        return _registry_method(m, value, name, arguments)
    if isinstance(value, Obj) and value.items is not None:
        return _module_container_method(m, value, name, arguments)
    if isinstance(value, Const) and isinstance(value.value, str):
        return _text_method(m, value, name, arguments)
    return None


def _list_method(m: Machine, value: Seq, name: str, arguments: Arguments) -> Value | None:
    if name in ("append", "add", "appendleft"):
        value.items += [(m.path, item) for item in arguments.positional[:1]]
    elif name in ("extend", "update"):
        for item in arguments.positional[:1]:
            found = rounds(m, item)
            value.items += [(m.guards.all(m.path, guard), element) for guard, element in found.items]
            if not found.exact:
                value.exact, value.rest = False, found.rest
    elif name == "insert" and len(arguments.positional) == 2:
        value.items.append((m.path, arguments.positional[1]))
    elif name in ("copy", "sort", "reverse"):
        return Seq(list(value.items), value.exact, value.rest)
    elif name == "pop":
        return value.items.pop()[1] if value.exact and value.items and not arguments.positional else Symbol(fresh())
    elif name == "clear":
        value.items.clear()
    elif name in ("index", "count"):
        return Symbol(fresh())
    elif name == "numel":
        total: Value = Const(1)
        for _, item in value.items:
            total = arithmetic.binary("*", total, item)
        return total if value.exact else Symbol(fresh())
    else:
        return None
    return NONE


def _dict_method(m: Machine, value: Map, name: str, arguments: Arguments) -> Value | None:
    entries = value.entries
    if name == "items":
        pairs: list[tuple[Guard, Value]] = [(g, Seq([(TRUE, key), (TRUE, item)])) for g, key, item in entries]
        return Seq(pairs, value.exact, Seq([(TRUE, Symbol(fresh("key"))), (TRUE, Symbol(fresh("value")))]))
    if name == "keys":
        return Seq([(g, key) for g, key, _ in entries], value.exact)
    if name == "values":
        return Seq([(g, item) for g, _, item in entries], value.exact)
    if name == "get" and arguments.positional:
        return lookup(m, value, arguments.positional[0], arguments.get(1, "default") or NONE)
    if name == "pop" and arguments.positional:
        key = arguments.positional[0]
        found = lookup(m, value, key, arguments.get(1) or NONE)
        value.entries = [
            (guard, entry, item)
            for old, entry, item in entries
            if (guard := m.guards.minus(old, m.path) if key_of(entry) == key_of(key) else old) != FALSE
        ]
        return found
    if name == "update":
        other = new_map(m, arguments)
        value.entries += [(m.guards.all(m.path, g), key, item) for g, key, item in other.entries]
        value.exact = value.exact and other.exact
        return NONE
    if name == "setdefault" and arguments.positional:
        key, default = arguments.positional[0], arguments.get(1) or NONE
        found = lookup(m, value, key, default)
        if all(key_of(entry) != key_of(key) for _, entry, _ in entries):
            value.entries.append((m.path, key, default))
        return found
    if name == "copy":
        return Map(list(entries), value.exact)
    return None


def _registry_method(m: Machine, value: Registry, name: str, arguments: Arguments) -> Value | None:
    table = registry_items(m, value)
    if name in ("pop", "__delitem__") and arguments.positional:
        found = lookup(m, table, arguments.positional[0], arguments.get(1) or NONE)
        registry_delete(m, value, arguments.positional[0])
        return found
    if name == "update":
        for _, key, item in new_map(m, arguments).entries:
            registry_set(m, value, key, item)
        return NONE
    return _dict_method(m, table, name, arguments)


def _module_container_method(m: Machine, value: Obj, name: str, arguments: Arguments) -> Value | None:
    assert value.items is not None
    if name == "append" and arguments.positional:
        add_item(m, value, Const(len(value.items.entries)), arguments.positional[0])
        return value
    if name == "extend" and arguments.positional:
        for guard, item in rounds(m, arguments.positional[0]).items:
            add_item(m, value, Const(len(value.items.entries)), item, guard)
        return value
    if name == "update" and arguments.positional:
        fill_container(m, value, arguments)
        return NONE
    if name in ("keys", "values", "items", "get", "pop"):
        return _dict_method(m, value.items, name, arguments)
    return None


_TEXT_METHODS = frozenset(
    "startswith endswith lower upper title replace strip lstrip rstrip removeprefix removesuffix format count"
    " find".split()
)


def _text_method(m: Machine, value: Const, name: str, arguments: Arguments) -> Value | None:
    known = [m.known(argument) for argument in arguments.positional]
    if name == "format" and not arguments.open:
        return _formatted(value.value, known, {name: m.known(v) for name, v in arguments.keyword.items()})
    plain: list[Any] = []
    for argument in known:
        if isinstance(argument, Const):
            plain.append(argument.value)
        elif isinstance(argument, Seq) and argument.exact and all(isinstance(i, Const) for _, i in argument.items):
            plain.append(tuple(item.value for _, item in argument.items if isinstance(item, Const)))
    if len(plain) == len(known) and not arguments.keyword and not arguments.open:
        try:
            if name in ("split", "rsplit"):
                return Seq([(TRUE, Const(part)) for part in getattr(value.value, name)(*plain)])
            if name in _TEXT_METHODS:
                return Const(getattr(value.value, name)(*plain))
            if name == "join" and known and isinstance(plain[0], tuple):
                return Const(value.value.join(plain[0]))
        except (TypeError, ValueError, IndexError, KeyError):
            pass
    return Symbol(Key("call", Key("attr", key_of(value), name), *(key_of(argument) for argument in known)))


def _formatted(template: str, positional: list[Value], named: dict[str, Value]) -> Value:
    """``template.format(...)`` as the f-string that it stands for."""
    parts: list[Value] = []
    try:
        for at, (literal, field, _, _) in enumerate(string.Formatter().parse(template)):
            parts.append(Const(literal))
            if field is not None:
                where = named.get(field) if field and not field.isdigit() else positional[int(field or at)]
                parts.append(where if where is not None else Symbol(fresh()))
    except (ValueError, IndexError):
        return Symbol(fresh())
    return arithmetic.text(parts)
