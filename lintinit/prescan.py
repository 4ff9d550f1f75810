"""Which statements of a file can hold a finding, decided by their text alone.

A finding needs memory without values, a registration and a dtype that is not floating. A class or function shows
these itself, in the classes it extends, or in what it names: a function that returns memory or registers what it is
given, a constant or function that says the dtype, a class that takes the dtype or the tensor. Names are followed
into the files that they are imported from. This costs a small part of parsing, and what it drops holds no finding.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lintinit.import_lines import Import
from lintinit.program import Program
from lintinit.semantics.traits import (
    INTEGERS,
    MEMORY,
    REGISTRATION,
    Trait,
    allocates,
    holds_integers,
)
from lintinit.source import Block, SourceFile

_PREPARES = re.compile(r"\b(?!self\b|super\b)\w+\.register_(?:parameter|buffer)\(|set_weight_attrs")
_STATE_CLASS = re.compile(r"(?:Param(?:eter)?|Buffer|Tensor)\b")
_TENSOR_TYPE = re.compile(r"\bTensor\b(?!\s*\()")
_TENSOR_ALIAS = re.compile(r"\b(\w+)\s*=\s*[\w.]*\bTensor\b(?!\s*\()")
_CALLED = re.compile(r"\.(\w+)\(")
_HANDS_BACK = re.compile(r"\b(?:return|yield)\b")
_SAYS_DTYPE = re.compile(r"\breturn\b[^\n]*|\b\w*dtype\w*\s*=[^\n]*")
_TAKES_DTYPE = re.compile(r"\bdef __init__\([^)]*(?:type|\*\*|\*\w|kwargs|cls|spec)|[\w.]*type\w*:")


class Prescan:
    """Decides for the files of one program; what it learns about a definition serves every file that names it."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._shown: dict[tuple[str, int, Trait], bool] = {}
        self._lending: dict[tuple[str, int, Trait], bool] = {}
        #: What lends each trait to the statements that name it; None where the name of an import says so.
        self._lenders: dict[tuple[str, int, Trait], list[Block] | None] = {}
        self._makes: dict[tuple[str, int], bool] = {}
        self._alias_calls: dict[tuple[str, str], bool] = {}
        self._exports: dict[tuple[str, str], list[Block]] = {}
        self._members: dict[tuple[str, int], list[tuple[Block, bool]]] = {}
        self._bases: dict[tuple[str, int], list[Block]] = {}

    def forget_files(self) -> None:
        """Let go of everything that keeps a file in memory; what is known by place stays."""
        self._exports = {key: found for key, found in self._exports.items() if not found}
        self._lenders = {key: found for key, found in self._lenders.items() if not found}
        self._members.clear()
        self._bases.clear()

    def candidates(self, source: SourceFile) -> list[Block]:
        """The top-level statements of *source* that may hold a finding."""
        return [block for block in source.blocks if not block.is_import and self._may_find(block)]

    def _may_find(self, block: Block) -> bool:
        unit = [block, *self._inherited(block)]
        own = {trait for trait in (MEMORY, REGISTRATION) if any(self._shows(b, trait) for b in unit)}
        # Whether anything is an integer costs most to look for, and what shows nothing itself is lent nothing.
        integers = None if own else any(self._shows(b, INTEGERS) for b in unit)
        if integers is False:
            return False
        for trait in (MEMORY, REGISTRATION):
            if trait not in own and not any(self._lent(b, trait, own, block) for b in unit):
                return False
        return integers or any(self._shows(b, INTEGERS) or self._lent(b, INTEGERS, own, block) for b in unit)

    def _inherited(self, block: Block) -> list[Block]:
        """What construction takes from the classes that *block* extends.

        Of classes in other files these are the members that a constructor leads to, and those that register state
        on something they are given: what else is there, their own file is checked for.
        """
        found: list[Block] = []
        words = set(block.words)
        for base in self._extended(block):
            members = self._members_of(base)
            if base.source is block.source or not members:
                found.append(base)
                words |= base.words
                continue
            taken = [member for member, always in members if always or member.binds[0] in words]
            while taken:
                found += taken
                gained = set().union(*(member.words for member in taken)) - words
                words |= gained
                taken = [m for m, always in members if not always and m.binds[0] in gained]
        return found

    def _extended(self, block: Block) -> list[Block]:
        """The classes that *block* extends, directly or through others."""
        if not _is_class(block):
            return []
        found = self._bases.get(_key(block))
        if found is None:
            found = self._bases[_key(block)] = []
            for base in self._definitions(block, block.header_words):
                if _is_class(base) and base is not block:
                    found += [b for b in (base, *self._extended(base)) if b not in found]
        return found

    def _members_of(self, cls: Block) -> list[tuple[Block, bool]]:
        """The members of a class, and whether each is executed or looked at without anybody naming it."""
        key = _key(cls)
        if key not in self._members:
            # A class method makes objects of the class; their construction starts at the constructor all the same.
            self._members[key] = [
                (m, _starts(m) or _PREPARES.search(m.text) is not None)
                for m in cls.members or ()
                if not m.text.lstrip().startswith("@classmethod")
            ]
        return self._members[key]

    def _lent(self, block: Block, trait: Trait, own: set[Trait], checked: Block) -> bool:
        """Whether something that *block* names brings *trait* to code that shows *own* by itself."""
        key = (*_key(block), trait)
        if key not in self._lenders:
            renamed = any(trait.shows(f"import {imported.name}") for imported in _renamed(block))
            self._lenders[key] = None if renamed else [h for h in self._named(block, trait) if self._may_lend(h, trait)]
        lenders = self._lenders[key]
        return lenders is None or any(self._lends(helper, trait, own, checked) for helper in lenders)

    def _may_lend(self, helper: Block, trait: Trait) -> bool:
        """Whether *helper* brings *trait* to anybody at all."""
        if _is_class(helper):
            return any(self._shows(b, trait) for b in (helper, *self._extended(helper)))
        return self._function_lends(helper, trait)

    def _lends(self, helper: Block, trait: Trait, own: set[Trait], checked: Block) -> bool:
        if _is_class(helper):
            return helper.source is checked.source and self._class_lends(helper, trait, own)
        return trait is not MEMORY or self._may_call(checked.source, helper)

    def _function_lends(self, helper: Block, trait: Trait) -> bool:
        key = (*_key(helper), trait)
        if key not in self._lending:
            inner = (h for h in self._named(helper, trait) if h.source is helper.source and not _is_class(h))
            named = (h for h in inner if trait is not MEMORY or self._may_call(helper.source, h))
            self._lending[key] = any(self._gives(h, trait) for h in (helper, *named))
        return self._lending[key]

    def _class_lends(self, cls: Block, trait: Trait, own: set[Trait]) -> bool:
        """Whether a class of the same file can bring *trait* to who constructs it.

        A module's own state is found where the module is looked at, unless it takes the tensor or the dtype.
        """
        unit = [cls, *(base for base in self._extended(cls) if base.source is cls.source)]
        if not any(self._shows(b, trait) for b in unit):
            return False
        if _STATE_CLASS.search(cls.header_text) or not any(self._shows(b, REGISTRATION) for b in unit):
            return True
        takes_tensor = trait is REGISTRATION and MEMORY in own
        return takes_tensor or (trait is not INTEGERS and any(_TAKES_DTYPE.search(b.text) for b in unit))

    def _gives(self, helper: Block, trait: Trait) -> bool:
        """Whether a function or value can hand *trait* to who names it."""
        if not self._shows(helper, trait):
            return False
        if helper.head is None or trait is REGISTRATION:
            return True
        if trait is MEMORY or self._shows(helper, MEMORY):
            return _HANDS_BACK.search(helper.text) is not None
        return any(holds_integers(line) for line in _SAYS_DTYPE.findall(helper.text))

    def _may_call(self, source: SourceFile, named: Block) -> bool:
        """False where *named* makes memory by a name for ``torch.Tensor`` only, which *source* uses as a type."""
        key = _key(named)
        if key not in self._makes:
            self._makes[key] = _makes_memory(named)
        return self._makes[key] or self._calls_alias(source, named)

    def _calls_alias(self, source: SourceFile, named: Block) -> bool:
        names = "|".join(_TENSOR_ALIAS.findall(named.text)) or r"\w+"
        key = (source.real_path, names)
        if key not in self._alias_calls:
            pattern = rf"\b(?:{names})\s*\(|(?:=|partial\(|return)\s*(?:{names})\b"
            self._alias_calls[key] = re.search(pattern, source.text) is not None
        return self._alias_calls[key]

    def _shows(self, block: Block, trait: Trait) -> bool:
        key = (*_key(block), trait)
        if key not in self._shown:
            self._shown[key] = trait.shows(block.text)
        return self._shown[key]

    def _named(self, block: Block, trait: Trait) -> Iterator[Block]:
        """What *block* names."""
        source = block.source
        for definition in self._definitions(block, block.words):
            if definition is not block:
                yield definition
        if trait is not INTEGERS:
            for name in source.allocating_methods.keys() & set(_CALLED.findall(block.text)):
                yield from source.allocating_methods[name]

    def _definitions(self, block: Block, words: set[str]) -> Iterator[Block]:
        source = block.source
        yield from _bound(source, words)
        for alias in words & source.imports.keys():
            for imported in source.imports[alias]:
                yield from self._meant(source, imported, words)
        for imported in (*source.imports.get("*", ()), *block.inner_imports):
            if imported.name == "*" or imported.alias in words:
                yield from self._meant(source, imported, words)

    def _meant(self, source: SourceFile, imported: Import, words: set[str]) -> Iterator[Block]:
        """The definitions in other files that an import brings in, of a module those that *words* may mean."""
        if imported.name not in ("", "*"):
            below = f"{imported.module}.{imported.name}".lstrip(".")
            if self._program.find(below, imported.level, source) is None:
                yield from self._exported(source, imported)
                return
            imported = Import(below, imported.level, "", imported.alias)
        target = self._program.find(imported.module, imported.level, source)
        if target is not None:
            yield from _bound(target, words)
            for alias in words & target.imports.keys():
                for passed in target.imports[alias]:
                    yield from self._exported(target, passed)

    def _exported(self, source: SourceFile, imported: Import) -> list[Block]:
        """The definitions of an imported name, through files that only pass it on."""
        target = self._program.find(imported.module, imported.level, source)
        if target is None or not target.may_bind(imported.name):
            return []
        key = (target.real_path, imported.name)
        found = self._exports.get(key)
        if found is None:
            found = self._exports[key] = []
            found += _bound(target, {imported.name})
            if not found:
                passed_on = target.imports.get(imported.name, []) or [
                    Import(star.module, star.level, imported.name, imported.name)
                    for star in target.imports.get("*", ())
                ]
                for passed in passed_on:
                    found += self._exported(target, passed)
                    if found:
                        break
        return found


def _bound(source: SourceFile, names: set[str]) -> Iterator[Block]:
    for name in names & source.bindings.keys():
        yield from (block for block in source.bindings[name] if not block.is_import)


def _starts(member: Block) -> bool:
    """Whether construction of a class executes *member* without anybody naming it."""
    return (
        member.head is None
        or not member.binds
        or member.head[1] in ("__init__", "__new__", "__post_init__", "__init_subclass__")
    )


def _renamed(block: Block) -> Iterator[Import]:
    """Imports under another name, of what *block* uses: its text does not show what they are."""
    imports = block.source.imports
    found = [imported for alias in block.words & imports.keys() for imported in imports[alias]] + block.inner_imports
    return (imported for imported in found if imported.name and imported.name != imported.alias)


def _makes_memory(block: Block) -> bool:
    """Whether *block* makes memory in another way than by a name for ``torch.Tensor``."""
    return block.head is not None or "Tensor" not in block.text or allocates(_TENSOR_TYPE.sub("", block.text))


def _is_class(block: Block) -> bool:
    return block.head is not None and block.head[0] == "class"


def _key(block: Block) -> tuple[str, int]:
    return block.source.real_path, block.start
