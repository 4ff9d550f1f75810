"""What a hook that runs after loading does to state: replace it unread, and construction need not fill it."""

from __future__ import annotations

from lintinit.model.classes import lookup_class
from lintinit.model.constructions import POST_LOAD_HOOKS, Construction, State
from lintinit.model.guards import FALSE, Guard
from lintinit.model.heap import Storage, Tensor, options
from lintinit.model.uses import follow
from lintinit.model.values import Class, Function


def left_after_loading(construction: Construction, states: list[State]) -> list[State]:
    """The states whose unwritten content survives the class's post-load hook or is read by it.

    A hook counts only if it replaces, fills or deletes the state on every path and without looking at the
    content first: sorting garbage gives garbage in another order.
    """
    m, target = construction.machine, construction.target
    if target is None or not isinstance(target.cls, Class):
        return states
    for name in POST_LOAD_HOOKS:
        hook = lookup_class(m, target.cls, name)
        if not isinstance(hook, Function):
            continue
        seen = len(m.events)
        roots = {id(state): state.tensor.storage.roots() for state in states}
        with m.speculation():
            finished = follow(m, hook, target) and m.path != FALSE
            survivors = [state for state in states if not finished or _survives(state, roots[id(state)], m.path)]
        if not finished:
            continue
        read = {e.storage: e.guard for e in m.events[seen:] if e.kind != "write"}
        states = [
            state
            for state in states
            if state in survivors
            or any(
                m.guards.possible(m.guards.all(guard, state.unfilled))
                for storage, guard in read.items()
                if storage in roots[id(state)]
            )
        ]
    return states


def _survives(state: State, roots: frozenset[Storage], ended: Guard) -> bool:
    """Whether the owner still holds the unwritten memory, be it under another name or in another order."""
    m = state.construction.machine
    for value in state.owner.attrs.values():
        for guard, option in options(value):
            if isinstance(option, Tensor):
                missing = m.guards.minus(m.guards.all(guard, ended, state.exists), m.initialised(option))
                if m.guards.possible(missing) and m.origins(option, missing) & roots:
                    return True
    return False
