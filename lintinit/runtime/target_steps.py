"""The steps that verify a user's module: it is built, dummy-loaded, and its forward pass executed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import torch
from torch import nn

from lintinit.runtime import target
from lintinit.runtime.audit import audit
from lintinit.runtime.dummy_load import initialize_dummy_weights
from lintinit.runtime.outcome import Outcome, StepFailed, StepSkipped, TargetSpec
from lintinit.runtime.poison import Poison
from lintinit.runtime.state import state_of


class Subject:
    """The module and the inputs of a :class:`TargetSpec`."""

    def __init__(self, spec: TargetSpec) -> None:
        self.spec = spec
        self.device = torch.device(spec.device)
        self.factory = target.load(spec.factory)

    def make(self) -> Any:
        """What the factory makes, on the device, dummy-loaded."""
        with self.device:
            module = self.factory()
        if not isinstance(module, nn.Module):
            raise TypeError(f"{self.spec.factory} returned a {type(module).__name__}, not a module")
        return module.to(self.device)

    @cached_property
    def module(self) -> nn.Module:
        """Built on poisoned memory and dummy-loaded, with the state that the spec names filled with zeros."""
        with Poison("A"):
            module: nn.Module = self.make()
        initialize_dummy_weights(module, self.spec.dummy_load)  # type: ignore[arg-type]
        for state in state_of(module):
            if state.name in self.spec.zeroed:
                state.tensor.detach().zero_()
        return module

    @cached_property
    def inputs(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """What the callable of the inputs returned, as positional and keyword arguments, on the device."""
        with self.device:
            made = target.load(self.spec.inputs)()
        if isinstance(made, Mapping):
            return (), {key: self._moved(value) for key, value in made.items()}
        return tuple(self._moved(value) for value in (made if isinstance(made, list | tuple) else (made,))), {}

    def _moved(self, value: Any) -> Any:
        return value.to(self.device) if isinstance(value, torch.Tensor) else value

    def forward(self) -> Any:
        """One forward pass, finished."""
        arguments, keywords = self.inputs
        with torch.no_grad():
            result = self.module(*arguments, **keywords)
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        return result


def built_step(subject: Subject) -> Outcome:
    report = audit(subject.make, dummy_load=subject.spec.dummy_load)  # type: ignore[arg-type]
    if report.failure is not None:
        raise StepFailed(str(report.failure))
    left = [state for state in report.unwritten if not state.floating]
    detail = f"{report.checked} parameters and buffers; after a dummy load ({subject.spec.dummy_load}) "
    detail += "\n".join(["these hold unwritten memory:", *map(str, left)]) if left else "no integer is unwritten"
    return Outcome(detail, {"unwritten": [state.name for state in left]})


def forward_step(subject: Subject) -> Outcome:
    subject.inputs, subject.module  # noqa: B018 - what fails here is no forward pass
    try:
        made = subject.forward()
    except Exception as error:
        message = str(error).strip().splitlines() or [""]
        raise StepFailed(f"{type(error).__name__}: {message[0]}") from error
    return Outcome(f"executed, returned {_described(made)}")


def _described(made: Any) -> str:
    if isinstance(made, torch.Tensor):
        return f"{str(made.dtype).removeprefix('torch.')}{list(made.shape)}"
    return type(made).__name__


def graph_step(subject: Subject) -> Outcome:
    if subject.device.type != "cuda":
        raise StepSkipped("CUDA graphs need a CUDA device")
    subject.forward()
    graph = torch.cuda.CUDAGraph()
    arguments, keywords = subject.inputs
    with torch.no_grad(), torch.cuda.graph(graph):
        subject.module(*arguments, **keywords)
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    return Outcome("captured, replayed 3 times")


FORWARD = "forward"
STEPS: dict[str, Callable[[Subject], Outcome]] = {
    "built under poison": built_step,
    FORWARD: forward_step,
    "CUDA graph": graph_step,
}
