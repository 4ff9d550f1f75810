"""Things with identity: memory, tensors that look at it, objects, containers, and what happens to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from lintinit.model.guards import FALSE, TRUE, Guard
from lintinit.model.regions import WHOLE, Region, Shape
from lintinit.model.values import (
    YES,
    Choice,
    Class,
    External,
    Key,
    Symbol,
    Value,
    fresh,
    key_of,
)
from lintinit.source import Position

if TYPE_CHECKING:
    import libcst as cst

    from lintinit.model.machine import Frame
    from lintinit.source import Block


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """A place in the checked code: a node and the block that it was parsed from."""

    block: Block
    node: cst.CSTNode | None

    @property
    def position(self) -> Position:
        """Where it is in its file: the node, or the line where the block begins."""
        if self.node is None:
            return Position(self.block.line, 1, self.block.line, 1)
        return self.block.position(self.node)


@dataclass(frozen=True, slots=True)
class Store:
    """Part of a memory got a value: under a guard, in the coordinates of a layout."""

    guard: Guard
    region: Region
    layout: Key | None


@dataclass(slots=True, eq=False)
class Storage:
    """The memory behind a tensor, and when its content is defined."""

    site: Site | None
    #: The allocating call as the code names it, for messages; empty for memory born with values.
    allocator: str = ""
    shape: Shape = None
    filled: Guard = FALSE
    #: When all of it was stored to, be it with undefined values from elsewhere.
    overwritten: Guard = FALSE
    #: Stores into parts.
    stores: list[Store] = field(default_factory=list)
    #: Allocations whose unwritten content this was computed from.
    sources: frozenset[Storage] = frozenset()
    #: When the memory is virtual (``device="meta"``) or has no elements.
    absent: Guard = FALSE
    #: Bits were cut out of packed storage: small numbers, and no index of anything but a lookup table.
    unpacked: bool = False
    #: A legacy constructor's argument that may be the data itself (``torch.LongTensor(x)``).
    data: Key | None = None
    #: The call in progress when the memory was allocated.
    frame: Frame | None = None
    key: Key = field(default_factory=lambda: fresh("tensor"))

    def roots(self) -> frozenset[Storage]:
        """The allocations that this memory's undefined content goes back to."""
        return self.sources | {self} if self.allocator else self.sources


@dataclass(slots=True, eq=False)
class Handle:
    """What a parameter or buffer object is beside its data: its class and the attributes set on it."""

    cls: Value
    kind: Literal["parameter", "buffer"]
    trainable: Value = YES
    persistent: Value = YES
    attrs: dict[str, Value] = field(default_factory=dict)
    #: Attributes of unknown names were set on it.
    annotated: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Tensor(Value):
    """A tensor: a look at a storage, whole or in part."""

    storage: Storage
    #: DType, a Choice of them, or a Symbol where unknown.
    dtype: Value
    region: Region = WHOLE
    shape: Shape = None
    #: Names the coordinates that regions are given in: views that rearrange elements have their own.
    layout: Key | None = None
    handle: Handle | None = None
    #: ``permutation`` where the values are known to be each index once.
    content: str = ""
    #: The region fixes leading dimensions that the tensor no longer has, so that indexing goes on behind them.
    row: bool = False

    @property
    def key(self) -> Key:
        """Equal for tensors over the same memory."""
        return Key("view", self.storage.key, self.layout, self.region)


@dataclass(slots=True, eq=False)
class Obj(Value):
    """An instance: of a class of the tree, of an outside class, or of something unknown."""

    cls: Class | External | None
    key: Key
    attrs: dict[str, Value] = field(default_factory=dict)
    #: Assignments per attribute, oldest first.
    history: dict[str, list[Assignment]] = field(default_factory=dict)
    #: Names that ``register_buffer`` made buffers: a plain tensor assigned later stays one.
    buffers: dict[str, Handle] = field(default_factory=dict)
    #: Constructor call that runs when somebody looks inside: (positional, keyword, guard).
    pending: tuple[tuple[Value, ...], dict[str, Value], Guard] | None = None
    #: Elements of ModuleList, ParameterList, ParameterDict and the like.
    items: Map | None = None
    #: Iterating gives the keys of ``items``, as for a dict.
    keyed: bool = False
    module: bool = False
    site: Site | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """An attribute got a value here."""

    guard: Guard
    value: Value
    site: Site
    #: The calls that led to ``site``, outermost first.
    callers: tuple[Site, ...] = ()
    #: A registration as such, as against a plain tensor under the name of a buffer.
    explicit: bool = True
    #: The assignment itself, where ``site`` is a call of something that only passes the value on.
    inner: Site | None = None
    #: How far the run was: statements executed, and events recorded.
    step: int = 0
    events: int = 0


@dataclass(slots=True, eq=False)
class Seq(Value):
    """A list, tuple, set or iterator; each element exists under its guard."""

    items: list[tuple[Guard, Value]]
    exact: bool = True
    #: Stands for the elements that are not known.
    rest: Value = field(default_factory=lambda: Symbol(fresh("element")))
    #: A ``torch.Size``.
    sizes: bool = False
    key: Key = field(default_factory=lambda: fresh("list"))


@dataclass(slots=True, eq=False)
class Map(Value):
    """A dict: entries in order, later ones win."""

    entries: list[tuple[Guard, Value, Value]] = field(default_factory=list)
    exact: bool = True
    key: Key = field(default_factory=lambda: fresh("dict"))


@dataclass(slots=True, eq=False)
class Registry(Value):
    """``module._parameters``, ``module._buffers``, ``module.__dict__``: the state of *owner* as a dict."""

    owner: Obj
    kind: str


@dataclass(frozen=True, slots=True)
class Slice(Value):
    """``start:stop:step`` as written, or ``slice(start, stop, step)``; None where left out."""

    start: Value | None
    stop: Value | None
    step: Value | None

    @property
    def key(self) -> Key:
        """Equal for equal bounds."""
        return Key(
            "slice", *(key_of(bound) if bound is not None else None for bound in (self.start, self.stop, self.step))
        )


Kind = Literal["write", "read", "opaque", "lend"]


@dataclass(frozen=True, slots=True)
class Event:
    """Something happened to memory: it was written, its content was used, a call out of sight got it.

    ``lend`` is an ``opaque`` of a leading part, ``kernel(x, buffer[:n])``: how a call that writes its output
    is given the place for it.
    """

    kind: Kind
    storage: Storage
    guard: Guard
    site: Site
    #: ``write``: ``full`` or ``part``. ``read``: what the content was used as (``index``, ``shape``, ...).
    #: ``opaque`` and ``lend``: the name of what was called.
    how: str


def options(value: Value) -> tuple[tuple[Guard, Value], ...]:
    """The alternatives of *value* with their guards."""
    return value.options if isinstance(value, Choice) else ((TRUE, value),)
