"""Findings that the author of the code has answered: ``# lintinit: ignore[int-table-init]`` on the statement."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from lintinit.errors import Diagnostic
from lintinit.finding import Finding
from lintinit.source import SourceFile

_IGNORE = re.compile(r"#\s*lintinit:\s*ignore(?:\[(?P<rules>[^\]]*)\]|(?![\w\[-]))", re.IGNORECASE)


def suppress(source: SourceFile, findings: Iterable[Finding]) -> list[Finding]:
    """*findings*, those marked as suppressed that a comment on one of their lines names by rule or code.

    A comment without brackets is for every rule; one that names only others, or no rule that exists, is for none of
    these. A finding may lie in another file than *source*, of a base class that is completed there.
    """
    files: dict[Path, SourceFile | None] = {source.path: source}
    return [replace(f, suppressed=True) if _is_ignored(_file(f.path, files), f) else f for f in findings]


def _file(path: Path, files: dict[Path, SourceFile | None]) -> SourceFile | None:
    if path not in files:
        try:
            files[path] = SourceFile(path, path.read_bytes())
        except OSError:
            files[path] = None
    return files[path]


def _is_ignored(source: SourceFile | None, finding: Finding) -> bool:
    return source is not None and any(_answers(match, finding) for match in _directives(source, finding))


def _answers(match: re.Match[str], finding: Finding) -> bool:
    names = {name.strip() for name in (match["rules"] or "").split(",")} - {""}
    return not names or finding.rule in names or finding.code in names


def _directives(source: SourceFile, finding: Finding) -> Iterator[re.Match[str]]:
    try:
        lines = source.lines[finding.position.line - 1 : finding.position.end_line]
    except Diagnostic:
        return
    if any(_IGNORE.search(line) for line in lines):
        for comment in _comments(lines):
            yield from _IGNORE.finditer(comment)


def _comments(lines: list[str]) -> list[str]:
    """The comments of a statement, not what looks like one in its strings."""
    try:
        tokens = tokenize.generate_tokens(io.StringIO("".join(lines)).readline)
        return [token.string for token in tokens if token.type == tokenize.COMMENT]
    except (tokenize.TokenError, SyntaxError):
        return lines
