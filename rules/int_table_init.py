"""int-table-init: integer state is allocated uninitialised and never filled. Its page is int_table_init.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from lintinit.errors import Diagnostic
from lintinit.finding import Confidence, Finding, Label, Severity
from lintinit.fixes.repair import remedy
from lintinit.model.guards import GuardLimit
from lintinit.model.heap import Event, options
from lintinit.model.loading import left_after_loading
from lintinit.model.machine import RunLimit
from lintinit.model.objects import own_name
from lintinit.model.uses import Uses, handed_on, uses_elsewhere, uses_of
from lintinit.model.values import Const, DType
from lintinit.remedy import Fix, Refusal, Remedy, together
from lintinit.rule import Rule
from lintinit.semantics.roles import Role, role_of

if TYPE_CHECKING:
    from lintinit.model.constructions import Construction, State
    from lintinit.model.file_model import FileModel
    from lintinit.model.heap import Site, Storage


def check(model: FileModel) -> Iterable[Finding]:
    """Report every statement that leaves integer state without values when construction is done."""
    found: dict[tuple[object, object], list[_Suspect]] = {}
    for suspect in model.ask(lambda construction: _suspects(model, construction)):
        site = suspect.state.assignment.site
        found.setdefault((site.block, site.node), []).append(suspect)
    for suspects in found.values():
        yield _finding(model, suspects)


class _Suspect:
    """A state that stays unfilled, with its role."""

    def __init__(self, state: State, role: Role) -> None:
        self.state = state
        self.role = role

    @property
    def severity(self) -> Severity:
        return "warning" if self.role.is_payload or self.meta_only else "error"

    @property
    def meta_only(self) -> bool:
        """Filled, except that construction on the meta device skips it."""
        guards = self.state.construction.machine.guards
        unfilled = self.state.unfilled_integers
        metas = [atom for atom in guards.mentions(unfilled) if getattr(atom, "kind", "") == "meta"]
        return bool(metas) and not guards.possible(guards.without(unfilled, metas))

    @property
    def always(self) -> bool:
        """Never filled, whatever path construction takes."""
        return self.state.construction.machine.guards.implies(self.state.present, self.state.unfilled_integers)


def _suspects(model: FileModel, construction: Construction) -> Iterator[_Suspect]:
    guards = construction.machine.guards
    states = [s for s in construction.states() if guards.possible(s.unfilled_integers)]
    states = left_after_loading(construction, states) if states else []
    states = [state for state in states if not model.filled_by_owner(state)]
    if not states:
        return
    own = uses_of(construction, states)
    for state in states:
        roots = _roots(state)
        uses = [own[root] for root in roots if root in own]
        if uses and all(_is_scratch(state, use) for use in uses):
            continue
        events = [event for use in uses for event in use.events if event.kind != "write"]
        role = _role(state, events)
        if not role.is_settled:
            for found in uses_elsewhere(state, model.mentioning(state.name)):
                events += [e for root in roots if root in found for e in found[root].events if e.kind != "write"]
                role = _role(state, events)
                if role.is_settled:
                    break
        if (
            not events
            and _is_slot(state)
            and not role.is_payload
            and not handed_on(state, model.mentioning(state.name))
        ):
            continue
        yield _Suspect(state, role)


def _is_scratch(state: State, uses: Uses) -> bool:
    """Every method that uses it stores to it first; of what no checkpoint holds, lending it to a call counts too."""
    handle = state.tensor.handle
    temporary = handle is not None and handle.persistent == Const(False)
    return uses.written_first or (temporary and uses.lent_first)


def _is_slot(state: State) -> bool:
    """A place for a checkpoint's tensor: its parameter carries a loader's attributes. Unread, it does no harm."""
    handle = state.tensor.handle
    return handle is not None and (handle.annotated or bool(handle.attrs))


def _roots(state: State) -> list[Storage]:
    """The allocations that the state's values go back to: its own first, then by place."""
    return sorted(
        state.tensor.storage.roots(), key=lambda storage: (storage is not state.tensor.storage, _place(storage.site))
    )


