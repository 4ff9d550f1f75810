"""The dtypes that the tables of :mod:`lintinit.semantics.dtypes` name, as values."""

from __future__ import annotations

from lintinit.model.values import DType
from lintinit.semantics import dtypes as named

#: Every dtype by its name in the torch namespace.
DTYPES = {
    name: DType(f"torch.{named.SAME.get(name, name)}", kind)
    for kind, names in named.KINDS.items()
    for name in names.split()
}
INT64 = DTYPES["int64"]
BOOL = DTYPES["bool"]
FLOAT = DTYPES["float32"]


def _valued(table: dict[str, str]) -> dict[str, DType]:
    return {key: DTYPES[name] for key, name in table.items()}


LEGACY_TENSORS = _valued(named.LEGACY_TENSORS)
CASTS = _valued(named.CASTS)
PYTHON_TYPES = _valued(named.PYTHON_TYPES)


def dtype_named(dotted: str) -> DType | None:
    """The dtype that ``torch.<name>`` is, or None for any other dotted name."""
    prefix, _, name = dotted.rpartition(".")
    return DTYPES.get(name) if prefix == "torch" else None
