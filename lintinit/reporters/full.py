"""For people: every finding with the code at each of its places."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from lintinit.errors import Diagnostic
from lintinit.finding import Finding
from lintinit.reporters.places import shown, summary
from lintinit.run import Report
from lintinit.source import Position, SourceFile

_COLOURS = {"error": "red", "warning": "yellow"}


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
    primary: bool = False


def _finding(finding: Finding, files: dict[Path, list[str]]) -> Iterator[str]:
    colour = _COLOURS[finding.severity]
    yield click.style(f"{finding.severity}[{finding.rule}]", fg=colour, bold=True) + f": {finding.message}"
    marks: dict[Path, list[_Mark]] = {finding.path: [_Mark(finding.position, "registered here", True)]}
    for label in finding.labels:
        marks.setdefault(label.path, []).append(_Mark(label.position, label.text))
    numbers = [mark.position.line for found in marks.values() for mark in found]
    width = len(str(max(numbers)))
    for path, found in marks.items():
        lines = _lines(path, files)
        first = found[0].position
        yield click.style(f"{' ' * width}--> ", fg="blue") + f"{shown(path)}:{first.line}:{first.column}"
        yield from _frame(lines, sorted(found, key=lambda mark: (mark.position.line, mark.position.column)), width, colour)
    yield click.style(f"{' ' * width} = ", fg="blue") + f"help: lintinit explain {finding.rule}"


def _frame(lines: list[str], marks: list[_Mark], width: int, colour: str) -> Iterator[str]:
    gutter = click.style(f"{' ' * width} |", fg="blue")
    yield gutter
    previous = 0
    for number in sorted({mark.position.line for mark in marks}):
        if number > len(lines):
            continue
        if previous and number == previous + 2:
            yield _line(number - 1, lines, width)
        elif previous and number > previous + 1:
            yield click.style("...", fg="blue")
        yield _line(number, lines, width)
        for mark in marks:
            if mark.position.line == number:
                yield f"{gutter} {_underline(mark, lines[number - 1], colour)}"
        previous = number
    yield gutter


def _line(number: int, lines: list[str], width: int) -> str:
    text = lines[number - 1].expandtabs(4).rstrip()
    return click.style(f"{number:>{width}} |", fg="blue") + (f" {text}" if text else "")


def _underline(mark: _Mark, line: str, colour: str) -> str:
    at = mark.position
    end = at.end_column - 1 if at.end_line == at.line else len(line.rstrip())
    start = len(line[: at.column - 1].expandtabs(4))
    length = max(len(line[:end].expandtabs(4)) - start, 1)
    return " " * start + click.style(f"{'^' if mark.primary else '-'}" * length + f" {mark.text}", fg=colour if mark.primary else "blue")


def _problem(error: Diagnostic) -> Iterator[str]:
    yield click.style("failed", fg="magenta", bold=True) + f": {error.message}"
    yield click.style(" --> ", fg="blue") + f"{shown(error.path)}:{error.line}"


def _lines(path: Path, files: dict[Path, list[str]]) -> list[str]:
    if path not in files:
        try:
            files[path] = SourceFile(path, path.read_bytes()).lines
        except (OSError, Diagnostic):
            files[path] = []
    return files[path]
