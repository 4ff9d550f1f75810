"""Whether stores reach a whole tensor, against a tensor that really counts its elements."""

from __future__ import annotations

from itertools import product
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from truth_tables import CONDITIONS, Case, cases, holds

from lintinit.model.arithmetic import binary
from lintinit.model.guards import TRUE, Guards
from lintinit.model.regions import ALL, SOME, Extent, Mask, Piece, Span, covers, point
from lintinit.model.values import Const, Key, Symbol

SIZE = st.integers(1, 6)
BOUND = st.integers(0, 7)
#: A store to part of a dimension: ``(start, stop, step)``, the position of one row, or everything.
Part = Any
SPANS: st.SearchStrategy[Part] = st.tuples(BOUND, st.one_of(st.none(), BOUND), st.just(1))
PARTS: st.SearchStrategy[Part] = st.one_of(
    SPANS,
    st.tuples(st.integers(0, 2), st.none(), st.integers(2, 3)),
    st.integers(-6, 5),
    st.just("all"),
    st.just("some"),
)


def extent(part: Part, length: int) -> Extent:
    match part:
        case "all":
            return ALL
        case "some":
            return SOME
        case int():
            return point(Const(part), Const(length))
        case start, stop, step:
            return Span(Const(start), Const(stop) if stop is not None else None, step)
    raise AssertionError(part)


def reached(part: Part, length: int) -> set[int]:
    match part:
        case "all":
            return set(range(length))
        case "some":
            return set()
        case int():
            return {range(length)[part]} if -length <= part < length else set()
        case start, stop, step:
            return set(range(length)[start:stop:step])
    raise AssertionError(part)


def is_whole(stores: list[tuple[str | None, list[Part]]], shape: list[int], case: Case) -> bool:
    found: set[tuple[int, ...]] = set()
    for condition, parts in stores:
        if condition is None or case[condition]:
            padded = [*parts, *["all"] * (len(shape) - len(parts))]
            found |= set(product(*(reached(part, size) for part, size in zip(padded, shape, strict=True))))
    return len(found) == len(list(product(*map(range, shape))))


def known(stores: list[tuple[str | None, list[Part]]], shape: list[int], case: Case) -> bool:
    """What lintinit says of it."""
    guards = Guards()
    regions = [
        (
            TRUE if condition is None else guards.atom(condition),
            tuple(extent(part, size) for part, size in zip(parts, shape, strict=False)),
        )
        for condition, parts in stores
    ]
    return holds(guards, covers(regions, tuple(map(Const, shape)), guards), case)


CONDITION = st.one_of(st.none(), st.sampled_from(CONDITIONS))
CASE = st.sampled_from(list(cases()))


@given(st.lists(st.tuples(CONDITION, st.lists(SPANS, min_size=1, max_size=1)), max_size=6), SIZE, CASE)
def test_contiguous_spans_are_exact(stores: list[tuple[str | None, list[Part]]], size: int, case: Case) -> None:
    assert known(stores, [size], case) == is_whole(stores, [size], case)


@given(st.lists(st.tuples(CONDITION, st.lists(PARTS, min_size=1, max_size=1)), max_size=7), SIZE, CASE)
def test_nothing_is_whole_that_is_not(stores: list[tuple[str | None, list[Part]]], size: int, case: Case) -> None:
    if known(stores, [size], case):
        assert is_whole(stores, [size], case)


@given(st.lists(st.tuples(CONDITION, st.lists(PARTS, max_size=2)), max_size=7), SIZE, SIZE, CASE)
def test_nothing_of_two_dimensions_is_whole_that_is_not(
    stores: list[tuple[str | None, list[Part]]], rows: int, columns: int, case: Case
) -> None:
    if known(stores, [rows, columns], case):
        assert is_whole(stores, [rows, columns], case)


@given(SIZE, SIZE, st.integers(0, 6), st.integers(0, 6))
def test_four_tiles(rows: int, columns: int, row: int, column: int) -> None:
    tiles = [[a, b] for a in ((0, row, 1), (row, None, 1)) for b in ((0, column, 1), (column, None, 1))]
    assert known([(None, tile) for tile in tiles], [rows, columns], {})
    for missing in range(4):
        rest: list[tuple[str | None, list[Part]]] = [(None, tile) for tile in tiles if tile != tiles[missing]]
        if known(rest, [rows, columns], {}):
            assert is_whole(rest, [rows, columns], {})


@given(st.integers(2, 5), st.sets(st.integers(0, 4)))
def test_interleaved_rows(step: int, phases: set[int]) -> None:
    stores: list[tuple[str | None, list[Part]]] = [(None, [(phase, None, step)]) for phase in sorted(phases)]
    assert known(stores, [12], {}) == is_whole(stores, [12], {})


@given(st.lists(st.tuples(CONDITION, st.sampled_from("mn"), st.booleans()), max_size=5), CASE)
def test_masks_complement_each_other(stores: list[tuple[str | None, str, bool]], case: Case) -> None:
    guards = Guards()
    regions = [
        (TRUE if condition is None else guards.atom(condition), (Mask(Key("name", mask), selected),))
        for condition, mask, selected in stores
    ]
    done = {(mask, side) for condition, mask, side in stores if condition is None or case[condition]}
    expected = any({(mask, True), (mask, False)} <= done for mask in "mn")
    assert holds(guards, covers(regions, None, guards), case) == expected


@given(st.integers(1, 4), st.lists(st.tuples(CONDITION, st.integers(0, 3)), max_size=6), CASE)
def test_all_pieces_of_a_cut(count: int, stores: list[tuple[str | None, int]], case: Case) -> None:
    guards = Guards()
    cut = Key("name", "cut")
    stores = [(condition, at) for condition, at in stores if at < count]
    regions = [
        (TRUE if condition is None else guards.atom(condition), (Piece(cut, at, count),)) for condition, at in stores
    ]
    done = {at for condition, at in stores if condition is None or case[condition]}
    assert holds(guards, covers(regions, None, guards), case) == (done == set(range(count)))


@given(st.integers(0, 3), st.integers(-1, 1))
def test_unknown_bounds_that_meet(shift: int, gap: int) -> None:
    """``t[: k + shift]`` and ``t[k + shift + gap :]`` of a table of unknown length."""
    guards = Guards()
    middle = binary("+", Symbol(Key("name", "k")), Const(shift))
    stores = [(TRUE, (Span(stop=middle),)), (TRUE, (Span(binary("+", middle, Const(gap))),))]
    assert (covers(stores, None, guards) == TRUE) == (gap <= 0)
