"""The state of one symbolic run, and the few operations that everything else is written in.

Checked code is followed as if it ran, with three differences: unknown values are symbols, both sides of an
undecided branch are followed one after the other, and every effect is recorded under the guard of the path
that leads to it. What each construct does, the modules say that ``interpreter`` names.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from lintinit._lazy import cst
from lintinit.errors import Diagnostic
from lintinit.model.guards import FALSE, TRUE, Guard
from lintinit.model.heap import (
    Event,
    Kind,
    Obj,
    Seq,
    Site,
    Storage,
    Tensor,
)
from lintinit.model.paths import Paths
from lintinit.model.regions import Span
from lintinit.model.scope import Scope
from lintinit.model.values import (
    Choice,
    Class,
    Function,
    Imported,
    Key,
    Symbol,
    Value,
    text_of,
)
from lintinit.program import Program
from lintinit.source import Block, SourceFile

_MAX_STEPS = 30_000
_MAX_DEPTH = 14
_SPECULATION_DEPTH = 6


class RunLimit(Exception):
    """The run became too large to finish; it says nothing."""


@dataclass(slots=True, eq=False)
class Loop:
    """Paths that left the current round of a loop early."""

    left: Guard = FALSE
    again: Guard = FALSE


@dataclass(slots=True, eq=False)
class Frame:
    """One call in progress."""

    scope: Scope
    parent: Frame | None
    function: Function | None = None
    receiver: Value | None = None
    #: Of the object under construction, or the function that following started from.
    own: bool = True
    #: The simple statement being executed.
    statement: Site | None = None
    returns: list[tuple[Guard, Value]] = field(default_factory=list)
    yields: Seq | None = None
    loops: list[Loop] = field(default_factory=list)

    def chain(self) -> list[Frame]:
        """This frame and its callers, innermost first."""
        found: list[Frame] = []
        frame: Frame | None = self
        while frame is not None:
            found.append(frame)
            frame = frame.parent
        return found


@dataclass(slots=True)
class Arguments:
    """Arguments of a call; ``open`` where ``*x`` or ``**x`` of unknown content was among them."""

    positional: list[Value] = field(default_factory=list)
    keyword: dict[str, Value] = field(default_factory=dict)
    open: bool = False

    def get(self, position: int | None, *names: str) -> Value | None:
        """The argument at *position* or under one of *names*."""
        for name in names:
            if name in self.keyword:
                return self.keyword[name]
        if position is not None and position < len(self.positional):
            return self.positional[position]
        return None

    def all(self) -> list[Value]:
        """Every argument value."""
        return [*self.positional, *self.keyword.values()]


class Machine(Paths, ABC):
    """One symbolic run over a program."""

    def __init__(self, program: Program) -> None:
        super().__init__()
        self.program = program
        self.events: list[Event] = []
        self.objects: list[Obj] = []
        #: Memory that was allocated without a value.
        self.storages: list[Storage] = []
        #: Functions that were followed at least once.
        self.entered: set[cst.CSTNode] = set()
        #: Every class statement executed, those in functions too.
        self.classes: list[Class] = []
        #: Objects that stand for unknown values which the code sets attributes on.
        self.stand_ins: dict[Key, Obj] = {}
        #: Counters of loops: where they start and stop, and their step.
        self.counters: dict[Key, tuple[Value, Value | None, int]] = {}
        #: What unknown values were used as: ``int`` or ``items``.
        self.usage: dict[Key, str] = {}
        #: Under ``with torch.device("meta")``.
        self.meta: bool = False
        #: Classes whose constructors run at once instead of when somebody looks inside.
        self.eager: Callable[[Class], bool] = lambda _: False
        #: What to do where a context manager, a generator of the tree, yields.
        self.entered_contexts: dict[Function, Callable[[Value], None]] = {}
        #: An unknown attribute of this name is this tensor, on whatever is called so (empty: on anything).
        self.watched: dict[str, tuple[Tensor, str]] = {}
        self.discarded: cst.CSTNode | None = None
        self.modules: dict[SourceFile, Scope] = {}
        self.block: Block | None = None
        self.frame: Frame | None = None
        #: Following what happens after construction, whoever does it.
        self.speculating = False
        self.depth = 0
        self.max_depth = _MAX_DEPTH
        self.steps = 0

    # What the language modules provide.

    @abstractmethod
    def evaluate(self, node: cst.CSTNode) -> Value:
        """The value of an expression."""

    @abstractmethod
    def execute(self, node: cst.CSTNode) -> None:
        """Execute a statement or a suite of them."""

    @abstractmethod
    def call(self, callee: Value, arguments: Arguments, node: cst.CSTNode | None) -> Value:
        """The result of calling *callee*."""

    @abstractmethod
    def resolve_import(self, value: Imported) -> Value:
        """What an import statement binds."""

    @abstractmethod
    def through_stars(self, scope: Scope, name: str) -> Value | None:
        """What the star imports of a file bind *name* to."""

    # Memory.

    def initialised(self, tensor: Tensor) -> Guard:
        """When everything that *tensor* shows has a defined value."""
        storage = tensor.storage
        guards = [storage.filled, storage.absent]
        if tensor.region:
            # A loop reads what its earlier rounds wrote (``t[i] = t[i - 1] + n``).
            looped = any(isinstance(extent, Span) and extent.loop for extent in tensor.region)
            guards += [store.guard for store in storage.stores if looped or store.region == tensor.region]
        return self.guards.any(guards)

    def undefined(self, value: Value) -> frozenset[Storage]:
        """The unwritten allocations that *value* may depend on, on the current path."""
        if isinstance(value, Symbol):
            return value.sources
        if isinstance(value, Choice):
            found: frozenset[Storage] = frozenset()
            before = self.path
            for guard, option in value.options:
                self.path = self.guards.all(before, guard)
                if self.path != FALSE:
                    found |= self.undefined(option)
            self.path = before
            return found
        if isinstance(value, Tensor) and self.guards.minus(self.path, self.initialised(value)) != FALSE:
            return self.origins(value, self.path)
        if isinstance(value, Seq):
            return frozenset().union(*(self.undefined(item) for _, item in value.items), self.undefined(value.rest))
        return frozenset()

    def origins(self, tensor: Tensor, guard: Guard) -> frozenset[Storage]:
        """The allocations that undefined content of *tensor* goes back to where *guard* holds."""
        storage = tensor.storage
        return storage.roots() if self.guards.minus(guard, storage.overwritten) != FALSE else storage.sources

    def record(self, kind: Kind, storages: Iterable[Storage], how: str, node: cst.CSTNode | None = None) -> None:
        """Note that something happened to *storages* here."""
        site = Site(self.block, node) if node is not None and self.block else self.statement()
        for storage in storages:
            self.events.append(Event(kind, storage, self.path, site, how))

    @contextmanager
    def speculation(self) -> Iterator[None]:
        """Follow something from the present state and forget what it changed; events stay."""
        attributes = [(obj, dict(obj.attrs)) for obj in self.objects]
        memory = [(s, s.filled, s.overwritten, list(s.stores), s.sources) for s in self.storages]
        saved = self.path, self.raised, self.block, self.frame, self.steps
        self.path, self.raised, self.steps, self.max_depth = TRUE, FALSE, 0, _SPECULATION_DEPTH
        self.speculating = True
        self.guards.extend()
        try:
            yield
        finally:
            self.guards.extend()
            self.path, self.raised, self.block, self.frame, self.steps = saved
            self.max_depth, self.speculating = _MAX_DEPTH, False
            for obj, attrs in attributes:
                obj.attrs = attrs
            for storage, filled, overwritten, stores, sources in memory:
                storage.filled, storage.overwritten = filled, overwritten
                storage.stores, storage.sources = stores, sources

    # Places.

    def statement(self) -> Site:
        """The statement being executed."""
        frame = self.frame
        if frame is not None and frame.statement is not None:
            return frame.statement
        assert self.block is not None
        return Site(self.block, None)

    def watching(self, owner: Key, name: str) -> Tensor | None:
        """The tensor that an unknown attribute *name* of *owner* stands for."""
        tensor, holder = self.watched.get(name, (None, ""))
        return tensor if tensor is not None and holder in ("", text_of(owner)) else None

    def sized(self, value: Value, usage: str) -> None:
        """Remember that an unknown is used as an ``int`` or as something with ``items``."""
        if isinstance(value, Symbol):
            for key in _leaves(value.key):
                self.usage.setdefault(key, usage)

    def step(self) -> None:
        """Count one statement; ends the run when it is too long."""
        self.steps += 1
        if self.steps > _MAX_STEPS:
            raise RunLimit

    def deep(self) -> bool:
        """Whether another call may not be followed any more."""
        return self.depth >= self.max_depth

    # Modules.

    def module(self, source: SourceFile) -> Scope:
        """The namespace of a file."""
        scope = self.modules.get(source)
        if scope is None:
            scope = self.modules[source] = Scope(source, bindings=source.bindings)
        return scope

    def lookup(self, scope: Scope, name: str) -> Value | None:
        """What *name* is in the namespace of a file or class; executes the statements that bind it."""
        bindings = scope.bindings
        for block in (*bindings.get(name, ()), *(bindings.get("*", ()) if name not in bindings else ())):
            if block not in scope.executed:
                scope.executed.add(block)
                self.run_block(scope, block)
                self.run_mentions(scope, name)
        found = scope.names.get(name)
        if isinstance(found, Imported):
            # A circle of imports finds nothing on its second way round.
            del scope.names[name]
            found = scope.names[name] = self.resolve_import(found)
        if found is None and scope.stars:
            found = self.through_stars(scope, name)
        return found

    def run_mentions(self, scope: Scope, name: str) -> None:
        """Execute what a file does with memory that it allocates under a name of its own: ``TABLE.fill_(0)``."""
        value = scope.names.get(name)
        if not scope.is_module or not isinstance(value, Tensor) or not self.undefined(value):
            return
        for block in scope.source.blocks:
            if block.head is None and not block.is_import and block not in scope.executed and name in block.words:
                scope.executed.add(block)
                self.run_block(scope, block)

    def run_block(self, scope: Scope, block: Block) -> None:
        """Execute one statement of a file or a class body, whatever else is going on."""
        with self.elsewhere(scope, block):
            if block.head is not None:
                self.define(scope, block)
                return
            try:
                for statement in block.statements:
                    self.execute(statement)
            except Diagnostic:
                # The file is reported where it is checked itself; here the name stays unknown.
                pass

    def keep_setter(self, scope: Scope, name: str, decorators: tuple[str, ...], function: Function) -> None:
        """Bind the setter of a property under a name that no attribute has."""
        if any(decorator.endswith(".setter") for decorator in decorators):
            scope.names[setter_of(name)] = function

    def define(self, scope: Scope, block: Block) -> None:
        """Bind the class or function that *block* is, without parsing it."""
        assert block.head is not None
        kind, name = block.head
        if kind == "class":
            made = Class(name, scope, block)
            self.classes.append(made)
            scope.names[name] = made
            return
        head = block.text[: block.text.index(f"def {name}")] if f"def {name}" in block.text else block.text
        decorators = tuple(re.findall(r"^[ \t]*@[ \t]*([\w.]+)", head, re.MULTILINE))
        if is_alternative(decorators):
            self.keep_setter(scope, name, decorators, Function(name, scope, block, owner=scope.body_of))
        else:
            scope.names[name] = Function(name, scope, block, owner=scope.body_of, decorators=decorators)

    @contextmanager
    def elsewhere(self, scope: Scope, block: Block) -> Iterator[None]:
        """Work in another scope, on no particular path, and come back."""
        saved = self.path, self.raised, self.block, self.frame, self.meta, self.discarded
        self.path, self.raised, self.meta = TRUE, FALSE, False
        self.block = block
        self.frame = Frame(scope, None, statement=self.frame.statement if self.frame is not None else None)
        try:
            yield
        finally:
            self.path, self.raised, self.block, self.frame, self.meta, self.discarded = saved


def setter_of(name: str) -> str:
    """Where a class's namespace keeps the setter of the property *name*."""
    return f"{name}="


def is_alternative(decorators: tuple[str, ...]) -> bool:
    """Whether a definition only adds to one of the same name: an overload, the setter of a property."""
    return any(decorator.endswith((".setter", ".deleter", "overload")) for decorator in decorators)


def _leaves(key: Key) -> list[Key]:
    if key.kind == "sum":
        return [leaf for term, _ in key.parts[0] for leaf in _leaves(term)]
    if key.kind == "op":
        return [leaf for part in key.parts[1:] for leaf in _leaves(part)]
    return [key]
