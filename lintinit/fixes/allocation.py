"""Repairs at the allocation itself: ``torch.zeros`` in place of ``torch.empty``, and calls added behind it."""

from __future__ import annotations

from lintinit._lazy import cst
from lintinit.fixes.defaults import Default
from lintinit.fixes.place import Place, insertion
from lintinit.fixes.torch_name import comes_from_torch, torch_name
from lintinit.model.heap import Site
from lintinit.remedy import Edit, Refusal

#: The call that returns zeros and takes the same arguments.
_ZEROED = {"empty": "zeros", "empty_like": "zeros_like", "new_empty": "new_zeros"}
#: Arguments that the others do not take.
_ONLY_EMPTY = frozenset({"memory_format", "out"})


def filled_allocation(site: Site, default: Default) -> tuple[str, list[Edit]] | Refusal:
    """What the allocation at *site* becomes, for a title, and the edits; it must return memory as a tensor."""
    place = Place(site)
    node = site.node
    if not isinstance(node, cst.Call):
        return Refusal("the call that allocates it is out of sight")
    _, end = place.span(node)
    if default.kind == "full":
        call = f".fill_({default.expression})"
        return f"fill it with {default.expression}", [insertion(place.source, end, call)]
    return _counted(place, node, default) or _zeroed(place, node)


def _zeroed(place: Place, node: cst.Call) -> tuple[str, list[Edit]]:
    name = node.func.attr if isinstance(node.func, cst.Attribute) else node.func
    word = name.value if isinstance(name, cst.Name) else ""
    keywords = {argument.keyword.value for argument in node.args if argument.keyword is not None}
    start, end = place.span(name)
    if word in _ZEROED and not keywords & _ONLY_EMPTY:
        if isinstance(node.func, cst.Attribute):
            return f"allocate it with `{_ZEROED[word]}`", [_replaced(place, start, end, _ZEROED[word])]
        if comes_from_torch(place.source, word):
            torch, imported = torch_name(place.source)
            text = f"{torch}.{_ZEROED[word]}"
            return f"allocate it with `{text}`", [*imported, _replaced(place, start, end, text)]
    return "zero it where it is allocated", [insertion(place.source, place.span(node)[1], ".zero_()")]


def _counted(place: Place, node: cst.Call, default: Default) -> tuple[str, list[Edit]] | None:
    """``torch.arange(n, dtype=...)`` for ``torch.empty(n, dtype=...)``."""
    plain = [argument for argument in node.args if argument.keyword is None]
    keywords = {argument.keyword.value for argument in node.args if argument.keyword is not None}
    if default.kind != "arange" or len(plain) != 1 or plain[0].star or not {"dtype"} <= keywords <= {"dtype", "device"}:
        return None
    if isinstance(plain[0].value, cst.Tuple | cst.List | cst.Attribute | cst.Call | cst.Subscript):
        return None
    if not isinstance(node.func, cst.Attribute) or node.func.attr.value != "empty":
        return None
    start, end = place.span(node.func.attr)
    return "allocate it with `arange`", [_replaced(place, start, end, "arange")]


def _replaced(place: Place, start: int, end: int, text: str) -> Edit:
    at = place.source.position_at(start)
    until = place.source.position_at(end)
    return Edit(start, end, text, type(at)(at.line, at.column, until.line, until.column))
