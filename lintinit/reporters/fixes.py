"""What ``lintinit fix`` did, for people: a line for each finding, and a last line that counts."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from lintinit.finding import Finding
from lintinit.fixing import FixReport, Repaired
from lintinit.remedy import Fix
from lintinit.reporters.places import counted, printable, shown
from lintinit.source import SourceFile


def render(report: FixReport, verb: str = "fixed") -> str:
    """One line for every finding that is repaired, held back or refused, and what could not be checked."""
    lines: list[str] = []
    for file in report.files:
        lines += (_line(f, verb, _title(f)) for f in file.applied)
        lines += (_line(f, "held back", f"{_title(f)} (needs --unsafe-fixes)") for f in file.held_back)
        lines += (_line(f, "refused", f"`{f.attribute}`: {reason}") for f, reason in file.refused)
    lines += [f"{shown(e.path)}:{e.line}: failed: {e.message}" for e in report.errors]
    return "\n".join([*map(printable, lines), _summary(report, verb)]) + "\n"


def _line(finding: Finding, what: str, text: str) -> str:
    return f"{shown(finding.path)}:{finding.position.line}: {what}: {text}"


def _title(finding: Finding) -> str:
    return finding.remedy.title if isinstance(finding.remedy, Fix) else finding.message


def _summary(report: FixReport, verb: str) -> str:
    applied = sum(len(file.applied) for file in report.files)
    held = sum(len(file.held_back) for file in report.files)
    refused = sum(len(file.refused) for file in report.files)
    changed = sum(file.changed for file in report.files)
    text = f"{applied} {verb} in {counted(changed, 'file')}, {held} held back, {refused} refused"
    if held:
        text += "; --unsafe-fixes applies those held back"
    if report.errors:
        text += f"; {counted(len(report.errors), 'problem')}"
    return text


def diff(report: FixReport) -> str:
    """All changes as one unified diff, with paths as ``patch -p1`` and ``git apply`` want them."""
    return "".join(line for file in report.files if file.changed for line in _diff(file))


def _diff(file: Repaired) -> Iterator[str]:
    before, after = (SourceFile(file.path, data).decoded for data in (file.before, file.after))
    name = shown(file.path).lstrip("/")
    lines = difflib.unified_diff(_lines(before), _lines(after), f"a/{name}", f"b/{name}")
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(text: str) -> list[str]:
    """*text* as patches count lines: nothing but a line feed ends one."""
    return re.findall(r"[^\n]*\n|[^\n]+\Z", text)
