"""Repairs as data: what a fix changes in a file, and why there is none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from lintinit.source import Position

Safety = Literal["safe", "unsafe"]


@dataclass(frozen=True, slots=True)
class Edit:
    """Text that takes the place of a range of a file; an insertion where the range is empty.

    ``start`` and ``end`` count the characters of the file's text without a byte order mark.
    """

    start: int
    end: int
    text: str
    position: Position
    #: Comes behind other insertions at the same place.
    late: bool = False


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that repair one finding."""

    #: What it does and why that value, as one sentence.
    title: str
    safety: Safety
    edits: tuple[Edit, ...]
    #: Names of methods that it adds: two fixes that claim the same one are not applied at once.
    claims: frozenset[str] = frozenset()
    #: What to do where the code turns out not to be repaired by this.
    otherwise: Fix | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a finding cannot be repaired by inserting something."""

    reason: str


Remedy = Fix | Refusal


def compatible(fixes: Iterable[Fix]) -> list[Fix]:
    """The fixes that can be applied together: of those that overlap or claim the same name, the first."""
    chosen: list[Fix] = []
    for fix in fixes:
        if not any(fix.claims & other.claims or _overlap(fix, other) for other in chosen):
            chosen.append(fix)
    return chosen


def _overlap(one: Fix, other: Fix) -> bool:
    return any(a != b and a.start < b.end and b.start < a.end for a in one.edits for b in other.edits)


def apply(text: str, fixes: Iterable[Fix]) -> str:
    """*text* with the edits of all *fixes*; the same edit made by several (an import) is made once."""
    edits = enumerate(dict.fromkeys(edit for fix in fixes for edit in fix.edits))
    backwards = sorted(((edit.start, edit.end, edit.late, at, edit) for at, edit in edits), reverse=True)
    for *_, edit in backwards:
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def together(remedies: Iterable[Remedy]) -> Remedy:
    """One repair of all; the first refusal, if there is one."""
    fixes: list[Fix] = []
    for remedy in remedies:
        if isinstance(remedy, Refusal):
            return remedy
        fixes.append(remedy)
    if len(fixes) == 1:
        return fixes[0]
    return Fix(
        "; ".join(dict.fromkeys(fix.title for fix in fixes)),
        "unsafe" if any(fix.safety == "unsafe" for fix in fixes) else "safe",
        tuple(sorted(dict.fromkeys(edit for fix in fixes for edit in fix.edits), key=lambda edit: edit.late)),
        frozenset().union(*(fix.claims for fix in fixes)),
    )
