"""Instances: construction, attributes, and the assignments that make module state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lintinit._lazy import cst
from lintinit.model.classes import (
    ancestry,
    is_module,
    lookup_class,
    namespace_of,
    parameter_kind,
)
from lintinit.model.guards import FALSE
from lintinit.model.heap import (
    Assignment,
    Handle,
    Obj,
    Registry,
    Site,
    Storage,
    Tensor,
    options,
)
from lintinit.model.machine import Arguments, setter_of
from lintinit.model.values import (
    NONE,
    Bound,
    Choice,
    Class,
    Const,
    DType,
    External,
    Function,
    Key,
    Method,
    Super,
    Symbol,
    Value,
    fresh,
    text_of,
)

if TYPE_CHECKING:
    from lintinit.model.machine import Machine


def instantiate(m: Machine, cls: Class, arguments: Arguments, node: cst.CSTNode) -> Value:
    """An instance of a class of the tree.

    A child module stays closed, since its class is looked at on its own, except where the arguments decide what
    state it gets. Other objects are constructed when somebody looks inside.
    """
    kind = parameter_kind(m, cls)
    if kind is not None:
        return _new_tensor(m, cls, arguments, node)
    made = Obj(cls, fresh("object"), module=is_module(m, cls), site=m.statement())
    m.objects.append(made)
    if cls.local or m.eager(cls) or any(_decides_state(m, value) for value in arguments.all()):
        _construct(m, made, arguments, node)
    else:
        made.pending = (tuple(arguments.positional), dict(arguments.keyword), m.path)
    return made


def _decides_state(m: Machine, value: Value) -> bool:
    return any(
        (isinstance(option, DType) and option.holds_integers)
        or (isinstance(option, Tensor) and bool(m.undefined(option)))
        for _, option in options(value)
    )


def force(m: Machine, obj: Obj) -> None:
    """Run the constructor that *obj* still owes. What is inside a child module is its own affair."""
    if obj.pending is None or obj.module:
        return
    positional, keyword, guard = obj.pending
    obj.pending = None
    before = m.path
    m.path = m.guards.all(before, guard)
    if m.path != FALSE and not m.deep():
        assert obj.site is not None
        _construct(m, obj, Arguments(list(positional), dict(keyword)), obj.site.node)
    m.path = before


def _construct(m: Machine, obj: Obj, arguments: Arguments, node: cst.CSTNode | None) -> None:
    assert isinstance(obj.cls, Class)
    constructor = lookup_class(m, obj.cls, "__init__")
    if isinstance(constructor, Function):
        m.call(Bound(decorated(m, constructor), obj), arguments, node)
        return
    for at, name in enumerate(_fields(m, obj.cls)):
        value = arguments.get(at, name)
        if value is not None:
            obj.attrs[name] = value


def decorated(m: Machine, function: Function) -> Function:
    """*function* as the decorators of its own file leave it."""
    scope = m.module(function.scope.source)
    for name in reversed(function.decorators):
        decorator = m.lookup(scope, name)
        if isinstance(decorator, Function) and decorator.scope is scope:
            wrapped = m.call(decorator, Arguments([function]), decorator.node)
            function = wrapped if isinstance(wrapped, Function) else function
    return function


def _fields(m: Machine, cls: Class) -> list[str]:
    """The names that a dataclass takes in its constructor, base classes first."""
    lines = [base for base in reversed(ancestry(m, cls)) if isinstance(base, Class)]
    blocks = [block for base in lines for block in base.block.members or () if block.head is None]
    return list(dict.fromkeys(name for block in blocks if ":" in block.text for name in block.binds))


def _new_tensor(m: Machine, cls: Class, arguments: Arguments, node: cst.CSTNode) -> Value:
    """A Parameter or Buffer of a class of the tree: ``__new__`` makes it, ``__init__`` may still write it."""
    maker = lookup_class(m, cls, "__new__")
    if isinstance(maker, Function):
        made = m.call(maker, Arguments([cls, *arguments.positional], dict(arguments.keyword), arguments.open), node)
    else:
        made = wrap(m, cls, arguments)
    constructor = lookup_class(m, cls, "__init__")
    if isinstance(constructor, Function):
        for _, option in options(made):
            if isinstance(option, Tensor):
                m.call(Bound(constructor, option), arguments, node)
    return made


def wrap(m: Machine, cls: Value, arguments: Arguments) -> Value:
    """``Parameter(data, requires_grad)`` and its relatives: the same memory under a handle."""
    kind = parameter_kind(m, cls) or "parameter"
    data = arguments.get(0, "data")
    names = ("persistent",) if kind == "buffer" else ("requires_grad",)
    flag = arguments.get(1, *names)
    extras = {name: value for name, value in arguments.keyword.items() if name not in ("data", *names)}

    def wrapped(option: Value) -> Value:
        if not isinstance(option, Tensor):
            return Symbol(fresh("tensor")) if option != NONE else option
        trainable = flag if kind == "parameter" and flag is not None else Const(kind == "parameter")
        persistent = flag if kind == "buffer" and flag is not None else Const(True)
        handle = Handle(cls, "buffer" if kind == "buffer" else "parameter", trainable, persistent, extras)
        return Tensor(option.storage, option.dtype, option.region, option.shape, option.layout, handle, option.content)

    return m.each(data, wrapped) if data is not None else Symbol(fresh("tensor"))


def stand_in(m: Machine, symbol: Symbol) -> Obj:
    """The object that stands for an unknown value from its first attribute assignment on."""
    found = m.stand_ins.get(symbol.key)
    if found is None:
        found = m.stand_ins[symbol.key] = Obj(None, symbol.key, module=True)
        m.objects.append(found)
    return found


def read(m: Machine, obj: Obj, name: str) -> Value:
    """``obj.name``."""
    force(m, obj)
    if name in ("_parameters", "_buffers", "_modules", "__dict__"):
        return Registry(obj, name)
    if name == "__class__" and obj.cls is not None:
        return obj.cls
    own = obj.attrs.get(name)
    if own is not None and any(m.guards.meet(g, m.path) for g, _ in options(own)):
        return m.known(own)
    if isinstance(obj.cls, Class):
        found = lookup_class(m, obj.cls, name)
        if found is not None:
            return bind(m, found, obj)
    if obj.module and name in ("register_buffer", "register_parameter"):
        return Method(obj, name)
    return m.watching(obj.key, name) or Symbol(Key("attr", obj.key, name))


def bind(m: Machine, value: Value, receiver: Value) -> Value:
    """A class attribute as the instance shows it: functions become methods, properties are called."""
    if not isinstance(value, Function):
        return value
    if value.is_a("staticmethod"):
        return value
    if value.is_a("classmethod"):
        cls = receiver.cls if isinstance(receiver, Obj) else receiver
        return Bound(value, cls if cls is not None else receiver)
    bound = Bound(value, receiver)
    if value.is_a("property", "cached_property"):
        return m.call(bound, Arguments(), value.node)
    return bound


def read_super(m: Machine, value: Super, name: str) -> Value:
    """``super().name``."""
    receiver = value.receiver
    cls = receiver.cls if isinstance(receiver, Obj) else receiver
    if isinstance(receiver, Tensor) and receiver.handle is not None:
        cls = receiver.handle.cls
    if isinstance(cls, Class):
        found = lookup_class(m, cls, name, after=value.after)
        if found is not None:
            return bind(m, found, receiver) if name != "__new__" else found
    return Method(value, name)


def write(m: Machine, obj: Obj, name: str, value: Value, *, buffer: Handle | None = None) -> None:
    """``obj.name = value``, and everything that makes it state: ``register_buffer`` passes its *buffer*."""
    force(m, obj)
    setter = _setter(m, obj, name) if buffer is None else None
    if setter is not None:
        m.call(Bound(setter, obj), Arguments([value]), setter.node)
        return
    if buffer is not None:
        obj.buffers[name] = buffer
    shown = _as_state(value, buffer or obj.buffers.get(name))
    m.store(obj.attrs, name, shown, whole=True)
    for guard, option in options(shown):
        here = m.guards.all(m.path, guard)
        if here != FALSE:
            site, callers, inner = registration_site(m, option.storage if isinstance(option, Tensor) else None, name)
            explicit = buffer is not None or option is value or any(option is given for _, given in options(value))
            obj.history.setdefault(name, []).append(
                Assignment(here, option, site, callers, explicit, inner, m.steps, len(m.events))
            )


def _setter(m: Machine, obj: Obj, name: str) -> Function | None:
    """The setter of the property *name*, if the object's class has one."""
    found = lookup_class(m, obj.cls, name) if isinstance(obj.cls, Class) else None
    if not isinstance(found, Function) or not found.is_a("property") or found.owner is None:
        return None
    setter = namespace_of(m, found.owner).names.get(setter_of(name))
    return setter if isinstance(setter, Function) else None


