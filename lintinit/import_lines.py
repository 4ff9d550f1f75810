"""Import statements read from text, for questions that must not cost a parse."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_IMPORT = re.compile(
    r"[ \t]*(?:from[ \t]*(?P<level>\.*)[ \t]*(?P<module>[\w.]*)[ \t]+import[ \t]*"
    r"(?P<names>\([^)]*\)|[^\n#;]*(?:\\\r?\n[^\n#;]*)*)"
    r"|import[ \t]+(?P<modules>[^\n#;]*))"
)
_NAMED = re.compile(r"([\w.]+|\*)(?:\s+as\s+(\w+))?")
_COMMENT = re.compile(r"#[^\n]*")


@dataclass(frozen=True, slots=True)
class Import:
    """``from module import name as alias``; without a name ``import module as alias``."""

    module: str
    level: int
    name: str
    alias: str


def imports(text: str) -> Iterator[Import]:
    """The imports in *text*, at any depth."""
    at = 0
    while (found := text.find("import", at)) >= 0:
        match = _IMPORT.match(text, text.rfind("\n", at, found) + 1 or at)
        if match is None:
            at = found + len("import")
            continue
        at = match.end()
        if match["modules"] is not None:
            for module, alias in _NAMED.findall(match["modules"]):
                yield Import(module, 0, "", alias or module.split(".")[0])
        else:
            for name, alias in _NAMED.findall(_COMMENT.sub("", match["names"])):
                yield Import(match["module"], len(match["level"]), name, alias or name)
