"""The paths of a run: where it is, and values that depend on how it got there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from lintinit.model.guards import FALSE, TRUE, Guard, Guards
from lintinit.model.heap import Map, Seq, Tensor, options
from lintinit.model.values import NO, YES, Choice, Const, Key, Symbol, Value, fresh, key_of

_MAX_OPTIONS = 24


class Paths:
    """The path that a run is on, as a guard, and the operations on values that respect it."""

    def __init__(self) -> None:
        self.guards = Guards()
        self.path: Guard = TRUE
        #: Paths that ended in an exception since the innermost ``try``.
        self.raised: Guard = FALSE

    def each(self, value: Value, action: Callable[[Value], Value]) -> Value:
        """*action* on every alternative of *value*, each on its own path."""
        if not isinstance(value, Choice):
            return action(value)
        before, after, results = self.path, FALSE, []
        rest = before
        for guard, option in value.options:
            self.path = self.guards.all(before, guard)
            rest = self.guards.minus(rest, guard)
            if self.path == FALSE:
                continue
            results.append((guard, action(option)))
            after = self.guards.any((after, self.path))
        self.path = self.guards.any((after, rest))
        return self.choose(results)

    def choose(self, choices: Iterable[tuple[Guard, Value]]) -> Value:
        """One value for several alternatives; equal ones are joined."""
        joined: dict[Key, tuple[Guard, Value]] = {}
        for guard, value in choices:
            for inner, option in options(value):
                both = self.guards.all(guard, inner)
                if both == FALSE:
                    continue
                key = Key("tensor", id(option)) if isinstance(option, Tensor) else key_of(option)
                known = joined.get(key)
                joined[key] = (both if known is None else self.guards.any((known[0], both)), option)
        found = list(joined.values())
        if len(found) > _MAX_OPTIONS:
            return Symbol(fresh())
        if len(found) == 1 and found[0][0] == TRUE:
            return found[0][1]
        return Choice(tuple(found)) if found else Symbol(fresh())

    def either(self, items: Sequence[tuple[Guard, Value]]) -> Value:
        """One of *items*, unknown which: each is possible under a guard of its own."""
        left, choices = TRUE, []
        for guard, item in items[:-1]:
            pick = self.guards.all(left, guard, self.guards.atom(fresh("which")))
            choices.append((pick, item))
            left = self.guards.minus(left, pick)
        return self.choose([*choices, *((left, item) for _, item in items[-1:])])

    def known(self, value: Value) -> Value:
        """*value* without the alternatives that the current path excludes."""
        if not isinstance(value, Choice):
            return value
        live = [(g, option) for g, option in value.options if self.guards.meet(g, self.path)]
        if len(live) == 1:
            return live[0][1]
        return Choice(tuple(live)) if live else Symbol(fresh())

    def truth(self, value: Value) -> Guard:
        """When *value* counts as true."""
        if isinstance(value, Choice):
            return self.guards.any(self.guards.all(g, self.truth(option)) for g, option in value.options)
        if isinstance(value, Const):
            return TRUE if value.value else FALSE
        if isinstance(value, Seq | Map):
            content = value.items if isinstance(value, Seq) else value.entries
            present = self.guards.any(item[0] for item in content)
            return present if value.exact else self.guards.any((present, self.guards.atom(value.key)))
        if isinstance(value, Symbol | Tensor):
            key = key_of(value)
            if key.kind == "op" and key.parts[0] == "*":
                # A product of sizes is zero when one of them is.
                return self.guards.all(*(self.truth(Symbol(part)) for part in key.parts[1:] if part.kind != "const"))
            if key.kind == "sum" and len(key.parts[0]) == 1 and not key.parts[1]:
                return self.truth(Symbol(next(iter(key.parts[0]))[0]))
            guard = self.guards.atom(key)
            self.guards.exclusive(Key("void", key), "true", guard)
            return guard
        return TRUE

    def boolean(self, guard: Guard) -> Value:
        """The value that is True exactly under *guard*."""
        if guard in (TRUE, FALSE):
            return YES if guard == TRUE else NO
        return Choice(((guard, YES), (self.guards.negate(guard), NO)))

    def store(self, names: dict[str, Value], name: str, value: Value, whole: bool = False) -> None:
        """Assign on the current path; with *whole* an absent name stays absent on the other paths."""
        old = names.get(name)
        if self.path == TRUE or (old is None and not whole):
            names[name] = value
            return
        kept = [(self.guards.minus(g, self.path), option) for g, option in options(old)] if old is not None else []
        merged = [(self.path, value), *kept]
        names[name] = self.choose(merged)