def _as_state(value: Value, handle: Handle | None) -> Value:
    """A plain tensor under a name that is a buffer is that buffer."""
    if handle is None:
        return value
    if isinstance(value, Tensor) and value.handle is None:
        return Tensor(value.storage, value.dtype, value.region, value.shape, value.layout, handle, value.content)
    if isinstance(value, Choice):
        return Choice(tuple((guard, _as_state(option, handle)) for guard, option in value.options))
    return value


def delete(m: Machine, obj: Obj, name: str) -> None:
    """``del obj.name``."""
    force(m, obj)
    old = obj.attrs.get(name)
    if old is None:
        return
    kept = [(m.guards.minus(g, m.path), option) for g, option in options(old)]
    kept = [(g, option) for g, option in kept if g != FALSE]
    if kept:
        obj.attrs[name] = m.choose(kept)
    else:
        del obj.attrs[name]


def registration_site(m: Machine, storage: Storage | None, name: str) -> tuple[Site, tuple[Site, ...], Site | None]:
    """The statement that makes the state, the calls that led to it, and the assignment itself if that is elsewhere.

    A wrapper that only passes a tensor on (``add_state(name, tensor)``) is not the place; its call is. So unless
    the assignment itself spells the name, the place is in the innermost call in progress that also led to the
    allocation.
    """
    assert m.frame is not None
    frames = [frame for frame in m.frame.chain() if frame.statement is not None]
    origin = storage.frame.chain() if storage is not None and storage.frame is not None else []
    sites = [frame.statement for frame in frames if frame.statement is not None]
    at = next((at for at, frame in enumerate(frames) if frame in origin), 0)
    if at and spells(sites[0].node, name):
        at = 0
    return sites[at], tuple(reversed(sites[at + 1 :])), sites[0] if at else None


def spells(node: cst.CSTNode | None, name: str) -> bool:
    """Whether *name* occurs below *node* as an attribute or as a string."""
    pending = [node] if node is not None else []
    while pending:
        item = pending.pop()
        if isinstance(item, cst.Attribute) and item.attr.value == name:
            return True
        if isinstance(item, cst.SimpleString) and item.value.strip("rbuRBU\"'") == name:
            return True
        pending += item.children
    return False


def is_tensor_class(m: Machine, cls: Class) -> bool:
    """Whether instances are tensors themselves: a Parameter or Buffer class, or a Tensor subclass."""
    return parameter_kind(m, cls) is not None or External("torch.Tensor") in ancestry(m, cls)


def own_name(obj: Obj) -> str:
    """What messages call the object: the class, or how the code names it."""
    if isinstance(obj.cls, Class):
        return obj.cls.name
    if isinstance(obj.cls, External):
        return obj.cls.name.rpartition(".")[2]
    return text_of(obj.key)
