"""What an audit found: values, their text and their JSON form."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

Verdict = Literal["unwritten", "partly unwritten", "derived"]


@dataclass(frozen=True)
class Unwritten:
    """A parameter or buffer with elements that nothing wrote, or that were computed from such elements."""

    name: str
    """As in ``state_dict``, whether it is persistent or not"""
    kind: Literal["parameter", "buffer"]
    persistent: bool
    owner: str
    """The class that it is registered on, qualified"""
    file: str | None
    line: int | None
    """Of the class; None where there is no source"""
    dtype: str
    shape: tuple[int, ...]
    numel: int
    """Elements that are stored: fewer or more than the shape says where the tensor is sparse or a wrapper"""
    unwritten: int
    """Elements that nothing wrote"""
    derived: int
    """Elements that were computed from what nothing wrote"""
    first: int
    last: int
    """The first and the last of both, as indices into the flattened tensor"""
    aliases: tuple[str, ...] = ()
    """Other names of the same tensor"""

    @property
    def verdict(self) -> Verdict:
        if not self.unwritten:
            return "derived"
        return "unwritten" if self.unwritten == self.numel else "partly unwritten"

    @property
    def floating(self) -> bool:
        """Whether a loader of dummy weights would fill it."""
        return self.dtype.startswith(("float", "bfloat"))

    def __str__(self) -> str:
        what = f"{self.kind} `{self.name}` of {self.owner} ({self.dtype}{list(self.shape)})"
        counts = [
            f"{count} of {self.numel} elements {how}"
            for count, how in ((self.unwritten, "never written"), (self.derived, "computed from unwritten memory"))
            if count
        ]
        range_ = "" if self.unwritten + self.derived == self.numel else f", indices {self.first} to {self.last}"
        also = f", also known as {', '.join(self.aliases)}" if self.aliases else ""
        return f"{what}: {' and '.join(counts)}{range_}{also}{self._place()}"

    def _place(self) -> str:
        return f"\n  class at {_short(self.file)}:{self.line}" if self.file else ""


@dataclass(frozen=True)
class Failure:
    """The factory raised, or returned no module."""

    type: str
    message: str
    file: str | None
    line: int | None
    """The innermost frame of the factory's code"""
    poisoned: bool = False
    """Whether the factory succeeds where unwritten memory is zero: then construction reads what nothing wrote"""

    def __str__(self) -> str:
        where = f"\n  at {_short(self.file)}:{self.line}" if self.file else ""
        why = (
            "\n  but not where memory happens to be zero: construction reads what nothing wrote"
            if self.poisoned
            else ""
        )
        return f"the factory failed: {self.type}: {self.message}{where}{why}"


@dataclass(frozen=True)
class AuditReport:
    """The outcome of :func:`lintinit.runtime.audit`."""

    checked: int
    """Parameters and buffers looked at"""
    unwritten: tuple[Unwritten, ...] = ()
    unstable: tuple[str, ...] = ()
    """State that differs between builds by itself, and so cannot be judged"""
    on_meta: tuple[str, ...] = ()
    """State without memory, on the meta device or of a lazy module"""
    called: tuple[str, ...] = ()
    """The re-initialisation that ran after ``to_empty()``"""
    failure: Failure | None = None

    @property
    def ok(self) -> bool:
        """Whether the factory succeeded and everything was written."""
        return not self.unwritten and self.failure is None

    def as_dict(self) -> dict[str, Any]:
        """For JSON: the fields, and ``ok`` and the verdicts."""
        made = asdict(self)
        for entry, state in zip(made["unwritten"], self.unwritten, strict=True):
            entry["verdict"] = state.verdict
        return {"version": 1, "ok": self.ok, **made}

    def __str__(self) -> str:
        if self.failure is not None:
            return str(self.failure)
        lines = [str(state) for state in self.unwritten]
        lines += [f"not judged, differs from build to build: {name}" for name in self.unstable]
        if self.on_meta:
            lines.append(f"without memory: {_some(self.on_meta)}")
        if self.called:
            lines.append(f"after to_empty(): {_some(self.called)}")
        lines.append(f"{len(self.unwritten)} of {self.checked} parameters and buffers hold unwritten memory")
        return "\n".join(lines)


def _short(file: str) -> str:
    """*file*, from the current folder where it lies below it."""
    path = Path(file)
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else file


def _some(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:4])
    return shown if len(names) <= 4 else f"{shown} and {len(names) - 4} more"
