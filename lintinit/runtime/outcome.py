"""A step of a verification: what it is given, and how it ends. Plain values, which cross between processes as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

Status = Literal["pass", "fail", "skip"]


@dataclass(frozen=True)
class Outcome:
    """A step that was right: what was seen, as a line for people and as figures."""

    detail: str
    figures: dict[str, Any] = field(default_factory=dict)


class StepFailed(Exception):
    """A step that was not."""

    def __init__(self, reason: str, **figures: Any) -> None:
        super().__init__(reason)
        self.figures = figures


class StepSkipped(Exception):
    """A step that cannot be taken here, with the reason."""


@dataclass(frozen=True)
class Step:
    """The end of a step."""

    name: str
    status: Status
    detail: str
    figures: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        first, *rest = self.detail.splitlines() or [""]
        return "\n".join([f"{self.status:4}  {self.name:22}  {first}", *(f"      {line}" for line in rest)])


@dataclass(frozen=True)
class RoutingSpec:
    """The sizes and kinds of one verification of routing.

    ``layer`` is a target (:mod:`lintinit.runtime.target`) with the constructor of
    :class:`~lintinit.runtime.HashTopK`, or None for that class; ``dtype`` a name such as ``bfloat16``, of the logits.
    """

    layer: str | None = None
    dtype: str = "float32"
    scoring: str = "sqrtsoftplus"
    experts: int = 64
    topk: int = 8
    vocab: int = 4096
    tokens: int = 128
    shared: int = 0
    scale: float = 1.5
    hidden: int = 32
    device: str = "cpu"


@dataclass(frozen=True)
class TargetSpec:
    """A user's module: targets that make it and its inputs, and the loader to imitate."""

    factory: str
    inputs: str
    dummy_load: str = "float-only"
    device: str = "cpu"
    zeroed: tuple[str, ...] = ()
    """State to fill with zeros before the forward pass runs, in search of the cause of a failure"""


@dataclass(frozen=True)
class VerifyReport:
    """The outcome of a verification."""

    device: str
    """``cuda`` or ``cpu``"""
    device_name: str
    torch: str
    """Its version"""
    steps: tuple[Step, ...]
    subject: dict[str, Any]
    """What was verified: the fields of the spec"""

    @property
    def ok(self) -> bool:
        """Whether no step failed."""
        return not any(step.status == "fail" for step in self.steps)

    @property
    def counts(self) -> dict[Status, int]:
        """Steps by status."""
        return {status: sum(step.status == status for step in self.steps) for status in get_args(Status)}

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"version": 1, "ok": self.ok, **asdict(self)}

    def __str__(self) -> str:
        count = self.counts
        lines = [f"on {self.device_name} ({self.device}), torch {self.torch}", *map(str, self.steps)]
        lines.append(f"{count['pass']} passed, {count['fail']} failed, {count['skip']} skipped")
        return "\n".join(lines)
