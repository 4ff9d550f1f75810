"""What a module, a class body or a call has names for."""

from __future__ import annotations

from dataclasses import dataclass, field

from lintinit.model.values import Class, Value
from lintinit.source import Block, SourceFile


@dataclass(slots=True, eq=False)
class Scope:
    """Names of a module, a class body or one call of a function."""

    source: SourceFile
    parent: Scope | None = None
    names: dict[str, Value] = field(default_factory=dict)
    #: The class whose body this is, if any: its functions do not see its names.
    body_of: Class | None = None
    #: Of a module or a class: the blocks that bind a name, executed when somebody asks for it.
    bindings: dict[str, list[Block]] = field(default_factory=dict)
    executed: set[Block] = field(default_factory=set)
    #: Files whose public names are names of this one too, and the names that none of them has.
    stars: list[SourceFile] = field(default_factory=list)
    missing: set[str] = field(default_factory=set)

    @property
    def is_module(self) -> bool:
        """Whether this is the namespace of a file."""
        return self.parent is None
