"""Findings: plain data that every reporter and every process can pass on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lintinit.remedy import Remedy
from lintinit.source import Position

Severity = Literal["error", "warning"]
Confidence = Literal["high", "low"]
#: From mild to severe.
SEVERITIES: tuple[Severity, ...] = ("warning", "error")


@dataclass(frozen=True, slots=True)
class Label:
    """A place that explains a finding, in a few words."""

    path: Path
    position: Position
    text: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, where, and why a reader should believe it."""

    rule: str
    #: Short form for flake8-like tools.
    code: str
    severity: Severity
    confidence: Confidence
    message: str
    path: Path
    position: Position
    labels: tuple[Label, ...]
    attribute: str
    #: What the state hangs on, as the code names it.
    owner: str
    class_name: str
    dtype: str
    role: str
    suppressed: bool = False
    #: How to repair it, or why that cannot be done by inserting something.
    remedy: Remedy | None = None

    @property
    def order(self) -> tuple[str, int, int, str, str]:
        """Sort key: by place, then rule."""
        return (str(self.path), self.position.line, self.position.column, self.rule, self.attribute)


def at_least(severity: Severity, threshold: Severity) -> bool:
    """Whether *severity* reaches *threshold*."""
    return SEVERITIES.index(severity) >= SEVERITIES.index(threshold)
