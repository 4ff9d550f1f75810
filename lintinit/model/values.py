"""What an expression of the checked code can stand for.

Values are immutable and compare by content; things with identity (tensors, objects, containers) live in
``heap.py``. An unknown value is a :class:`Symbol`: it is named by how it was computed, so the same
expression met twice is the same unknown. A value that depends on a branch is a :class:`Choice`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from lintinit.errors import Diagnostic

if TYPE_CHECKING:
    import libcst as cst

    from lintinit.model.guards import Guard
    from lintinit.model.heap import Storage
    from lintinit.model.scope import Scope
    from lintinit.source import Block

_MAX_KEY = 300
_anonymous = count()


class Key:
    """How a value was computed: a kind and its parts, compared by content, hashed once.

    A key larger than a few hundred nodes is replaced by one that equals only itself: nobody compares such
    values, and a chain like ``x = f(x, x)`` would make them grow without bound.
    """

    __slots__ = ("_hash", "kind", "parts", "size")

    def __init__(self, kind: str, *parts: Any) -> None:
        self.size = 1 + sum(map(_size, parts))
        if self.size > _MAX_KEY:
            kind, parts = "unknown", (next(_anonymous),)
        self.kind = kind
        self.parts = parts
        self._hash = hash((kind, parts))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, Key)
            and self._hash == other._hash
            and self.kind == other.kind
            and self.parts == other.parts
        )

    def __repr__(self) -> str:
        return f"Key({text_of(self)})"


def _size(part: Any) -> int:
    if type(part) is Key:
        return part.size
    return sum(term.size for term, _ in part) if type(part) is frozenset else 1


class Value:
    """Base of everything an expression evaluates to."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Const(Value):
    """A literal: None, bool, int, float, str, bytes or Ellipsis.

    ``swept`` marks the counter of an unrolled ``range``: stores at it are part of a loop, and a loop gets
    the benefit of the doubt where the length of the table is not known.
    """

    value: Any
    swept: bool = field(default=False, compare=False)


NONE = Const(None)
NO = Const(False)
YES = Const(True)


@dataclass(frozen=True, slots=True)
class Symbol(Value):
    """A value that is not known, named by how it was computed.

    ``sources`` are the storages whose unwritten memory it was read from, if any.
    """

    key: Key
    sources: frozenset[Storage] = frozenset()


@dataclass(frozen=True, slots=True)
class DType(Value):
    """A torch dtype; ``kind`` is ``integer``, ``bool``, ``floating`` or ``complex``."""

    name: str
    kind: str

    @property
    def holds_integers(self) -> bool:
        """Whether a loader that fills floating-point state only would skip it."""
        return self.kind in ("integer", "bool")


@dataclass(frozen=True, slots=True)
class External(Value):
    """Something defined outside the checked tree, by its dotted name (``torch.empty``)."""

    name: str


