"""Boolean functions against their truth tables."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from truth_tables import CONDITIONS, Case, cases, table

from lintinit.model.guards import FALSE, TRUE, Guard, GuardLimit, Guards

#: ``("and", parts)``, ``("or", parts)``, ``("not", part)``, a condition or a truth value.
Formula = Any
FORMULAS: st.SearchStrategy[Formula] = st.recursive(
    st.sampled_from([*CONDITIONS, True, False]),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["and", "or"]), st.lists(inner, max_size=3)), st.tuples(st.just("not"), inner)
    ),
    max_leaves=8,
)


def build(guards: Guards, formula: Formula) -> Guard:
    match formula:
        case bool():
            return TRUE if formula else FALSE
        case str():
            return guards.atom(formula)
        case "not", part:
            return guards.negate(build(guards, part))
        case "and", parts:
            return guards.all(*(build(guards, part) for part in parts))
        case "or", parts:
            return guards.any(build(guards, part) for part in parts)
    raise AssertionError(formula)


def truth(formula: Formula, case: Case) -> bool:
    match formula:
        case bool():
            return formula
        case str():
            return case[formula]
        case "not", part:
            return not truth(part, case)
        case "and", parts:
            return all(truth(part, case) for part in parts)
        case "or", parts:
            return any(truth(part, case) for part in parts)
    raise AssertionError(formula)


def depends(formula: Formula, condition: str) -> bool:
    return any(
        truth(formula, {**case, condition: True}) != truth(formula, {**case, condition: False}) for case in cases()
    )


@given(FORMULAS)
def test_guard_has_the_truth_table_of_its_formula(formula: Formula) -> None:
    guards = Guards()
    assert table(guards, build(guards, formula)) == [truth(formula, case) for case in cases()]


@given(FORMULAS, FORMULAS)
def test_equal_functions_are_the_same_guard(first: Formula, second: Formula) -> None:
    guards = Guards()
    equal = all(truth(first, case) == truth(second, case) for case in cases())
    assert (build(guards, first) == build(guards, second)) == equal


@given(FORMULAS, FORMULAS)
def test_questions(first: Formula, second: Formula) -> None:
    guards = Guards()
    left, right = build(guards, first), build(guards, second)
    assert guards.possible(left) == any(truth(first, case) for case in cases())
    assert guards.implies(left, right) == all(truth(second, case) for case in cases() if truth(first, case))
    assert table(guards, guards.minus(left, right)) == [truth(first, c) and not truth(second, c) for c in cases()]
    assert guards.mentions(left) == {condition for condition in CONDITIONS if depends(first, condition)}


@given(FORMULAS, st.sets(st.sampled_from([*CONDITIONS, "unknown"])))
def test_without_conditions(formula: Formula, removed: set[str]) -> None:
    guards = Guards()
    for condition in CONDITIONS:
        guards.atom(condition)
    rest = guards.without(build(guards, formula), removed)
    assert table(guards, rest) == [truth(formula, c) and not any(c.get(key) for key in removed) for c in cases()]


def consistent(facts: list[Formula], case: Case) -> bool:
    return all(truth(fact, case) for fact in facts)


@given(FORMULAS, st.lists(FORMULAS, max_size=3))
def test_facts_never_rule_out_what_can_happen(formula: Formula, facts: list[Formula]) -> None:
    guards = Guards()
    for fact in facts:
        guards.assume(build(guards, fact))
    guard = build(guards, formula)
    if any(truth(formula, case) and consistent(facts, case) for case in cases()):
        assert guards.possible(guard)
    if guards.implies(guards.atom("p"), guard):
        assert all(truth(formula, case) for case in cases() if case["p"] and consistent(facts, case))


@given(FORMULAS, FORMULAS)
def test_a_fact_about_the_same_conditions_is_used(formula: Formula, fact: Formula) -> None:
    guards = Guards()
    guards.assume(build(guards, fact))
    guard = build(guards, formula)
    if guards.mentions(guard) & {condition for condition in CONDITIONS if depends(fact, condition)}:
        assert guards.possible(guard) == any(truth(formula, case) and truth(fact, case) for case in cases())


@given(st.lists(st.sampled_from(CONDITIONS), min_size=2, unique=True))
def test_of_exclusive_conditions_at_most_one_holds(members: list[str]) -> None:
    guards = Guards()
    for member in members * 2:
        guards.exclusive("mode", member, guards.atom(member))
    for case in cases():
        chosen = [member for member in members if case[member]]
        assert guards.possible(guards.all(*map(guards.atom, chosen))) == (len(chosen) <= 1)


def test_growth_has_a_limit_for_each_question() -> None:
    guards = Guards()
    low, high = ([guards.atom((side, number)) for number in range(18)] for side in "lh")
    with pytest.raises(GuardLimit):
        guards.any(guards.all(a, b) for a, b in zip(low, high, strict=True))
    guards.extend()
    assert guards.implies(low[0], guards.any(low))
