"""The model of one file: what rules ask."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeVar

from lintinit.finding import Label
from lintinit.model.constructions import Construction, State, constructions
from lintinit.model.guards import GuardLimit
from lintinit.model.heap import Site
from lintinit.model.machine import RunLimit
from lintinit.model.values import Class
from lintinit.program import Program
from lintinit.source import Block, SourceFile

Answer = TypeVar("Answer")


class FileModel:
    """The constructions of a file and questions about them that reach beyond one of them."""

    def __init__(
        self,
        program: Program,
        source: SourceFile,
        blocks: list[Block],
        defaults: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.program = program
        #: Default values that people ask for, by attribute (:class:`lintinit.fixes.defaults.Default`).
        self.defaults = defaults
        self.source = source
        self.blocks = blocks

    @cached_property
    def constructions(self) -> list[Construction]:
        """Every construction that starts in the file's candidate blocks."""
        return list(constructions(self.program, self.source, self.blocks))

    def ask(self, question: Callable[[Construction], Iterable[Answer]]) -> Iterator[Answer]:
        """The answers to *question* for every construction; one whose conditions get out of hand gives none."""
        for construction in self.constructions:
            construction.machine.guards.extend()
            try:
                yield from list(question(construction))
            except (GuardLimit, RunLimit, RecursionError):
                continue

    def mentioning(self, name: str) -> Iterator[SourceFile]:
        """This file, then the other files of its package that name *name*."""
        yield self.source
        if "{" not in name:
            yield from self.program.mentioning(self.source, name)

    def filled_by_owner(self, state: State) -> bool:
        """Whether every class of the file that builds the state's class also fills the state.

        This is how a model initialises its layers: ``self.apply(self._init)``, transformers' ``_init_weights``,
        a loop over ``self.modules()``. A class that nobody in the file builds has to fill its state itself.
        """
        cls = state.owner.cls
        if not isinstance(cls, Class) or cls.block.source is not self.source:
            return False
        found = False
        for construction in self._owners(cls.name):
            for other in construction.states():
                if other.name == state.name and cls.same_as(other.owner.cls):
                    if other.owner is construction.target:
                        continue
                    found = True
                    if construction.machine.guards.possible(other.unwritten):
                        return False
        return found

    def _owners(self, name: str) -> list[Construction]:
        """Constructions of the classes that build *name*, directly or through others, with those built at once."""
        if name not in self._built:
            chain = {name}
            blocks: list[Block] = []
            for _ in range(4):
                word = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(chain)))})\s*\(")
                blocks = [block for block in self.source.blocks if word.search(block.text)]
                grown = chain | {
                    bound
                    for block in blocks
                    for bound in block.binds
                    if block.head is not None and block.head[0] == "class"
                }
                if grown == chain:
                    break
                chain = grown
            self._built[name] = list(constructions(self.program, self.source, blocks, frozenset(chain)))
        return self._built[name]

    @cached_property
    def _built(self) -> dict[str, list[Construction]]:
        return {}

    def label(self, site: Site, text: str) -> Label:
        """A labelled location for *site*."""
        return Label(site.block.source.path, site.position, text)
