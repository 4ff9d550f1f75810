"""One line for each finding, for editors and for grep."""

from __future__ import annotations

from lintinit.reporters.places import printable, shown, summary
from lintinit.run import Report


def render(report: Report) -> str:
    """``path:line:column: severity[rule] message``, and a summary."""
    lines = [
        f"{shown(f.path)}:{f.position.line}:{f.position.column}: {f.severity}[{f.rule}] {f.message}"
        for f in report.findings
        if not f.suppressed
    ]
    lines += [f"{shown(e.path)}:{e.line}:1: failed: {e.message}" for e in report.errors]
    return "\n".join([*map(printable, lines), summary(report)]) + "\n"
