"""Constructions: what state an object has when its constructor is done, and who filled it.

This is the face that rules see. A construction is one symbolic run from an :class:`Entry`: a class of the file
constructed with unknown arguments, or a function that registers state on something it is given.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lintinit._lazy import cst
from lintinit.model import objects
from lintinit.model.classes import is_module, lookup_class, member_of, methods_of, namespace_of
from lintinit.model.entries import Entry, entries_of, may_allocate, may_register
from lintinit.model.functions import OWN, default_of, run_function
from lintinit.model.guards import FALSE, TRUE, Guard, GuardLimit
from lintinit.model.heap import Assignment, Map, Obj, Seq, Tensor, options
from lintinit.model.interpreter import Interpreter
from lintinit.model.machine import Frame, RunLimit
from lintinit.model.scope import Scope
from lintinit.model.state import own_state
from lintinit.model.tensors import holds_integers
from lintinit.model.values import (
    Bound,
    Class,
    Const,
    DType,
    External,
    Function,
    Key,
    Partial,
    Symbol,
    Value,
)
from lintinit.program import Program
from lintinit.source import Block, SourceFile

#: Hooks that serving engines call when the checkpoint (or a dummy one) is in: they may replace state.
POST_LOAD_HOOKS = ("process_weights_after_loading",)
_NOT_LATE = ("__init__", "__new__", "forward", *POST_LOAD_HOOKS)


@dataclass(slots=True, eq=False)
class State:
    """A parameter or buffer as a construction leaves it."""

    construction: Construction
    name: str
    owner: Obj
    tensor: Tensor
    #: When it exists.
    exists: Guard
    assignment: Assignment

    @property
    def unfilled(self) -> Guard:
        """When it exists and some of its content was never written."""
        m = self.construction.machine
        missing = m.guards.minus(self.exists, m.initialised(self.tensor))
        data = self.tensor.storage.data
        if data is not None and m.usage.get(data) != "int":
            return FALSE
        return missing

    @property
    def unwritten(self) -> Guard:
        """When it exists and nothing gave it a value, be it on the meta device."""
        return self.construction.machine.guards.minus(self.exists, self.tensor.storage.filled)

    @property
    def present(self) -> Guard:
        """When it exists and has elements."""
        return self.construction.machine.guards.minus(self.exists, self.tensor.storage.absent)

    @property
    def unfilled_integers(self) -> Guard:
        """The same, and its dtype is certainly not floating."""
        m = self.construction.machine
        return m.guards.all(self.unfilled, holds_integers(m, self.tensor.dtype))


@dataclass(slots=True, eq=False)
class Construction:
    """One symbolic run and the objects that it made."""

    machine: Interpreter
    entry: Entry
    #: The object under construction; None for a function.
    target: Obj | None
    #: When the run ends normally.
    completed: Guard
    #: Assignments before the run are not its own.
    known: frozenset[int] = frozenset()
    #: Of a constructor; otherwise of a method that is called afterwards.
    first: bool = True

    def states(self) -> Iterator[State]:
        """State of every object that was made or given state, each alternative on its own."""
        m = self.machine
        for obj in list(m.objects):
            if not obj.module:
                continue
            prefix = self._prefix(obj)
            for name, guard, tensor in own_state(m, obj):
                exists = m.guards.all(guard, self.completed)
                assignment = self._assignment(obj, name, tensor, guard)
                if exists == FALSE or assignment is None or id(assignment) in self.known:
                    continue
                # Outside construction a plain tensor that takes the place of a buffer is working memory.
                if assignment.explicit or self.first:
                    yield State(self, prefix + name, obj, tensor, exists, assignment)

    def _prefix(self, obj: Obj) -> str:
        """The attribute that a container of state is, with a dot: its items are named below it."""
        if obj.items is None:
            return ""
        for holder in self.machine.objects:
            for name, value in holder.attrs.items():
                if any(option is obj for _, option in options(value)):
                    return f"{name}."
        return ""

    def _assignment(self, obj: Obj, name: str, tensor: Tensor, guard: Guard) -> Assignment | None:
        keys = [name] if obj.items is None else ["ParameterList", "ParameterDict", name]
        for key in keys:
            for assignment in reversed(obj.history.get(key, ())):
                value = assignment.value
                same = isinstance(value, Tensor) and value.storage is tensor.storage
                if same and self.machine.guards.meet(assignment.guard, guard):
                    return assignment
        return None

    def assignments(self) -> frozenset[int]:
        """Every assignment made so far."""
        return self.known | {id(a) for obj in self.machine.objects for h in obj.history.values() for a in h}


def constructions(
    program: Program, source: SourceFile, blocks: Iterable[Block], eager: frozenset[str] = frozenset()
) -> Iterator[Construction]:
    """Every construction that starts in *blocks* of *source*.

    Raises :class:`Diagnostic` where a block cannot be parsed.
    """
    for block in blocks:
        for entry in entries_of(block):
            yield from from_entry(program, source, entry, eager)


def from_entry(
    program: Program, source: SourceFile, entry: Entry, eager: frozenset[str] = frozenset()
) -> Iterator[Construction]:
    """The constructions that start at *entry*; nothing where the run grows too large."""
    try:
        if entry.kind == "class":
            yield from _from_class(program, source, entry, eager)
        elif entry.kind == "function":
            yield from _from_function(program, source, entry, eager)
        else:
            yield from _from_code(program, source, entry)
    except (RunLimit, GuardLimit, RecursionError):
        return


def _machine(program: Program, eager: frozenset[str]) -> Interpreter:
    machine = Interpreter(program)
    machine.eager = lambda cls: cls.name in eager
    return machine


def _start(m: Interpreter, source: SourceFile, block: Block) -> Scope:
    scope = m.module(source)
    m.block = block
    m.frame = Frame(scope, None)
    return scope


def _resolve(m: Interpreter, scope: Scope, names: tuple[str, ...]) -> Value | None:
    value = m.lookup(scope, names[0])
    for name in names[1:]:
        value = member_of(m, value, name) if isinstance(value, Class) else None
    return m.known(value) if value is not None else None


def _from_class(program: Program, source: SourceFile, entry: Entry, eager: frozenset[str]) -> Iterator[Construction]:
    first = _constructed(program, source, entry, eager)
    if first is None:
        return
    yield first
    m, cls = first.machine, first.target.cls if first.target is not None else None
    assert isinstance(cls, Class)
    for function in _late_methods(m, cls):
        if function.node in m.entered:
            continue
        # Somebody calls it afterwards. Each gets a construction of its own, so that none sees what another did.
        again = _constructed(program, source, entry, eager)
        if again is not None:
            yield from _late(again, function.name)


def _late_methods(m: Interpreter, cls: Class) -> Iterator[Function]:
    """Methods that can register unwritten memory when somebody calls them after construction.

    Modules inherit such methods from the classes of their own file only: those of libraries are looked at where
    they are. Objects that prepare modules (quantisation methods) mostly inherit them from other files.
    """
    methods = methods_of(m, cls)
    module = is_module(m, cls)
    for function in methods.values():
        source = function.scope.source
        if function.name in _NOT_LATE or not may_register(function.text) or (module and source is not cls.scope.source):
            continue
        reached = [function.text]
        reached += [methods[name].text for name in re.findall(r"self\.(\w+)\(", function.text) if name in methods]
        reached += [b.text for name in re.findall(r"\b(\w+)\(", function.text) for b in source.bindings.get(name, ())]
        elsewhere = source.allocating_methods.keys() & set(re.findall(r"\.(\w+)\(", function.text))
        if elsewhere or any(map(may_allocate, reached)):
            yield function


def _constructed(program: Program, source: SourceFile, entry: Entry, eager: frozenset[str]) -> Construction | None:
    m = _machine(program, eager)
    cls = _resolve(m, _start(m, source, entry.block), entry.names)
    if not isinstance(cls, Class) or objects.is_tensor_class(m, cls):
        return None
    target = _construct(m, cls)
    return Construction(m, entry, target, m.path) if m.path != FALSE else None


def _construct(m: Interpreter, cls: Class) -> Obj:
    target = Obj(cls, OWN, module=is_module(m, cls))
    m.objects.append(target)
    constructor = lookup_class(m, cls, "__init__")
    if isinstance(constructor, Function):
        # True from the start; what turns it off is no part of construction.
        target.attrs["training"] = Const(True)
        run(m, objects.decorated(m, constructor), target)
        target.attrs.pop("training", None)
    return target


def _late(before: Construction, name: str) -> Iterator[Construction]:
    """A method that registers state but is not part of construction, on the object as its constructor left it."""
    m, target = before.machine, before.target
    assert target is not None
    assert isinstance(target.cls, Class)
    function = methods_of(m, target.cls).get(name)
    if function is None or function.is_a("property", "cached_property"):
        return
    known = before.assignments()
    m.path = TRUE
    bound = objects.bind(m, function, target)
    if isinstance(bound, Bound):
        run(m, bound.function, bound.receiver)
    elif isinstance(bound, Function):
        run(m, bound, None)
    if m.path != FALSE:
        yield Construction(m, before.entry, target, m.path, known, first=False)


def _from_function(program: Program, source: SourceFile, entry: Entry, eager: frozenset[str]) -> Iterator[Construction]:
    m = _machine(program, eager)
    function = _resolve(m, _start(m, source, entry.block), entry.names)
    if not isinstance(function, Function):
        return
    run(m, function, None)
    _construct_inner(m, [cls for cls in m.classes if cls.local])
    if m.path != FALSE:
        yield Construction(m, entry, None, m.path)


def _from_code(program: Program, source: SourceFile, entry: Entry) -> Iterator[Construction]:
    m = Interpreter(program)
    scope = _start(m, source, entry.block)
    scope.executed.add(entry.block)
    for statement in entry.block.statements:
        m.execute(statement)
    for node in _unreached(entry.block, {cls.node for cls in m.classes if cls.block is entry.block}):
        m.path = TRUE
        m.execute(node)
    _construct_inner(m, [cls for cls in m.classes if cls.block is entry.block])
    if m.path != FALSE:
        yield Construction(m, entry, None, m.path)


def _unreached(block: Block, reached: set[cst.ClassDef]) -> Iterator[cst.CSTNode]:
    """Classes that a statement defines only where an import fails, or on another platform."""
    pending = list(block.statements)
    while pending:
        node = pending.pop(0)
        if isinstance(node, cst.ClassDef) and node not in reached:
            yield node
        elif type(node).__name__ in ("Try", "ExceptHandler", "If", "Else", "IndentedBlock", "With", "Finally"):
            pending += node.children


def _construct_inner(m: Interpreter, classes: list[Class]) -> None:
    """Construct the classes that a function or a condition defines, if it has not done so itself."""
    made = {id(obj.cls) for obj in m.objects}
    for cls in classes:
        if id(cls) not in made and is_module(m, cls) and not objects.is_tensor_class(m, cls):
            m.path = TRUE
            _construct(m, cls)


def run(m: Interpreter, function: Function, receiver: Value | None) -> None:
    """Execute *function* with unknown arguments."""
    scope = Scope(function.scope.source, function.scope)
    params = function.node.params
    plain = [*params.posonly_params, *params.params]
    if receiver is not None and plain:
        scope.names[plain.pop(0).name.value] = receiver
    for param in (*plain, *params.kwonly_params):
        scope.names[param.name.value] = _unknown(m, function, param)
    if isinstance(params.star_arg, cst.Param):
        scope.names[params.star_arg.name.value] = Seq([], False)
    if params.star_kwarg is not None:
        scope.names[params.star_kwarg.name.value] = Map([], False)
    run_function(m, function, receiver, scope)


def _unknown(m: Interpreter, function: Function, param: cst.Param) -> Value:
    """A parameter of an entry: unknown, but a dtype, class or function given as default is what callers use."""
    symbol = Symbol(Key("param", param.name.value))
    usage = _annotated_usage(param)
    _take_settings(m, symbol, _annotated_class(m, function, param))
    if param.default is not None:
        default = default_of(m, function, param)
        if isinstance(default, Obj) and isinstance(default.cls, Class) and not default.module:
            _take_settings(m, symbol, default.cls)
        if isinstance(default, DType | Class | Function | External | Partial):
            return default
        if isinstance(default, Seq | Map) or (isinstance(default, Symbol) and default.key.kind == "call"):
            usage = usage or "items"
        elif isinstance(default, Const) and type(default.value) is int:
            usage = usage or "int"
    if usage:
        m.usage[symbol.key] = usage
    return symbol


def _annotated_class(m: Interpreter, function: Function, param: cst.Param) -> Class | None:
    node = param.annotation.annotation if param.annotation is not None else None
    if not isinstance(node, cst.Name) or node.value not in function.scope.source.bindings:
        return None
    found = m.lookup(m.module(function.scope.source), node.value)
    return found if isinstance(found, Class) else None


def _take_settings(m: Interpreter, symbol: Symbol, cls: Class | None) -> None:
    """The dtypes among the defaults of a settings class of the same file count as what callers use, too."""
    if cls is None or "dtype" not in cls.block.text or is_module(m, cls):
        return
    for name in namespace_of(m, cls).bindings:
        value = member_of(m, cls, name) if name.isidentifier() else None
        if isinstance(value, DType):
            objects.stand_in(m, symbol).attrs[name] = value


_INTEGERS = {"int"}
_ITEMS = {"list", "tuple", "Sequence", "Iterable", "List", "Tuple", "ndarray", "Tensor", "set", "dict", "Dict", "Size"}


def _annotated_usage(param: cst.Param) -> str | None:
    node = param.annotation.annotation if param.annotation is not None else None
    while isinstance(node, cst.Subscript):
        node = node.value
    name = node.attr.value if isinstance(node, cst.Attribute) else getattr(node, "value", None)
    return "int" if name in _INTEGERS else "items" if name in _ITEMS else None
