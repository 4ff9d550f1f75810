"""Default values: which kinds there are, how people ask for one, and the code that computes it."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Literal

from lintinit.errors import LintinitError

Kind = Literal["zeros", "arange", "cyclic", "group", "full"]
_KINDS: tuple[Kind, ...] = ("zeros", "arange", "cyclic", "group", "full")
_WITH_EXPRESSION = ("cyclic", "group", "full")
_COMMENT = re.compile(r"#\s*lintinit:\s*default\s*=\s*(?P<spec>[^#\n]*)")
#: Dtypes that hold any index as it is, and that torch computes with on every device.
_WIDE = ("int32", "int64")


@dataclass(frozen=True, slots=True)
class Default:
    """A value for a whole table.

    ``zeros``; ``arange``, ``0, 1, 2, ...`` along the last dimension; ``cyclic``, ``(row + column) % expression``;
    ``group``, ``arange // expression``; ``full``, ``expression`` everywhere.
    """

    kind: Kind
    expression: str = ""
    #: Where the value comes from, for messages.
    evidence: str = ""
    #: ``group`` with a size of zero or less is one group.
    may_be_whole: bool = False
    #: Names that the expression takes from the constructor and that a method must be given.
    arguments: tuple[str, ...] = ()
    #: How a call of that method writes them.
    passed: tuple[str, ...] = ()

    def __str__(self) -> str:
        match self.kind:
            case "zeros":
                return "zeros"
            case "arange":
                return "arange"
            case "cyclic":
                return f"(row + column) % {self.expression}"
            case "group":
                return f"arange // {self.expression}"
            case _:
                return self.expression


def parse(text: str) -> Default:
    """A default as people write it, ``KIND[:EXPRESSION]``; raises :class:`LintinitError` with what is wrong."""
    name, _, expression = (part.strip() for part in text.strip().partition(":"))
    kind = next((kind for kind in _KINDS if kind == name), None)
    if kind is None:
        raise LintinitError(f"default {text!r}: no kind {name!r}; there is: {', '.join(_KINDS)}")
    if kind not in _WITH_EXPRESSION:
        if expression:
            raise LintinitError(f"default {text!r}: {kind} takes no expression")
        return Default(kind, evidence="as configured")
    try:
        ast.parse(expression, mode="eval")
    except (SyntaxError, ValueError):
        raise LintinitError(f"default {text!r}: write {kind}:EXPRESSION with an expression of Python") from None
    return Default(kind, expression, "as configured")


def from_comment(lines: str) -> Default | None:
    """The default that a trailing comment asks for: ``# lintinit: default=cyclic:self.num_experts``."""
    found = _COMMENT.search(lines)
    return parse(found["spec"]) if found else None


def value(default: Default, table: str, rank: int | None, dtype: str, torch: str) -> list[str]:
    """Statements that give *table* (an expression) its value, in place.

    Intermediates are in the table's own dtype where that can hold every index, in int64 otherwise, and on its device.
    """
    own = all(name.removeprefix("torch.") in _WIDE for name in dtype.split(" or "))
    made = f"dtype={f'{table}.dtype' if own else f'{torch}.int64'}, device={table}.device"
    expression = _grouped(default.expression)
    match default.kind:
        case "zeros":
            return [f"{table}.zero_()"]
        case "full":
            return [f"{table}.fill_({default.expression})"]
        case "arange":
            return [f"{table}.copy_({torch}.arange({table}.shape[-1], {made}))"]
        case "group":
            size = [f"size = {_size(default, table)}"] if default.may_be_whole else []
            return [
                *size,
                f"column = {torch}.arange({table}.shape[-1], {made})",
                f"{table}.copy_(column // {'size' if size else expression})",
            ]
        case "cyclic" if rank == 1:
            return [
                f"row = {torch}.arange({table}.shape[0], {made})",
                f"{table}.copy_(row % {expression})",
            ]
        case _:
            first, second = ("0", "1") if rank == 2 else ("-2", "-1")
            return [
                f"row = {torch}.arange({table}.shape[{first}], {made})",
                f"col = {torch}.arange({table}.shape[{second}], {made})",
                f"{table}.copy_((row.unsqueeze(1) + col) % {expression})",
            ]


def _grouped(expression: str) -> str:
    """*expression* as an operand."""
    return expression if re.fullmatch(r"[\w.]*(?:\([^()]*\))?", expression) else f"({expression})"


def _size(default: Default, table: str) -> str:
    return f"{default.expression} if {default.expression} > 0 else {table}.shape[-1]"


def single(default: Default, table: str, rank: int | None, torch: str) -> str:
    """The value as one expression, for a place where no names may be bound."""
    expression = _grouped(default.expression)
    match default.kind:
        case "arange":
            return f"{torch}.arange({table}.shape[-1])"
        case "group":
            size = f"({_size(default, table)})" if default.may_be_whole else expression
            return f"{torch}.arange({table}.shape[-1]) // {size}"
        case "cyclic" if rank == 1:
            return f"{torch}.arange({table}.shape[0]) % {expression}"
        case _:
            row, col = (f"{torch}.arange({table}.shape[{dim}])" for dim in (-2, -1))
            return f"({row}.unsqueeze(1) + {col}) % {expression}"
