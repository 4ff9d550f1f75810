"""Imports: names of other files of the checked tree, found when they are used; dotted names for everything else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lintinit.model.attributes import get_attribute
from lintinit.model.values import External, Imported, Package, Value

if TYPE_CHECKING:
    from lintinit.model.machine import Machine
    from lintinit.model.scope import Scope


def bind(m: Machine, scope: Scope, name: str, value: Imported) -> None:
    """Bind an imported name; in a function at once, in a file when it is used."""
    if scope.is_module and not scope.names.get(name):
        scope.names[name] = value
    else:
        m.store(scope.names, name, resolve(m, value))


def bind_star(m: Machine, scope: Scope, module: str, level: int) -> None:
    """``from module import *``: the public names of a file of the tree, each looked for when it is used."""
    source = m.program.find(module, level, scope.source)
    if source is not None and source is not scope.source and source not in scope.stars:
        scope.stars.append(source)


def through_stars(m: Machine, scope: Scope, name: str) -> Value | None:
    """What the star imports of *scope* bind *name* to."""
    if name.startswith("_") or name in scope.missing:
        return None
    # Files that import everything from each other end here.
    scope.missing.add(name)
    for source in scope.stars:
        if source.may_bind(name):
            found = m.lookup(m.module(source), name)
            if found is not None:
                scope.missing.discard(name)
                return found
    return None


def resolve(m: Machine, value: Imported) -> Value:
    """What an import statement binds."""
    source = m.program.find(value.module, value.level, value.scope.source)
    if not value.name:
        return Package(m.module(source)) if source is not None else External(value.module)
    if source is not None and source is not value.scope.source:
        found = m.lookup(m.module(source), value.name)
        if found is not None:
            return found
    dotted = f"{value.module}.{value.name}" if value.module else value.name
    below = m.program.find(dotted, value.level, value.scope.source)
    if below is not None:
        return Package(m.module(below))
    return get_attribute(m, External(value.module), value.name, None) if value.module else External(value.name)
