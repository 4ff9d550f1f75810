"""Findings that the author of the code has answered: ``# lintinit: ignore[int-table-init]`` on the statement."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from lintinit.finding import Finding
from lintinit.source import SourceFile

_IGNORE = re.compile(r"#\s*lintinit:\s*ignore(?:\[(?P<rules>[^\]]*)\])?", re.IGNORECASE)


def suppress(source: SourceFile, findings: Iterable[Finding]) -> list[Finding]:
    """*findings*, those marked as suppressed that a comment on one of their lines names by rule or code.

    A comment without brackets is for every rule. Findings of other files than *source* are left as they are.
    """
    if "lintinit:" not in source.text:
        return list(findings)
    return [replace(f, suppressed=f.path == source.path and _is_ignored(source, f)) for f in findings]


def _is_ignored(source: SourceFile, finding: Finding) -> bool:
    for line in source.lines[finding.position.line - 1 : finding.position.end_line]:
        match = _IGNORE.search(line)
        if match is not None:
            names = [name.strip() for name in (match["rules"] or "").split(",") if name.strip()]
            if not names or finding.rule in names or finding.code in names:
                return True
    return False
