"""Expectations that stand in files, and what a run says about them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from lintinit.finding import Finding

EXPECT = re.compile(r"#\s*expect:\s*int-table-init(?:[ \t]+(error|warning))?(?:[ \t]+(\S+))?\s*$")
#: What a file says about itself when the linter is known to be wrong about it.
KNOWN_GAP = re.compile(r"^# known gap", re.MULTILINE)


class Mark(NamedTuple):
    """A statement on *line* must be reported."""

    line: int
    severity: str | None
    attribute: str | None


def marks(text: str, pattern: re.Pattern[str] = EXPECT) -> list[Mark]:
    lines = re.split(r"\r\n|\n|\r", text)
    return [Mark(n, m[1], m[2]) for n, line in enumerate(lines, 1) if (m := pattern.search(line))]


def disagreements(expected: list[Mark], findings: list[Finding]) -> list[str]:
    """One line for every expectation that is not met and every finding that nobody expects."""
    problems = []
    left = {finding.position.line: finding for finding in findings}
    for mark in expected:
        finding = left.pop(mark.line, None)
        if finding is None:
            problems.append(f"line {mark.line}: {mark.attribute} is not reported")
        elif mark.severity and finding.severity != mark.severity:
            problems.append(f"line {mark.line}: {finding.severity}, expected {mark.severity}")
        elif mark.attribute and mark.attribute not in finding.attribute:
            problems.append(f"line {mark.line}: reports {finding.attribute}, expected {mark.attribute}")
    problems += [f"line {line}: unexpected: {finding.message}" for line, finding in left.items()]
    return problems


def read(path: Path) -> str:
    return path.read_bytes().decode("utf-8-sig")


def pattern(attribute: str) -> re.Pattern[str]:
    """What a finding's attribute stands for, as the end of a name: f-strings and positions are holes in it."""
    holes = re.escape(attribute).replace(r"\{\.\.\.\}", ".+").replace(r"\?", ".+")
    return re.compile(rf"(?:.*\.)?{holes}")
