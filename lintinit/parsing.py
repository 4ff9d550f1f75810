"""libcst behind a door that keeps bad input out: its native parser crashes the process on deep nesting."""

from __future__ import annotations

import ast
import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from lintinit._lazy import cst
from lintinit.errors import Diagnostic

if TYPE_CHECKING:
    from libcst import Module

#: So many characters cannot nest deeply enough to harm anybody.
_SHALLOW = 2_000
_TOO_DEEP = re.compile(r"too many (?:nested|levels|statically)|too complex")


def parse(text: str, path: Path) -> Module:
    """*text* as a libcst module; raises :class:`Diagnostic` (with no useful line) where that fails.

    Of longer texts Python's own parser goes first. It refuses nesting that would crash libcst's. What it
    does not know (the syntax of a newer Python) libcst may still.
    """
    problem = _problem(text) if len(text) > _SHALLOW else None
    if problem is None or not problem[2]:
        try:
            return cst.parse_module(text)
        except cst.ParserSyntaxError as error:
            problem = problem or (error.raw_line, error.message, False)
    raise Diagnostic(path, problem[0], problem[1])


def explain_failure(text: str, path: Path) -> Diagnostic:
    """Why a whole file cannot be parsed, in Python's words where it has some."""
    problem = _problem(text)
    if problem is None:
        try:
            cst.parse_module(text)
        except cst.ParserSyntaxError as error:
            problem = (error.raw_line, error.message, False)
    line, message, _ = problem or (1, "cannot be parsed", False)
    return Diagnostic(path, line, f"syntax error: {message}")


def check_syntax(text: str, path: Path) -> Diagnostic | None:
    """The syntax error in *text*, if both Python and libcst see one."""
    if _problem(text) is None:
        return None
    try:
        parse(text, path)
    except Diagnostic:
        return explain_failure(text, path)
    return None


def _problem(text: str) -> tuple[int, str, bool] | None:
    """Line and message of what Python's parser has against *text*, and whether libcst must not see it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "<checked>", "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    except SyntaxError as error:
        message = error.msg or "invalid syntax"
        return error.lineno or 1, message, _TOO_DEEP.search(message) is not None
    except (RecursionError, MemoryError):
        return 1, "nested too deeply", True
    except ValueError as error:
        return 1, str(error), True
    return None
