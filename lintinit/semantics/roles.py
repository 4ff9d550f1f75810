"""What a tensor's values are for, from how they are used and, failing that, from what they are called."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lintinit.semantics.vocabulary import (
    INDICES,
    PACKED,
    PAYLOAD,
    POINTERS,
    QUANTISED,
    SHAPES,
)

if TYPE_CHECKING:
    from lintinit.model.heap import Event, Site

#: Uses that settle the role, most telling first, and how to say it.
_DECISIVE = {"index": "read as an index", "shape": "read as a size", "tag": "compared as a tag"}
_PAYLOADS = ("packed weight", "zero point", "scale bits")
#: Uses that quantised payloads are put to: unpacking and arithmetic.
_NUMERIC = frozenset({"bits", "number", "value", "lookup"})


@dataclass(frozen=True, slots=True)
class Role:
    """A role with the place that shows it."""

    name: str
    #: How a message says it (``read as an index``); empty where the name alone decided.
    evidence: str = ""
    site: Site | None = None

    @property
    def is_payload(self) -> bool:
        """Whether garbage gives wrong numbers but no illegal access."""
        return self.name in _PAYLOADS

    @property
    def is_settled(self) -> bool:
        """Whether more evidence would not change it."""
        return self.is_payload or self.name in _DECISIVE


def role_of(attribute: str, dtype: str, context: Sequence[str], events: Sequence[Event]) -> Role:
    """The role of *attribute*.

    *context* are names that the state is made under: its Parameter class, the class that registers it. *events*
    are the uses of its unwritten memory.
    """
    name = _bare(attribute)
    quantised = any(QUANTISED.search(word) for word in context)
    if _is_narrow(dtype) and quantised and PAYLOAD.search(name) and not INDICES.search(name):
        # Bytes of quantised blocks are looked up in code books, and that is no index into anything else.
        return Role(_payload(name))
    for how, evidence in _DECISIVE.items():
        for event in events:
            if event.kind == "read" and event.how == how:
                return Role(how, evidence, event.site)
    if _is_payload(name, dtype, quantised, events):
        return Role(_payload(name))
    if POINTERS.search(name) and dtype.endswith("64"):
        return Role("pointer")
    for event in events:
        if event.kind in ("opaque", "lend"):
            return Role("unknown", f"passed to `{event.how}`", event.site)
    return Role("unknown")


def _bare(attribute: str) -> str:
    """The attribute without the unknown parts of an f-string name."""
    return re.sub(r"\{[^}]*\}", "", attribute.rpartition(".")[2])


def _is_narrow(dtype: str) -> bool:
    return re.search(r"int8\b|byte", dtype) is not None


def _is_payload(name: str, dtype: str, quantised: bool, events: Sequence[Event]) -> bool:
    if dtype.endswith("bool") or SHAPES.search(name) or INDICES.search(name):
        return False
    if PACKED.search(name):
        return True
    uses = {event.how for event in events if event.kind == "read"}
    if _is_narrow(dtype):
        return bool(PAYLOAD.search(name)) or quantised or (bool(uses) and uses <= _NUMERIC)
    return (quantised and bool(PAYLOAD.search(name))) or uses == {"bits"}


def _payload(name: str) -> str:
    if re.search(r"zero|zp|offset", name, re.IGNORECASE):
        return "zero point"
    return "scale bits" if re.search(r"scale|(?:^|_)sf", name, re.IGNORECASE) else "packed weight"
