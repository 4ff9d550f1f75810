"""Which non-floating state of what a fixture builds nothing wrote."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

from lintinit.runtime import AuditReport, audit
from lintinit.runtime.poison import Poison


def audited(path: Path, *, meta: bool = False) -> AuditReport:
    """The audit of what a fixture builds; its module is executed anew for each build."""
    return audit(lambda: _load(path).build(), meta=meta)


def unwritten(path: Path) -> set[str]:
    """The names of the non-floating state with something in it that nothing wrote."""
    report = audited(path)
    assert report.failure is None, report.failure
    return {name for state in report.unwritten if not state.floating for name in (state.name, *state.aliases)}


def loaded(path: Path) -> Any:
    """What a fixture builds, on memory of one pattern."""
    with Poison("A"):
        return _load(path).build()


def _load(path: Path) -> Any:
    """A fixture as a module."""
    name = f"fixture_{path.parent.name}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[name]
    return module
