"""Branch conditions as boolean functions, so that "filled whenever it exists" is a question of logic.

A guard is a node of a reduced ordered binary decision diagram (Bryant 1986): equal functions are the
same integer, which makes implication and equivalence cheap to ask. Atoms are the conditions of the
checked code that nothing decides statically (``hashed``, ``bias is None``); an atom that was met before
is the same atom again, and that is how two ``if hashed:`` blocks are known to run together.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

Guard = int
FALSE: Guard = 0
TRUE: Guard = 1

_TERMINAL = 1 << 30
_ROOM = 40_000


class GuardLimit(Exception):
    """The conditions of one construction grew beyond what is worth deciding."""


class Guards:
    """The conditions of one run: atoms in order of appearance, and the diagram over them."""

    def __init__(self) -> None:
        self._room = _ROOM
        self._nodes: list[tuple[int, Guard, Guard]] = [(_TERMINAL, 0, 0), (_TERMINAL, 1, 1)]
        self._index: dict[tuple[int, Guard, Guard], Guard] = {}
        self._memo: dict[tuple[Guard, Guard, Guard], Guard] = {}
        self._met: dict[tuple[Guard, Guard], bool] = {}
        self._atoms: dict[Hashable, Guard] = {}
        #: What is known to hold, by the atoms that it is about.
        self._facts: dict[frozenset[Hashable], Guard] = {}
        self._rivals: dict[Hashable, list[tuple[Hashable, Guard]]] = {}

    def atom(self, key: Hashable) -> Guard:
        """The guard that is true exactly when the condition *key* is."""
        found = self._atoms.get(key)
        if found is None:
            found = self._atoms[key] = self._node(len(self._atoms), FALSE, TRUE)
        return found

    def exclusive(self, group: Hashable, member: Hashable, guard: Guard) -> None:
        """State that of all members of *group* at most one holds (``mode == "a"``, ``mode == "b"``)."""
        known = self._rivals.setdefault(group, [])
        if all(member != other for other, _ in known):
            for _, rival in known:
                self.assume(self.negate(self.all(guard, rival)))
            known.append((member, guard))

    def extend(self) -> None:
        """Give the next question as much room as the run itself had."""
        self._room = len(self._nodes) + _ROOM

    def assume(self, guard: Guard) -> None:
        """State that *guard* holds in every run that gets on: its other cases raise."""
        about = frozenset(self.mentions(guard))
        self._facts[about] = self.all(self._facts.get(about, TRUE), guard)

    def all(self, *guards: Guard) -> Guard:
        """Conjunction."""
        result = TRUE
        for guard in guards:
            result = self._choose(result, guard, FALSE) if result < guard else self._choose(guard, result, FALSE)
        return result

    def meet(self, one: Guard, other: Guard) -> bool:
        """Whether both can hold at once; quicker than their conjunction, of which nothing has to be built."""
        if one <= TRUE or other <= TRUE:
            return one != FALSE and other != FALSE
        if one == other:
            return True
        key = (one, other) if one < other else (other, one)
        found = self._met.get(key)
        if found is None:
            level, low, high = self._nodes[one]
            other_level, other_low, other_high = self._nodes[other]
            if level < other_level:
                other_low = other_high = other
            elif other_level < level:
                low = high = one
            found = self._met[key] = self.meet(low, other_low) or self.meet(high, other_high)
        return found

    def any(self, guards: Iterable[Guard]) -> Guard:
        """Disjunction."""
        result = FALSE
        for guard in guards:
            result = self._choose(result, TRUE, guard)
        return result

    def negate(self, guard: Guard) -> Guard:
        """Complement."""
        return self._choose(guard, FALSE, TRUE)

    def minus(self, guard: Guard, removed: Guard) -> Guard:
        """*guard* without the cases of *removed*."""
        return self._choose(removed, FALSE, guard)

    def possible(self, guard: Guard) -> bool:
        """Whether some run of the program can take *guard*, as far as facts about the same atoms tell."""
        if guard == FALSE or not self._facts:
            return guard != FALSE
        about = self.mentions(guard)
        for atoms, fact in self._facts.items():
            if not about.isdisjoint(atoms):
                guard = self.all(guard, fact)
        return guard != FALSE

    def implies(self, premise: Guard, conclusion: Guard) -> bool:
        """Whether every possible run that takes *premise* takes *conclusion* too."""
        return not self.possible(self.minus(premise, conclusion))

    def without(self, guard: Guard, atoms: Iterable[Hashable]) -> Guard:
        """*guard* restricted to runs in which none of *atoms* holds."""
        for key in atoms:
            if key in self._atoms:
                guard = self.minus(guard, self._atoms[key])
        return guard

    def mentions(self, guard: Guard) -> set[Hashable]:
        """The atoms that *guard* depends on."""
        names = list(self._atoms)
        seen: set[Guard] = set()
        found: set[Hashable] = set()
        pending = [guard]
        while pending:
            node = pending.pop()
            if node in seen or node <= TRUE:
                continue
            seen.add(node)
            level, low, high = self._nodes[node]
            found.add(names[level])
            pending += (low, high)
        return found

    def _node(self, level: int, low: Guard, high: Guard) -> Guard:
        if low == high:
            return low
        key = (level, low, high)
        found = self._index.get(key)
        if found is None:
            if len(self._nodes) >= self._room:
                raise GuardLimit
            found = self._index[key] = len(self._nodes)
            self._nodes.append(key)
        return found

    def _choose(self, test: Guard, then: Guard, other: Guard) -> Guard:
        """If-then-else, the one operation that all others are written in."""
        if test == TRUE:
            return then
        if test == FALSE:
            return other
        if then == other:
            return then
        if then == TRUE and other == FALSE:
            return test
        key = (test, then, other)
        found = self._memo.get(key)
        if found is not None:
            return found
        # Written out for the sake of speed: a run spends much of its time here.
        nodes = self._nodes
        test_level, test_low, test_high = nodes[test]
        then_level, then_low, then_high = nodes[then]
        other_level, other_low, other_high = nodes[other]
        level = test_level if test_level < then_level else then_level
        if other_level < level:
            level = other_level
        if test_level != level:
            test_low = test_high = test
        if then_level != level:
            then_low = then_high = then
        if other_level != level:
            other_low = other_high = other
        low = self._choose(test_low, then_low, other_low)
        high = self._choose(test_high, then_high, other_high)
        result = self._memo[key] = low if low == high else self._node(level, low, high)
        return result
