"""Statements that bind names to code: functions, classes and imports."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lintinit._lazy import cst
from lintinit.model import imports
from lintinit.model.handlers import handles
from lintinit.model.machine import is_alternative
from lintinit.model.values import Class, Function, Imported

if TYPE_CHECKING:
    from lintinit.model.machine import Machine

HANDLERS: dict[str, Callable[[Machine, Any], None]] = {}


@handles(HANDLERS, "FunctionDef")
def _function(m: Machine, node: cst.FunctionDef) -> None:
    assert m.frame is not None
    assert m.block is not None
    scope = m.frame.scope
    decorators = tuple(_dotted(decorator.decorator) for decorator in node.decorators)
    name = node.name.value
    if is_alternative(decorators):
        m.keep_setter(scope, name, decorators, Function(name, scope, m.block, node, scope.body_of))
    else:
        m.store(scope.names, name, Function(name, scope, m.block, node, scope.body_of, decorators))


@handles(HANDLERS, "ClassDef")
def _class(m: Machine, node: cst.ClassDef) -> None:
    assert m.frame is not None
    assert m.block is not None
    made = Class(node.name.value, m.frame.scope, m.block, node)
    m.classes.append(made)
    m.store(m.frame.scope.names, made.name, made)


@handles(HANDLERS, "Import")
def _import(m: Machine, node: cst.Import) -> None:
    assert m.frame is not None
    scope = m.frame.scope
    for alias in node.names:
        dotted = _dotted(alias.name)
        name = alias.evaluated_alias or dotted.partition(".")[0]
        imports.bind(m, scope, name, Imported(scope, dotted if alias.asname is not None else name, 0, ""))


@handles(HANDLERS, "ImportFrom")
def _import_from(m: Machine, node: cst.ImportFrom) -> None:
    assert m.frame is not None
    scope = m.frame.scope
    dotted = _dotted(node.module) if node.module is not None else ""
    level = len(node.relative)
    if isinstance(node.names, cst.ImportStar):
        imports.bind_star(m, scope, dotted, level)
        return
    for alias in node.names:
        name = _dotted(alias.name)
        imports.bind(m, scope, alias.evaluated_alias or name, Imported(scope, dotted, level, name))


def _dotted(node: cst.BaseExpression) -> str:
    """A name as written, of a decorator that is called that of what is called; empty for anything else."""
    if isinstance(node, cst.Call):
        node = node.func
    if isinstance(node, cst.Attribute):
        return f"{_dotted(node.value)}.{node.attr.value}"
    return node.value if isinstance(node, cst.Name) else ""
