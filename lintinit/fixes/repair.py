"""The repair of one unfilled state: :func:`remedy` decides what is inserted, and where.

In this order: a method that fills the state and is only not called, or too early, is called; state on ``self`` gets
a method of its own; any other state is filled where it is allocated, or right behind its registration.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lintinit._lazy import cst
from lintinit.errors import LintinitError
from lintinit.fixes import defaults
from lintinit.fixes.allocation import filled_allocation
from lintinit.fixes.defaults import Default
from lintinit.fixes.evidence import default_for, rank_of
from lintinit.fixes.method import method
from lintinit.fixes.place import Member, Place
from lintinit.fixes.torch_name import torch_name
from lintinit.model.classes import ancestry, lookup_class, methods_of
from lintinit.model.heap import Tensor
from lintinit.model.uses import follow
from lintinit.model.values import NONE, Class, External, Function
from lintinit.remedy import Edit, Fix, Refusal, Remedy, Safety
from lintinit.semantics.roles import Role
from lintinit.semantics.vocabulary import writes_by_name
from lintinit.source import Block

if TYPE_CHECKING:
    from lintinit.model.constructions import State
    from lintinit.model.file_model import FileModel

_PRETRAINED = re.compile(r"\bPreTrainedModel\b")
#: A statement longer than this is written over several lines.
_LONG = 72
_NOT_FILLING = ("__init__", "__new__", "forward")


def remedy(model: FileModel, state: State, role: Role, dtype: str, meta_only: bool) -> Remedy:
    """How *state*, whose role and dtype are given, gets a value; *meta_only* where only the meta device leaves it."""
    place = Place(state.assignment.site)
    if place.statement is None:
        return Refusal("it is registered by a statement that nothing can be inserted behind")
    try:
        asked = _asked_for(model, state, place)
    except LintinitError as error:
        return Refusal(str(error))
    own = _is_on_self(state, place)
    default = asked or default_for(state, role, place, own, dtype)
    if own and asked is None:
        called = _call_of_existing(state, place, default, meta_only)
        if called is not None:
            return called
    given = _has_values(state)
    if given and asked is None:
        # What is there already must stay.
        default = Default("zeros", evidence="other values of it are kept")
    risky = (role.is_payload and asked is None) or _PRETRAINED.search(place.source.text) is not None
    if own and not given:
        return _own_method(model, state, place, default, dtype, "unsafe" if risky or meta_only else "safe")
    unknown = role.name == "unknown" and asked is None
    return _on_another(state, place, default, "unsafe" if risky or unknown or meta_only else "safe")


def _has_values(state: State) -> bool:
    """Whether the state may hold values already where it is registered: a part of it, or on another path."""
    history = state.owner.history.get(state.name, ())
    here = [a for a in history if a.site.node is state.assignment.site.node]
    if any(a.value != NONE and getattr(a.value, "storage", None) is not state.tensor.storage for a in here):
        return True
    before = state.construction.machine.events[: state.assignment.events]
    roots = state.tensor.storage.roots()
    return any(event.kind == "write" and event.storage in roots for event in before)


def _asked_for(model: FileModel, state: State, place: Place) -> Default | None:
    """What a comment at the allocation or the registration, or the configuration, wants."""
    sites = [state.assignment.site, *(s.site for s in state.tensor.storage.roots() if s.site is not None)]
    for site in sites:
        at = site.position
        lines = site.block.source.lines[at.line - 1 : at.end_line]
        found = defaults.from_comment("".join(lines))
        if found is not None:
            return found
    name = state.name.rpartition(".")[2]
    return model.defaults.get(state.name) or model.defaults.get(name)


def _is_on_self(state: State, place: Place) -> bool:
    """Whether the statement names the state on the receiver of a method of its owner's class."""
    member, cls = place.function, state.owner.cls
    if member is None or member.receiver is None or not isinstance(cls, Class) or not state.name.isidentifier():
        return False
    if isinstance(place.statement, cst.Return | cst.Raise):
        return False
    enclosing = place.enclosing_class
    line = [base for base in ancestry(state.construction.machine, cls) if isinstance(base, Class)]
    if not any(base.block is enclosing if base.split else base.node is enclosing for base in line):
        return False
    return any(_spells(node, member.receiver, state.name) for node in _below(place.statement))


def _spells(node: cst.CSTNode, receiver: str, name: str) -> bool:
    """``self.name = ...`` or ``self.register_buffer("name", ...)``, ``setattr(self, "name", ...)`` and the like."""
    if isinstance(node, cst.AssignTarget | cst.AnnAssign):
        return any(
            isinstance(inner, cst.Attribute) and inner.attr.value == name and _is_name(inner.value, receiver)
            for inner in _below(node.target)
        )
    if not isinstance(node, cst.Call):
        return False
    func = node.func.value if isinstance(node.func, cst.Attribute) else None
    on_super = isinstance(func, cst.Call) and _is_name(func.func, "super")
    given = any(_is_name(argument.value, receiver) for argument in node.args[:1])
    return _says(node, name) and (_is_name(func, receiver) or on_super or given)


