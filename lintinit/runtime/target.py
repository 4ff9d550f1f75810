"""What a user names on the command line: ``package.module:callable`` or ``file.py:callable``."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lintinit.errors import LintinitError


class TargetError(LintinitError):
    """There is no such callable."""


def load(target: str) -> Callable[..., Any]:
    """Import the module, with the current folder on the path (or the file's), and look the callable up in it.

    Raises:
        TargetError: if the text is of another form, the import fails, or there is no such callable.
    """
    where, colon, name = target.rpartition(":")
    if not colon or not where or not name:
        raise TargetError(f"{target!r}: write package.module:callable or file.py:callable")
    found: Any = _module(where, target)
    for part in name.split("."):
        if not hasattr(found, part):
            raise TargetError(f"{target!r}: {where} has no {name!r}")
        found = getattr(found, part)
    if not callable(found):
        raise TargetError(f"{target!r}: {name} is a {type(found).__name__}, which cannot be called")
    return found  # type: ignore[no-any-return]


def _module(where: str, target: str) -> Any:
    path = Path(where)
    is_file = where.endswith(".py")
    if is_file and not path.is_file():
        raise TargetError(f"{target!r}: no file {where}")
    folder = str((path.parent if is_file else Path()).resolve())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return _file(path) if is_file else importlib.import_module(where)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name and (where + ".").startswith(error.name + "."):
            raise TargetError(f"{target!r}: no module {error.name!r} here or among what is installed") from error
        raise TargetError(f"{target!r}: importing {where} failed: {type(error).__name__}: {error}") from error


def _file(path: Path) -> Any:
    """A module that is not installed, under its own name: its classes can be pickled and found again."""
    name = path.stem
    known = sys.modules.get(name)
    if known is not None:
        if getattr(known, "__file__", None) and Path(str(known.__file__)).resolve() == path.resolve():
            return known
        name = f"{name}_at_{abs(hash(path.resolve())):x}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
