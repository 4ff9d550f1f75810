"""The text of an ``_init_default_*`` method."""

from __future__ import annotations

from lintinit.fixes.defaults import Default, value

_SAYS = {
    "zeros": "Zero `{name}` until a checkpoint overwrites it.",
    "arange": "Make `{name}` the identity until a checkpoint overwrites it.",
    "cyclic": "Give each row of `{name}` distinct valid ids until a checkpoint overwrites it.",
    "group": "Map each position to its group in `{name}` until a checkpoint overwrites it.",
    "turns": "Give `{name}` valid ids in turn until a checkpoint overwrites it.",
    "full": "Fill `{name}` with a valid value until a checkpoint overwrites it.",
}


def method(
    name: str, attribute: str, default: Default, receiver: str, torch: str, rank: int | None, dtype: str, optional: bool
) -> list[tuple[int, str]]:
    """The lines of the method *name* with their depth: it fills ``receiver.attribute``, and may be called again.

    *optional* says that the state may be None.
    """
    table = f"{receiver}.{attribute}"
    says = "turns" if default.kind == "cyclic" and rank == 1 else default.kind
    lines: list[tuple[int, str]] = [
        (0, f"def {name}({', '.join([receiver, *(f'{argument}: int' for argument in default.arguments)])}) -> None:"),
        (1, f'"""{_SAYS[says].format(name=attribute)}'),
        (0, ""),
        (1, "Loaders of dummy weights fill floating-point state only."),
        (1, '"""'),
    ]
    filling = value(default, table, rank, dtype, torch)
    if len(filling) > 1 or default.kind == "arange":
        lines.append((1, f"table = {table}"))
        table = "table"
        filling = value(default, table, rank, dtype, torch)
    empty = f"{table}.numel() == 0"
    lines += [
        (1, f"if {table} is None or {empty}:" if optional else f"if {empty}:"),
        (2, "return"),
        (1, f"with {torch}.no_grad():"),
        *((2, line) for line in filling),
    ]
    return lines