def _place(site: Site | None) -> tuple[str, int, int]:
    if site is None:
        return "", 0, 0
    return str(site.block.source.path), site.position.line, site.position.column


def _role(state: State, events: list[Event]) -> Role:
    handle = state.tensor.handle
    context = [getattr(state.owner.cls, "name", "")]
    target = state.construction.target
    if target is not None:
        context.append(getattr(target.cls, "name", ""))
    if handle is not None:
        context.append(getattr(handle.cls, "name", "").rpartition(".")[2])
    return role_of(state.name, _dtype(state), context, events)


def _dtype(state: State) -> str:
    names = [o.name for _, o in options(state.tensor.dtype) if isinstance(o, DType) and o.holds_integers]
    return " or ".join(dict.fromkeys(names)) or "integer"


def _finding(model: FileModel, suspects: list[_Suspect]) -> Finding:
    suspects = sorted(suspects, key=lambda suspect: suspect.severity != "error")
    first = suspects[0]
    state = first.state
    site = state.assignment.site
    names = ", ".join(dict.fromkeys(suspect.state.name for suspect in suspects))
    confidence: Confidence = "high" if first.always and first.role.name != "unknown" else "low"
    return Finding(
        rule=RULE.name,
        code=RULE.code,
        severity=first.severity,
        confidence=confidence,
        message=_message(first, names),
        path=site.block.source.path,
        position=site.position,
        labels=tuple(dict.fromkeys(label for suspect in suspects for label in _labels(model, suspect))),
        attribute=names,
        owner="self" if state.owner is state.construction.target else own_name(state.owner),
        class_name=own_name(state.owner),
        dtype=_dtype(state),
        role=first.role.name,
        remedy=_remedy(model, suspects),
    )


def _remedy(model: FileModel, suspects: list[_Suspect]) -> Remedy:
    """The repair of everything that the statement leaves unfilled, each memory once."""
    if suspects[0].state.assignment.site.block.source is not model.source:
        return Refusal(f"only a class of {model.source.path.name}, which builds on it, shows it")
    found: dict[object, Remedy] = {}
    for suspect in suspects:
        state = suspect.state
        key = state.name if len(_roots(state)) != 1 else _place(_roots(state)[0].site)
        if isinstance(found.get(key), Fix):
            continue
        try:
            found[key] = remedy(model, state, suspect.role, _dtype(state), suspect.meta_only)
        except (GuardLimit, RunLimit, RecursionError, Diagnostic):
            found[key] = Refusal("the code around it is too large to follow")
    return together(found.values())


def _message(suspect: _Suspect, names: str) -> str:
    state = suspect.state
    kind = state.tensor.handle.kind if state.tensor.handle is not None else "state"
    storages = _roots(state)
    allocator = storages[0].allocator if storages else "torch.empty"
    what = f"integer {kind} `{names}` is allocated by `{allocator}` and"
    if suspect.meta_only:
        how = "not filled when it is built on the meta device"
    elif suspect.always:
        how = "only partly filled" if any(storage.stores for storage in storages) else "never filled"
    else:
        how = "not filled on every path"
    role = suspect.role
    if role.is_payload and not suspect.meta_only:
        return f"{what} {how} ({role.name})"
    return f"{what} {how}" + (f", but {role.evidence}" if role.evidence else "")


def _labels(model: FileModel, suspect: _Suspect) -> Iterator[Label]:
    state = suspect.state
    for storage in _roots(state):
        if storage.site is not None:
            yield model.label(storage.site, "allocated here")
    if state.assignment.inner is not None:
        yield model.label(state.assignment.inner, "registered here")
    if suspect.role.site is not None:
        yield model.label(suspect.role.site, f"{suspect.role.evidence} here")


RULE = Rule(
    name="int-table-init",
    code="LNI001",
    summary="integer parameter or buffer is allocated uninitialised and never filled",
    since="0.1.0",
    severity="error",
    fix="sometimes",
    check=check,
)
