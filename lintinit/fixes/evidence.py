"""Which default a table gets: by its role, its shape, its name, and the numbers that are in reach of the code."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lintinit.fixes.defaults import Default, Kind
from lintinit.fixes.place import Place
from lintinit.model.heap import Obj
from lintinit.model.objects import own_name
from lintinit.model.values import Const, Key, Symbol, key_of, text_of
from lintinit.semantics import counts
from lintinit.semantics.roles import Role

if TYPE_CHECKING:
    from lintinit.model.constructions import State

_DOTTED = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+(?![\w(])")


@dataclass(frozen=True, slots=True)
class Number:
    """A number that the code can name at a place: ``self.num_experts``, a constructor argument, a local."""

    expression: str
    #: The method must be given it.
    passed: bool
    order: int
    #: Nothing but its name says that it is a number.
    local: bool = False

    @property
    def name(self) -> str:
        """The last word of the expression."""
        return self.expression.rpartition(".")[2]


def default_for(state: State, role: Role, place: Place, own: bool, dtype: str) -> Default:
    """The default of *state*; *own* says that it hangs on what the place calls ``self``."""
    name = re.sub(r"\{[^}]*\}", "", state.name.rpartition(".")[2])
    if dtype.endswith("bool") or role.is_payload or role.name in ("pointer", "shape", "tag"):
        return Default("zeros", evidence=f"the least harmful value of a {role.name}")
    if counts.is_permutation(name) and rank_of(state) != 0:
        return Default("arange", evidence="its name says that it is a permutation of its own length")
    numbers = [number for number in _numbers(state, place, own) if number.name != name]
    if counts.is_group_index(name):
        size = _best(numbers, lambda number: counts.group_size(number.name))
        if size is not None:
            evidence = f"it holds the group of each position, and `{size.expression}` is in reach"
            return _with(size, "group", evidence, _may_be_whole(size.name, place))
    if rank_of(state) in (1, 2) and role.name in ("index", "unknown"):
        nouns = counts.targets(name, own_name(state.owner) + " " + _class_name(state))
        bound = _best(numbers, lambda number: counts.counts(number.name, nouns, not number.local))
        if bound is not None and not _is_length(state, bound):
            shown = ", ".join(text_of(key_of(size)) for size in state.tensor.shape or ())
            return _with(bound, "cyclic", f"a table [{shown}] of ids below `{bound.expression}`")
    return Default("zeros", evidence="no other value is known to be in range")


def rank_of(state: State) -> int | None:
    """The number of dimensions, if it is known."""
    shape = state.tensor.shape if state.tensor.shape is not None else state.tensor.storage.shape
    return len(shape) if shape is not None else None


def _class_name(state: State) -> str:
    target = state.construction.target
    return own_name(target) if target is not None else ""


def _is_length(state: State, bound: Number) -> bool:
    """A row with a place for everything is a mask or a map, whose values are no such ids."""
    shape = state.tensor.shape or ()
    return len(shape) == 2 and text_of(key_of(shape[1])).rpartition(".")[2] == bound.name


def _with(number: Number, kind: Kind, evidence: str, may_be_whole: bool = False) -> Default:
    if not number.passed:
        return Default(kind, number.expression, evidence, may_be_whole)
    return Default(kind, number.name, evidence, may_be_whole, (number.name,), (number.expression,))


def _may_be_whole(size: str, place: Place) -> bool:
    """Whether the code knows a group size of -1, for one group of everything."""
    return re.search(rf"\b{re.escape(size)}\b[^\n]*-\s*1\b", place.source.text) is not None


def _best(numbers: list[Number], fits: Callable[[Number], int | None]) -> Number | None:
    ranked = [(score, number.order, at) for at, number in enumerate(numbers) if (score := fits(number)) is not None]
    return numbers[min(ranked)[2]] if ranked else None


def _numbers(state: State, place: Place, own: bool) -> Iterator[Number]:
    """What can be named where the statement stands, most lasting first."""
    function = place.enclosing_function
    if function is None:
        return
    receiver = place.function.receiver if place.function is not None else None
    given = function.params
    params = [param.name.value for param in (*given.posonly_params, *given.params, *given.kwonly_params)]
    start, _ = place.span(function)
    at, _ = place.span(place.statement) if place.statement is not None else (start, start)
    before = place.source.text[start:at]
    attributes: set[str] = set()
    if receiver is not None:
        params.remove(receiver)
        attributes = _assigned(state, state.owner if own else state.construction.target)
        yield from (Number(f"{receiver}.{name}", False, 0) for name in sorted(attributes))
    around = place.block.parent or place.block
    for found in dict.fromkeys(_DOTTED.findall(around.text)):
        root, second, *_ = found.split(".")
        if root == receiver and second in attributes and found.count(".") > 1:
            yield Number(found, False, 1)
    for found in dict.fromkeys(_DOTTED.findall(place.text(function))):
        if found.partition(".")[0] in params:
            yield Number(found, own, 3)
    usage = state.construction.machine.usage
    for name in params:
        if usage.get(Key("param", name)) != "items" and not _is_collection(name, place.block.text):
            yield Number(name, own, 2)
    yield from (Number(name, own, 4, local=True) for name in _locals(before, place.body_indent(function)))


def _is_collection(name: str, text: str) -> bool:
    """Whether the code takes the length of *name*, goes over it, or looks inside."""
    return re.search(rf"(?:\blen\(|\bin\s+|(?<!\*)\*){name}\b|(?<![\w.]){name}\s*(?:\[|\.\w)", text) is not None


def _assigned(state: State, holder: Obj | None) -> set[str]:
    """The attributes of *holder* that are certainly there when the state is made, and may be numbers."""
    guards = state.construction.machine.guards
    found = set()
    for name, history in holder.history.items() if holder is not None else ():
        before = [a for a in history if a.step < state.assignment.step]
        plain = before and all(isinstance(a.value, Const | Symbol) for a in before)
        if plain and guards.implies(state.exists, guards.any(a.guard for a in before)):
            found.add(name)
    return found


def _locals(before: str, indent: str) -> list[str]:
    """Names that the function has bound in its own body so far, not in a branch."""
    return re.findall(rf"^{indent}(\w+) *(?::[^=\n]+)?=(?!=)", before, re.MULTILINE)
