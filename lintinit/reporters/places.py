"""How paths and counts are written, the same in every format."""

from __future__ import annotations

import os
from pathlib import Path

from lintinit.run import Report


def shown(path: Path) -> str:
    """*path* relative to the current folder where it lies below it, with forward slashes."""
    here = os.path.realpath(os.curdir)
    full = os.path.join(os.path.realpath(path.parent), path.name)
    inside = os.path.relpath(full, here) if full.startswith(here.rstrip(os.sep) + os.sep) else None
    return (inside or str(path)).replace(os.sep, "/")


def printable(text: str) -> str:
    """*text* on one line: what would move a terminal's cursor is written as an escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def counted(number: int, noun: str) -> str:
    """``1 error``, ``2 errors``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def summary(report: Report) -> str:
    """The last line for people."""
    suppressed = sum(finding.suppressed for finding in report.findings)
    parts = [counted(report.count("error"), "error"), counted(report.count("warning"), "warning")]
    text = f"{', '.join(parts)} in {counted(report.files, 'file')}"
    if suppressed:
        text += f" ({suppressed} suppressed)"
    if report.errors:
        text += f"; {counted(len(report.errors), 'problem')} kept files from being checked"
    return text
