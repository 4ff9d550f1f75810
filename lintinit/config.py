"""``[tool.lintinit]`` of the nearest pyproject.toml."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lintinit.discovery import Excludes
from lintinit.errors import LintinitError
from lintinit.fixes.defaults import Default, parse

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True, slots=True)
class Settings:
    """What a project decides once for everybody."""

    #: Files to leave out, by patterns that start from the folder of the pyproject.toml.
    exclude: tuple[Excludes, ...] = ()
    #: Default values that fixes take, by attribute.
    defaults: tuple[tuple[str, Default], ...] = ()


def load(folder: Path) -> Settings:
    """The settings that hold in *folder*; raises :class:`LintinitError` for a table that makes no sense."""
    for above in (folder, *folder.parents):
        path = above / "pyproject.toml"
        if path.is_file():
            return _settings(path, _read(path))
        if (above / ".git").exists():
            break
    return Settings()


def _read(path: Path) -> dict[str, Any]:
    try:
        table: Any = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise LintinitError(f"cannot read {path}: {error}") from None
    for name in ("tool", "lintinit"):
        table = table.get(name, {})
        if not isinstance(table, dict):
            raise LintinitError(f"{path}: {name} must be a table")
    return dict(table)


def _settings(path: Path, table: dict[str, Any]) -> Settings:
    unknown = table.keys() - {"exclude", "defaults"}
    if unknown:
        raise LintinitError(
            f"{path}: [tool.lintinit] does not know {', '.join(sorted(unknown))}; it knows: defaults, exclude"
        )
    exclude = table.get("exclude", [])
    if not isinstance(exclude, list) or not all(isinstance(pattern, str) for pattern in exclude):
        raise LintinitError(f"{path}: [tool.lintinit] exclude must be a list of strings")
    defaults = table.get("defaults", {})
    if not isinstance(defaults, dict) or not all(isinstance(value, str) for value in defaults.values()):
        raise LintinitError(f'{path}: [tool.lintinit.defaults] must hold lines like NAME = "KIND:EXPRESSION"')
    try:
        parsed = tuple((name, parse(value)) for name, value in defaults.items())
    except LintinitError as error:
        raise LintinitError(f"{path}: [tool.lintinit.defaults] {error}") from None
    return Settings((Excludes(path.parent, tuple(exclude)),), parsed)
