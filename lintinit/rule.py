"""What a rule is: a frozen description and a function from the model of a file to findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from lintinit.finding import Finding, Severity

if TYPE_CHECKING:
    from lintinit.model.file_model import FileModel


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule; importable without libcst, so that listing and explaining rules is quick."""

    name: str
    #: Short form, as flake8 wants it.
    code: str
    summary: str
    since: str
    #: The most severe finding it makes.
    severity: Severity
    fix: Literal["always", "sometimes", "never"]
    check: Callable[[FileModel], Iterable[Finding]]
