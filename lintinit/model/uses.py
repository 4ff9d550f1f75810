"""What the code does with state after construction: the evidence for the role of a tensor.

The methods of the class are followed one by one with the state as construction left it. Where unwritten
memory goes tells what its values are: into the brackets of a subscript (an index), into a comparison (a tag),
into arithmetic (a number). Functions outside the class take part when they name the attribute.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from lintinit.errors import Diagnostic
from lintinit.model.classes import functions_of, is_module, methods_of
from lintinit.model.constructions import Construction, State, run
from lintinit.model.guards import GuardLimit
from lintinit.model.heap import Event, Obj, Site, Storage
from lintinit.model.interpreter import Interpreter
from lintinit.model.machine import Frame, RunLimit
from lintinit.model.values import Class, Function, Key, Value, text_of
from lintinit.source import Block, SourceFile

#: Methods that load, save, describe or (re)build state: what they read says nothing about its role.
_NO_READERS = re.compile(
    r"^__(?!call__|getitem__|iter__)|(?<!after_)load(?!ing)|save|state_dict|repr|^_?(?:re)?init|reset|register|create_weights|^to_|^from_|pack$|quantize$"
)


@dataclass(slots=True)
class Uses:
    """The uses of one unwritten allocation."""

    events: list[Event] = field(default_factory=list)
    #: What the first thing was that each method did to it, of the methods that use it.
    first: list[Event] = field(default_factory=list)

    @property
    def written_first(self) -> bool:
        """Every method that touches it stores to it before anything else."""
        return bool(self.first) and all(event.kind == "write" for event in self.first)

    @property
    def lent_first(self) -> bool:
        """The same, where handing a leading part to a call out of sight counts as storing, and none need read it."""
        return bool(self.events) and all(event.kind in ("write", "lend") for event in self.first)


def uses_of(construction: Construction, states: list[State]) -> dict[Storage, Uses]:
    """The uses of the unwritten memory of *states* in their own class."""
    watch = _Watch(construction, states)
    target = construction.target
    if target is not None and isinstance(target.cls, Class):
        entered, called = _readers(construction, target.cls)
        for function in entered:
            watch.follow(function, target)
        # What the public methods did not lead to may still be called from outside.
        unseen = [state.name for state in states if not watch.saw(state)]
        for function in called:
            if any(_mentions(function.text, name) for name in unseen):
                watch.follow(function, target)
    return watch.found


def uses_elsewhere(state: State, sources: Iterable[SourceFile]) -> Iterator[dict[Storage, Uses]]:
    """The uses of *state* by name in functions outside its class, file by file.

    State on something that the code calls ``layer`` is looked for on what other functions call ``layer``.
    """
    construction, m = state.construction, state.construction.machine
    own = construction.target.cls if construction.target is not None else None
    holder = text_of(state.owner.key) if state.owner is not construction.target else ""
    for source in sources:
        watch = _Watch(construction, [state])
        m.watched[state.name] = (state.tensor, holder)
        for block in source.blocks:
            if _mentions(block.text, state.name):
                for function, cls in _functions(m, source, block, state.name):
                    if cls is None or cls is not own:
                        receiver = Obj(cls, Key("param", "self"), module=is_module(m, cls)) if cls is not None else None
                        watch.follow(function, receiver)
        m.watched.clear()
        yield watch.found


def handed_on(state: State, sources: Iterable[SourceFile]) -> bool:
    """Whether the name of *state* is kept or given to somebody who may read by it, ``Kernel(index_name="g_idx")``."""
    pattern = re.compile(rf"\b(?!name\b)\w+\s*=\s*[\"']{re.escape(state.name)}[\"']")
    return any(pattern.search(source.text) for source in sources)


def _mentions(text: str, name: str) -> bool:
    if "{" in name:
        return True
    return re.search(rf"\.{re.escape(name)}\b|[\"']{re.escape(name)}[\"']", text) is not None


def _readers(construction: Construction, cls: Class) -> tuple[list[Function], list[Function]]:
    """The methods to follow, apart: those that no other method of the class calls, and the others."""
    m = construction.machine
    methods = {
        name: function
        for name, function in methods_of(m, cls).items()
        if not _NO_READERS.search(name) and function.node not in m.entered
    }
    called = {name for function in methods.values() for name in _called_on_self(function)}
    return (
        [function for name, function in methods.items() if name not in called],
        [function for name, function in methods.items() if name in called],
    )


def _called_on_self(function: Function) -> set[str]:
    return set(re.findall(r"\bself\.(\w+)", function.text)) - {function.name}


def _functions(m: Interpreter, source: SourceFile, block: Block, name: str) -> Iterator[tuple[Function, Class | None]]:
    if block.head is None:
        return
    value = m.lookup(m.module(source), block.head[1])
    if isinstance(value, Function):
        yield value, None
    elif isinstance(value, Class):
        for function in functions_of(m, value):
            if not _NO_READERS.search(function.name) and _mentions(function.text, name):
                yield function, value


class _Watch:
    """Follows functions and keeps what they do to the unwritten memory of some states."""

    def __init__(self, construction: Construction, states: list[State]) -> None:
        self.machine = construction.machine
        self.found = {root: Uses() for state in states for root in state.tensor.storage.roots()}

    def follow(self, function: Function, receiver: Value | None) -> None:
        """Follow one function from the state that construction left."""
        m = self.machine
        seen = len(m.events)
        with m.speculation():
            follow(m, function, receiver)
        self._keep(m.events[seen:])

    def saw(self, state: State) -> bool:
        """Whether anything was done to the memory of *state* so far."""
        return any(self.found[root].events for root in state.tensor.storage.roots())

    def _keep(self, events: list[Event]) -> None:
        for storage, uses in self.found.items():
            mine = [event for event in events if event.storage is storage]
            uses.events += mine
            if any(event.kind != "write" for event in mine):
                uses.first.append(mine[0])


def follow(m: Interpreter, function: Function, receiver: Value | None) -> bool:
    """Run a method or function with unknown arguments; False where it grew too large and ended where it was."""
    m.block = function.block
    m.frame = Frame(m.module(function.scope.source), None, statement=Site(function.block, function.node))
    try:
        if receiver is None or function.is_a("staticmethod"):
            run(m, function, None)
        elif function.is_a("classmethod") and isinstance(receiver, Obj) and receiver.cls is not None:
            run(m, function, receiver.cls)
        else:
            run(m, function, receiver)
    except (RunLimit, GuardLimit, RecursionError, Diagnostic):
        return False
    return True
