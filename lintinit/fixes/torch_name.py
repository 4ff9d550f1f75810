"""What a file calls torch, and the import that it gets where it has no name for it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lintinit.fixes.place import insertion, newline_at
from lintinit.import_lines import Import, imports
from lintinit.remedy import Edit
from lintinit.source import Block, SourceFile

_FUTURE = re.compile(r"from[ \t]+__future__\b")
_DOCSTRING = re.compile(r"[rRuUbB]*[\"']")


def torch_name(source: SourceFile) -> tuple[str, list[Edit]]:
    """The module-level name of torch in *source*, and the edit that binds it where there is none."""
    for _, found in _imports(source):
        if found.module == "torch" and not found.name and not found.level:
            return found.alias, []
        if found.module.startswith("torch.") and found.alias == "torch":
            return "torch", []
    return "torch", [_import(source)]


def comes_from_torch(source: SourceFile, name: str) -> bool:
    """Whether *name* is torch's own function of that name in *source*."""
    return any(found.module == "torch" and found.alias == found.name == name for _, found in _imports(source))


def _imports(source: SourceFile) -> Iterator[tuple[Block, Import]]:
    """The imports that hold when the module runs, with their statements."""
    for block in source.blocks:
        if block.head is None and "import" in block.text and "TYPE_CHECKING" not in block.text:
            for found in imports(block.text):
                yield block, found


def _import(source: SourceFile) -> Edit:
    """``import torch`` where it sorts: before the first import from torch, or before the first of all."""
    found = [(block, item) for block, item in _imports(source) if not _FUTURE.match(block.text)]
    from_torch = [block for block, item in found if item.module.partition(".")[0] == "torch" and block.is_import]
    blocks = from_torch or [block for block, _ in found] or _behind_docstring(source)
    at = blocks[0].start if blocks else len(source.text)
    return insertion(source, at, f"import torch{newline_at(source, len(source.decoded))}")


def _behind_docstring(source: SourceFile) -> list[Block]:
    first = [block for block in source.blocks if not _FUTURE.match(block.text)]
    return first[1:] if first and _DOCSTRING.match(first[0].text) else first
