"""For people: every finding with the code at each of its places."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from lintinit.errors import Diagnostic
from lintinit.finding import Finding
from lintinit.reporters.places import printable, shown, summary
from lintinit.run import Report
from lintinit.source import Position, SourceFile

_COLOURS = {"error": "red", "warning": "yellow"}
_TAB = 4
#: Characters of a line that are shown, and how many of them before its first mark where that lies further right.
_LONGEST, _BEFORE = 300, 40


def render(report: Report) -> str:
    """Findings with code frames, then what kept files from being checked, then a summary."""
    files: dict[Path, list[str]] = {}
    parts = ["\n".join(_finding(f, files)) for f in report.findings if not f.suppressed]
    parts += ["\n".join(_problem(error)) for error in report.errors]
    return "\n\n".join([*parts, summary(report)]) + "\n"


@dataclass(frozen=True, slots=True)
class _Mark:
    """Something to say about a place."""

    position: Position
    text: str
    #: Of the finding's own place; None for a label.
    colour: str | None = None


def _finding(finding: Finding, files: dict[Path, list[str]]) -> Iterator[str]:
    colour = _COLOURS[finding.severity]
    yield click.style(f"{finding.severity}[{finding.rule}]", fg=colour, bold=True) + f": {printable(finding.message)}"
    marks: dict[Path, list[_Mark]] = {finding.path: [_Mark(finding.position, "registered here", colour)]}
    for label in finding.labels:
        marks.setdefault(label.path, []).append(_Mark(label.position, label.text))
    numbers = [mark.position.line for found in marks.values() for mark in found]
    width = len(str(max(numbers)))
    for path, found in marks.items():
        lines = _lines(path, files)
        first = found[0].position
        yield click.style(f"{' ' * width}--> ", fg="blue") + f"{printable(shown(path))}:{first.line}:{first.column}"
        yield from _frame(lines, sorted(found, key=lambda mark: (mark.position.line, mark.position.column)), width)
    yield click.style(f"{' ' * width} = ", fg="blue") + f"help: lintinit explain {finding.rule}"


def _frame(lines: list[str], marks: list[_Mark], width: int) -> Iterator[str]:
    gutter = click.style(f"{' ' * width} |", fg="blue")
    yield gutter
    previous = 0
    for number in sorted({mark.position.line for mark in marks}):
        if number > len(lines):
            continue
        if previous and number == previous + 2:
            yield from _line(number - 1, lines, [], width)
        elif previous and number > previous + 1:
            yield click.style("...", fg="blue")
        yield from _line(number, lines, [mark for mark in marks if mark.position.line == number], width)
        previous = number
    yield gutter


def _line(number: int, lines: list[str], marks: list[_Mark], width: int) -> Iterator[str]:
    """A line of code with its *marks*, cut where it is too long to read."""
    line = lines[number - 1].rstrip()
    first = min((mark.position.column - 1 for mark in marks), default=0)
    begin = max(first - _BEFORE, 0) if len(line) > _LONGEST and first > _LONGEST - _BEFORE else 0
    text, columns = _laid_out(line[begin : begin + _LONGEST])
    text = ("..." if begin else "") + text + ("..." if begin + _LONGEST < len(line) else "")
    yield click.style(f"{number:>{width}} |", fg="blue") + (f" {text}" if text else "")
    for mark in marks:
        at = mark.position
        end = at.end_column - 1 if at.end_line == at.line else len(line)
        start, stop = (columns[min(max(offset - begin, 0), len(columns) - 1)] for offset in (at.column - 1, end))
        sign = ("^" if mark.colour else "-") * max(stop - start, 1)
        indent = " " * (start + (3 if begin else 0))
        yield (
            click.style(f"{' ' * width} |", fg="blue")
            + f" {indent}"
            + click.style(f"{sign} {mark.text}", fg=mark.colour or "blue")
        )


def _laid_out(line: str) -> tuple[str, list[int]]:
    """*line* as a terminal shows it, and the terminal's column for each of its characters and for its end."""
    shown: list[str] = []
    columns = [0]
    for character in line:
        at = columns[-1]
        if character == "\t":
            character, width = " " * (_TAB - at % _TAB), _TAB - at % _TAB
        elif unicodedata.category(character) in ("Cc", "Cf", "Cs"):
            character, width = "\N{REPLACEMENT CHARACTER}", 1
        elif unicodedata.category(character) in ("Mn", "Me"):
            width = 0
        else:
            width = 2 if unicodedata.east_asian_width(character) in "WF" else 1
        shown.append(character)
        columns.append(at + width)
    return "".join(shown), columns


def _problem(error: Diagnostic) -> Iterator[str]:
    yield click.style("failed", fg="magenta", bold=True) + f": {printable(error.message)}"
    yield click.style(" --> ", fg="blue") + f"{printable(shown(error.path))}:{error.line}"


def _lines(path: Path, files: dict[Path, list[str]]) -> list[str]:
    if path not in files:
        try:
            files[path] = SourceFile(path, path.read_bytes()).lines
        except (OSError, Diagnostic):
            files[path] = []
    return files[path]