class Function(Value):
    """A function or lambda of the checked tree, with the scope it closes over. Parsed when its node is asked for."""

    __slots__ = ("_node", "block", "decorators", "name", "owner", "scope")

    def __init__(
        self,
        name: str,
        scope: Scope,
        block: Block,
        node: cst.FunctionDef | cst.Lambda | None = None,
        owner: Class | None = None,
        decorators: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self.scope = scope
        self.block = block
        #: Defined in the body of this class.
        self.owner = owner
        #: Dotted names of the decorators as written.
        self.decorators = decorators
        self._node = node

    @property
    def node(self) -> cst.FunctionDef | cst.Lambda:
        """The definition, with its body."""
        if self._node is None:
            self._node = definition(self.block)
        return self._node

    @property
    def text(self) -> str:
        """The source of the definition, or of the statement that it is a part of."""
        return self.block.text

    def is_a(self, *kinds: str) -> bool:
        """Whether a decorator has one of these names (``property``, ``staticmethod``)."""
        return any(decorator.rpartition(".")[2] in kinds for decorator in self.decorators)


class Class(Value):
    """A class of the checked tree; its bases and its members are evaluated on first use."""

    __slots__ = ("_node", "bases", "block", "name", "namespace", "scope", "split")

    def __init__(self, name: str, scope: Scope, block: Block, node: cst.ClassDef | None = None) -> None:
        self.name = name
        self.scope = scope
        self.block = block
        self.bases: tuple[Value, ...] | None = None
        self.namespace: Scope | None = None
        #: The class is a block of its own, and its members are blocks too.
        self.split = node is None and block.members is not None
        self._node = node

    @property
    def node(self) -> cst.ClassDef:
        """The class statement; only its header where the members are blocks of their own."""
        if self._node is None:
            self._node = definition(self.block, header=self.split)
        return self._node

    @property
    def local(self) -> bool:
        """Defined by a statement in a function."""
        return not self.scope.is_module and self.scope.body_of is None

    def same_as(self, other: object) -> bool:
        """Whether both are the same class statement, perhaps met in different runs."""
        return isinstance(other, Class) and other.block is self.block and other.name == self.name


def definition(block: Block, header: bool = False) -> Any:
    """The definition that *block* consists of."""
    statements = block.header if header else block.statements
    found = next((node for node in statements if type(node).__name__ in ("FunctionDef", "ClassDef")), None)
    if found is None:
        raise Diagnostic(block.source.path, block.line, "cannot be parsed")
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Bound(Value):
    """A function of the checked tree together with the receiver of the call."""

    function: Function
    receiver: Value


@dataclass(frozen=True, slots=True, eq=False)
class Method(Value):
    """A method that the tree does not define (of a tensor, a list, an unknown), with its receiver."""

    receiver: Value
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Partial(Value):
    """``functools.partial(function, ...)``."""

    function: Value
    args: tuple[Value, ...]
    kwargs: tuple[tuple[str, Value], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Super(Value):
    """``super()`` in a method of ``after``, on ``receiver``."""

    after: Class
    receiver: Value


@dataclass(frozen=True, slots=True, eq=False)
class Package(Value):
    """A module of the checked tree."""

    scope: Scope


@dataclass(frozen=True, slots=True, eq=False)
class Imported(Value):
    """A name that an import statement of a file binds; what it is is found out when somebody asks."""

    scope: Scope
    module: str
    level: int
    #: Empty for the module itself.
    name: str


@dataclass(frozen=True, slots=True)
class Choice(Value):
    """One of several values, each under its own guard; the guards exclude one another."""

    options: tuple[tuple[Guard, Value], ...]


def fresh(kind: str = "unknown") -> Key:
    """A key that equals no other."""
    return Key(kind, next(_anonymous))


def key_of(value: Value) -> Key:
    """The key of *value*: equal for values that are certainly the same."""
    if isinstance(value, Symbol):
        return value.key
    if isinstance(value, Const):
        return Key("const", type(value.value).__name__, value.value)
    if isinstance(value, External):
        return Key("external", value.name)
    if isinstance(value, DType):
        return Key("dtype", value.name)
    if isinstance(value, Choice):
        return Key("choice", *(part for guard, option in value.options for part in (guard, key_of(option))))
    return getattr(value, "key", None) or Key("id", type(value).__name__, id(value))


def text_of(key: Key) -> str:
    """How *key* is written in a message: close to the source it came from."""
    parts = key.parts
    match key.kind:
        case "const":
            return str(parts[1])
        case "param" | "external" | "name" | "dtype":
            return str(parts[0])
        case "attr":
            return f"{text_of(parts[0])}.{parts[1]}"
        case "item":
            return f"{text_of(parts[0])}[{text_of(parts[1])}]"
        case "element" if len(parts) > 1:
            return str(parts[1])
        case "call":
            return f"{text_of(parts[0])}(...)"
        case "text":
            return "".join(str(p.parts[1]) if p.kind == "const" else "{" + text_of(p) + "}" for p in parts)
        case "sum":
            return _text_of_sum(*parts)
        case "op":
            return f" {parts[0]} ".join(text_of(part) for part in parts[1:])
    return "..."


def _text_of_sum(terms: frozenset[tuple[Key, int]], constant: int) -> str:
    parts = []
    for name, factor in sorted((text_of(term), factor) for term, factor in terms):
        parts.append(("- " if factor < 0 else "+ ") + (name if abs(factor) == 1 else f"{abs(factor)} * {name}"))
    if constant:
        parts.append(f"{'-' if constant < 0 else '+'} {abs(constant)}")
    return " ".join(parts).removeprefix("+ ")