def _says(node: cst.Call, name: str) -> bool:
    return any(isinstance(a.value, cst.SimpleString) and a.value.evaluated_value == name for a in node.args)


def _is_name(node: cst.CSTNode | None, name: str) -> bool:
    return isinstance(node, cst.Name) and node.value == name


def _below(node: cst.CSTNode | None) -> Iterator[cst.CSTNode]:
    pending = [node] if node is not None else []
    while pending:
        item = pending.pop()
        yield item
        pending += item.children


# A method that exists.


def _call_of_existing(state: State, place: Place, default: Default, meta_only: bool) -> Fix | None:
    """A call of the method that would fill the state if it ran behind the registration."""
    m, member, cls = state.construction.machine, place.function, state.owner.cls
    assert member is not None
    assert isinstance(cls, Class)
    for name, function in methods_of(m, cls).items():
        if name in _NOT_FILLING or not (writes_by_name(name) or name.startswith("_init_default")):
            continue
        if (
            name.startswith("_init_default")
            and default.kind != "zeros"
            and function.block.parent is not place.block.parent
        ):
            # A base class's default for its own table of this name.
            continue
        if not _is_callable_alone(function) or not re.search(rf"\b{re.escape(state.name)}\b", function.text):
            continue
        with m.speculation():
            fills = follow(m, function, state.owner) and not m.guards.possible(state.unfilled)
        if fills:
            return _called(state, place, member, function, meta_only)
    return None


def _is_callable_alone(function: Function) -> bool:
    node = function.node
    if isinstance(node, cst.Lambda) or function.is_a("property", "cached_property", "staticmethod", "classmethod"):
        return False
    plain = [*node.params.posonly_params, *node.params.params][1:]
    return all(param.default is not None for param in (*plain, *node.params.kwonly_params))


def _called(state: State, place: Place, member: Member, function: Function, meta_only: bool) -> Fix | None:
    call = f"{member.receiver}.{function.name}()"
    first = function.node.params.params[:1] or function.node.params.posonly_params[:1]
    needed = set(re.findall(rf"\b{re.escape(first[0].name.value)}\.(\w+)", function.text)) if first else set()
    later = {
        name
        for name, history in state.owner.history.items()
        if history and min(a.step for a in history) > state.assignment.step
    }
    edit = place.after_statement([call])
    if needed & later:
        edit = place.at_end_of(member, call) if place.is_unconditional else None
    title = f"call `{function.name}`, which fills `{state.name}`"
    return Fix(title, "unsafe" if meta_only else "safe", (edit,)) if edit is not None else None


# A method of its own.


def _own_method(model: FileModel, state: State, place: Place, default: Default, dtype: str, safety: Safety) -> Remedy:
    member = place.function
    assert member is not None
    assert member.receiver is not None
    default = _given_arguments(default, member)
    name = _free_name(model, state, place)
    torch, imported = torch_name(place.source)
    call = f"{member.receiver}.{name}({', '.join(default.passed)})"
    inserted = place.after_statement([call])
    rebuilt = None if default.passed else _reset_method(state, place, member)
    if rebuilt is not None:
        inside = place.at_end_of(rebuilt, f"{rebuilt.receiver}.{name}()")
        inserted = inside or inserted
    assert inserted is not None
    lines = method(name, state.name, default, member.receiver, torch, rank_of(state), dtype, _may_be_none(state))
    title = f"fill `{state.name}` by default with {default} ({default.evidence})"
    edits = (*imported, inserted, place.after_function(_last_of_kind(place, member), lines))
    other = _on_another(state, place, Default("zeros", evidence="where it is allocated"), safety)
    return Fix(title, safety, edits, frozenset({name}), other if isinstance(other, Fix) else None)


def _given_arguments(default: Default, member: Member) -> Default:
    """Names in a configured expression that only the constructor knows are passed on."""
    if default.arguments or not default.expression:
        return default
    words = re.findall(r"(?<![\w.])([A-Za-z_]\w*)", default.expression)
    names = tuple(dict.fromkeys(word for word in words if word in member.parameters))
    return Default(default.kind, default.expression, default.evidence, default.may_be_whole, names, names)


def _free_name(model: FileModel, state: State, place: Place) -> str:
    """A name that neither the class, nor its bases, nor its subclasses use."""
    cls, m = state.owner.cls, state.construction.machine
    assert isinstance(cls, Class)
    base = f"_init_default_{state.name.lstrip('_') if state.name.startswith('__') else state.name}"
    for number in range(1, 100):
        name = base if number == 1 else f"{base}_{number}"
        taken = lookup_class(m, cls, name) is not None or name in state.owner.attrs
        if not taken and not any(_relates(source.blocks, cls.name, name) for source in model.mentioning(name)):
            return name
    return f"{base}_values"


