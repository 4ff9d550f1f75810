"""Guards evaluated for every combination of their conditions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from lintinit.model.guards import FALSE, Guard, Guards

CONDITIONS = "pqrs"
Case = dict[str, bool]


def cases() -> Iterator[Case]:
    """Every combination of the conditions."""
    return (dict(zip(CONDITIONS, values, strict=True)) for values in product((False, True), repeat=len(CONDITIONS)))


def holds(guards: Guards, guard: Guard, case: Case) -> bool:
    """Whether *guard* is true in *case*."""
    literals = [guards.atom(key) if value else guards.negate(guards.atom(key)) for key, value in case.items()]
    return guards.all(guard, *literals) != FALSE


def table(guards: Guards, guard: Guard) -> list[bool]:
    """The truth table of *guard*."""
    return [holds(guards, guard, case) for case in cases()]
