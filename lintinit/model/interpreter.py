"""The machine with the language put in."""

from __future__ import annotations

from typing import Any

from lintinit.model import calls, contexts, definitions, expressions, imports, loops, statements
from lintinit.model.guards import FALSE
from lintinit.model.machine import Arguments, Machine
from lintinit.model.scope import Scope
from lintinit.model.values import Imported, Symbol, Value, fresh

#: What to do for each kind of libcst node, by the name of its class.
_EXPRESSIONS = expressions.HANDLERS
_STATEMENTS = {**statements.HANDLERS, **loops.HANDLERS, **contexts.HANDLERS, **definitions.HANDLERS}
#: Holders of statements, and no statements themselves.
_COMPOUND = frozenset({"IndentedBlock", "SimpleStatementSuite", "SimpleStatementLine", "Else", "Finally"})


class Interpreter(Machine):
    """A symbolic run of code of the checked tree."""

    def evaluate(self, node: Any) -> Value:
        handler = _EXPRESSIONS.get(type(node).__name__)
        return handler(self, node) if handler is not None else Symbol(fresh())

    def execute(self, node: Any) -> None:
        kind = type(node).__name__
        handler = _STATEMENTS.get(kind)
        if handler is None or self.path == FALSE:
            return
        if kind not in _COMPOUND:
            statements.mark(self, node)
        handler(self, node)

    def resolve_import(self, value: Imported) -> Value:
        return imports.resolve(self, value)

    def through_stars(self, scope: Scope, name: str) -> Value | None:
        return imports.through_stars(self, scope, name)

    def call(self, callee: Value, arguments: Arguments, node: Any) -> Value:
        return calls.call(self, callee, arguments, node)
