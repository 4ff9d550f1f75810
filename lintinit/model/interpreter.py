"""The machine with the language put in."""

from __future__ import annotations

from typing import Any

from lintinit.model import calls, imports
from lintinit.model.expressions import EXPRESSIONS
from lintinit.model.guards import FALSE
from lintinit.model.machine import Arguments, Machine
from lintinit.model.scope import Scope
from lintinit.model.statements import STATEMENTS, mark
from lintinit.model.values import Imported, Symbol, Value, fresh

_COMPOUND = frozenset({"IndentedBlock", "SimpleStatementSuite", "SimpleStatementLine", "Else", "Finally"})


class Interpreter(Machine):
    """A symbolic run of code of the checked tree."""

    def evaluate(self, node: Any) -> Value:
        handler = EXPRESSIONS.get(type(node).__name__)
        return handler(self, node) if handler is not None else Symbol(fresh())

    def execute(self, node: Any) -> None:
        kind = type(node).__name__
        handler = STATEMENTS.get(kind)
        if handler is None or self.path == FALSE:
            return
        if kind not in _COMPOUND:
            mark(self, node)
        handler(self, node)

    def resolve_import(self, value: Imported) -> Value:
        return imports.resolve(self, value)

    def through_stars(self, scope: Scope, name: str) -> Value | None:
        return imports.through_stars(self, scope, name)

    def call(self, callee: Value, arguments: Arguments, node: Any) -> Value:
        return calls.call(self, callee, arguments, node)