def _relates(blocks: list[Block], cls: str, name: str) -> bool:
    return any(
        block.head is not None and block.head[0] == "class" and cls in block.header_words and name in block.words
        for block in blocks
    )


def _may_be_none(state: State) -> bool:
    """Whether the same statement may leave something that is no tensor."""
    history = state.owner.history.get(state.name, ())
    return any(a.site.node is state.assignment.site.node and not isinstance(a.value, Tensor) for a in history)


def _reset_method(state: State, place: Place, member: Member) -> Member | None:
    """The ``reset_parameters`` of the class, if the constructor calls it behind the registration and nobody else."""
    cls, m = state.owner.cls, state.construction.machine
    if not isinstance(cls, Class) or not cls.split or not place.is_unconditional or place.statement is None:
        return None
    line = ancestry(m, cls)
    known = all(base is cls or (isinstance(base, External) and base.name == "torch.nn.Module") for base in line)
    _, end = place.span(place.statement)
    behind = place.source.text[end : place.block.end]
    if not known or not re.search(rf"\b{member.receiver}\.reset_parameters\(\)", behind):
        return None
    if len(re.findall(r"\.reset_parameters\(", cls.block.text)) != len(re.findall(r"\.reset_parameters\(", behind)):
        return None
    for block in cls.block.members or ():
        if block.head == ("def", "reset_parameters"):
            node = next((node for node in block.statements if isinstance(node, cst.FunctionDef)), None)
            if node is not None and "return" not in block.words and "raise" not in block.words:
                return Member(block, node)
    return None


def _last_of_kind(place: Place, member: Member) -> Member:
    """The last of the ``_init_default_*`` methods that follow *member*, or *member* itself."""
    parent = member.block.parent
    if parent is None or not isinstance(place.enclosing_class, type(parent)):
        return member
    members = parent.members or []
    at = next((at for at, block in enumerate(members) if block is member.block), len(members))
    for block in members[at + 1 :]:
        node = next((node for node in block.statements if isinstance(node, cst.FunctionDef)), None)
        if node is None or not node.name.value.startswith("_init_default_"):
            break
        member = Member(block, node)
    return member


# State on another owner.


def _on_another(state: State, place: Place, default: Default, safety: Safety) -> Remedy:
    title = f"fill `{state.name}` by default with {default} ({default.evidence})"
    if default.kind in ("cyclic", "group", "arange") and not default.passed:
        behind = _filled_behind(state, place, default)
        if behind is not None and default.kind != "arange":
            return Fix(title, safety, tuple(behind))
    else:
        behind = None
    edits: list[Edit] = []
    done = []
    for storage in sorted(state.tensor.storage.roots(), key=lambda storage: storage.key.parts[0]):
        if storage.site is None or storage.allocator == "to_empty":
            return Refusal("the call that allocates it is out of sight")
        if storage.site.block.source is not place.source:
            at = storage.site
            return Refusal(f"it is allocated in another file ({at.block.source.path.name}:{at.position.line})")
        made = filled_allocation(storage.site, default)
        if isinstance(made, Refusal):
            return made
        if behind is not None and "arange" not in made[0]:
            return Fix(title, safety, tuple(behind))
        done.append(made[0])
        edits += made[1]
    if not edits:
        return Refusal("the call that allocates it is out of sight")
    return Fix(f"`{state.name}`: {', '.join(dict.fromkeys(done))}", safety, tuple(dict.fromkeys(edits)))


def _filled_behind(state: State, place: Place, default: Default) -> list[Edit] | None:
    """``with torch.no_grad(): owner.name.copy_(...)`` behind the registration, where the code names the owner."""
    owner = _owner_text(place, state.name)
    if owner is None or isinstance(place.statement, cst.Return | cst.Raise):
        return None
    table = f"{owner}.{state.name.rpartition('.')[2]}"
    torch, imported = torch_name(place.source)
    step = "\t" if place.indent_at(place.span(place.statement)[0]).startswith("\t") else "    "  # type: ignore[arg-type]
    value = defaults.single(default, table, rank_of(state), torch)
    copied = [f"{table}.copy_({value})"]
    if len(copied[0]) > _LONG:
        copied = [f"{table}.copy_(", f"{step}{value}", ")"]
    edit = place.after_statement([f"with {torch}.no_grad():", *(step + line for line in copied)])
    return [*imported, edit] if edit is not None else None


def _owner_text(place: Place, name: str) -> str | None:
    name = name.rpartition(".")[2]
    for node in _below(place.statement):
        target = node.target if isinstance(node, cst.AssignTarget) else None
        if isinstance(target, cst.Attribute) and target.attr.value == name:
            return place.text(target.value)
        called = node.func if isinstance(node, cst.Call) and _says(node, name) else None
        if isinstance(called, cst.Attribute) and called.attr.value in ("register_parameter", "register_buffer"):
            return place.text(called.value)
    return None
