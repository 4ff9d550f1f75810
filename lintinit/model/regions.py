"""Which part of a tensor a store reaches, and whether several stores together reach all of it.

A region has one span per leading dimension; trailing dimensions are whole. Everything is symbolic:
``t[: n // 2]`` and ``t[n // 2 :]`` meet, ``t[0]`` and ``t[1:]`` meet, ``t[0::2]`` and ``t[1::2]``
interleave, ``t[mask]`` and ``t[~mask]`` complement each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lintinit.model.arithmetic import binary, difference
from lintinit.model.guards import FALSE, Guard, Guards
from lintinit.model.values import Const, Key, Value

_MAX_STORES = 48
_ZERO = Const(0)


@dataclass(frozen=True, slots=True)
class Span:
    """``start:stop:step`` along one dimension; ``stop`` None is the end.

    ``loop`` spans come from a loop: where their end cannot be compared with the length of the
    dimension they are taken to reach it.
    """

    start: Value = _ZERO
    stop: Value | None = None
    step: int = 1
    loop: bool = False


@dataclass(frozen=True, slots=True)
class Mask:
    """The elements that a boolean tensor selects, or those that it does not."""

    key: Key
    selected: bool


@dataclass(frozen=True, slots=True)
class Piece:
    """One of the *of* parts that ``split`` and the like cut a tensor into."""

    cut: Key
    at: int
    of: int


@dataclass(frozen=True, slots=True)
class Some:
    """Elements that nothing is known about."""


ALL = Span()
SOME = Some()
Extent = Span | Mask | Piece | Some
Region = tuple[Extent, ...]
WHOLE: Region = ()
#: Sizes of the dimensions, None for an unknown size; None where even their number is unknown.
Shape = tuple[Value, ...] | None


def point(index: Value, length: Value | None, loop: bool = False) -> Extent:
    """The single position *index*; negative ones count from *length*."""
    if isinstance(index, Const):
        if type(index.value) is not int:
            return SOME
        if index.value < 0:
            if length is None:
                return SOME
            index = binary("+", length, index)
    return Span(index, binary("+", index, Const(1)), loop=loop)


def covers(stores: Sequence[tuple[Guard, Region]], shape: Shape, guards: Guards) -> Guard:
    """When *stores* together reach every element of a tensor of *shape*."""
    known = list(stores)[-_MAX_STORES:]
    result = FALSE
    rank = max((len(region) for _, region in known), default=0)
    known = [(guard, region + (ALL,) * (rank - len(region))) for guard, region in known]
    for _ in range(rank):
        grown = list(known)
        for dim in range(rank):
            length = shape[dim] if shape is not None and dim < len(shape) else None
            grown += _merge(known, dim, length, guards)
        known = list(dict.fromkeys(grown))[:_MAX_STORES]
        result = guards.any(guard for guard, region in known if all(span == ALL for span in region))
        if result != FALSE:
            return result
    return result


def _merge(
    stores: list[tuple[Guard, Region]], dim: int, length: Value | None, guards: Guards
) -> list[tuple[Guard, Region]]:
    """Stores that differ only along *dim* and together reach all of it, as one store."""
    rows: dict[Region, list[tuple[Guard, Extent]]] = {}
    for guard, region in stores:
        if region[dim] != ALL:
            rows.setdefault((*region[:dim], ALL, *region[dim + 1 :]), []).append((guard, region[dim]))
    merged = []
    for region, parts in rows.items():
        # What reaches further along the other dimensions reaches these rows as well.
        parts = parts + [(guard, other[dim]) for guard, other in stores if _wider(other, region, dim)]
        guard = guards.any(
            (_masks(parts, guards), _pieces(parts, guards), _interleaved(parts, guards), _chain(parts, length, guards))
        )
        if guard != FALSE:
            merged.append((guard, region))
    return merged


def _wider(other: Region, region: Region, dim: int) -> bool:
    rest = [(mine, its) for at, (mine, its) in enumerate(zip(region, other, strict=True)) if at != dim]
    return (
        other[dim] != ALL and any(mine != its for mine, its in rest) and all(its in (ALL, mine) for mine, its in rest)
    )


def _masks(parts: list[tuple[Guard, Extent]], guards: Guards) -> Guard:
    sides: dict[tuple[Key, bool], Guard] = {}
    for guard, part in parts:
        if isinstance(part, Mask):
            side = (part.key, part.selected)
            sides[side] = guards.any((sides.get(side, FALSE), guard))
    return guards.any(
        guards.all(guard, sides[key, False]) for (key, selected), guard in sides.items()
        if selected and (key, False) in sides
    )  # fmt: skip


def _pieces(parts: list[tuple[Guard, Extent]], guards: Guards) -> Guard:
    cuts: dict[tuple[Key, int], dict[int, Guard]] = {}
    for guard, part in parts:
        if isinstance(part, Piece):
            found = cuts.setdefault((part.cut, part.of), {})
            found[part.at] = guards.any((found.get(part.at, FALSE), guard))
    return guards.any(guards.all(*found.values()) for (_, of), found in cuts.items() if len(found) == of)


def _interleaved(parts: list[tuple[Guard, Extent]], guards: Guards) -> Guard:
    phases: dict[int, dict[int, Guard]] = {}
    for guard, part in parts:
        if isinstance(part, Span) and part.step > 1 and isinstance(part.start, Const) and _open(part):
            found = phases.setdefault(part.step, {})
            found[part.start.value] = guards.any((found.get(part.start.value, FALSE), guard))
    return guards.any(
        guards.all(*(found[phase] for phase in range(step)))
        for step, found in phases.items()
        if all(phase in found for phase in range(step))
    )


def _open(span: Span) -> bool:
    return span.stop is None or span.loop


def _chain(parts: list[tuple[Guard, Extent]], length: Value | None, guards: Guards) -> Guard:
    """When the contiguous spans of *parts*, laid end to end from 0, reach *length*."""
    spans = [(guard, part) for guard, part in parts if isinstance(part, Span) and part.step == 1]
    reached = [(guard, span) for guard, span in spans if difference(span.start, Const(0)) == 0]
    result = FALSE
    for _ in range(len(spans)):
        following = []
        for guard, span in reached:
            if _reaches_end(span, length):
                result = guards.any((result, guard))
                continue
            for other, after in spans:
                both = guards.all(guard, other)
                if both != FALSE and after != span and span.stop is not None and _meets(after, span.stop):
                    following.append((both, replace(after, start=Const(0), loop=span.loop and after.loop)))
        reached = list(dict.fromkeys(following))
        if not reached:
            break
    return result


def _meets(span: Span, end: Value) -> bool:
    gap = difference(span.start, end)
    return gap is not None and gap <= 0 and difference(span.start, Const(0)) != 0


def _reaches_end(span: Span, length: Value | None) -> bool:
    if span.stop is None:
        return True
    if length is not None:
        missing = difference(length, span.stop)
        if missing is not None:
            return missing <= 0
    return span.loop
