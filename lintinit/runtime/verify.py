"""Verifies routing, or a user's module, by executing it: on a GPU where there is one."""

from __future__ import annotations

import inspect
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from lintinit.runtime import routing_steps, supervise, target_steps
from lintinit.runtime.outcome import RoutingSpec, Step, TargetSpec, VerifyReport

TIME_LIMIT = 120.0
_CONTROL = "negative control"
#: Candidates for the cause of a failure that are tried one by one.
_MOST_CAUSES = 8


def verify_routing(
    layer: type | str | None = None,
    *,
    device: str = "auto",
    dtype: str = "float32",
    scoring: str = "sqrtsoftplus",
    experts: int = 64,
    topk: int = 8,
    vocab: int = 4096,
    tokens: int = 128,
    shared_experts: int = 0,
    routed_scaling_factor: float = 1.5,
    bench: bool = False,
    skip: tuple[str, ...] = (),
    time_limit: float = TIME_LIMIT,
) -> VerifyReport:
    """Take a routing layer through the life of its table, each step in a process that may die of it.

    Args:
        layer: a class with the constructor and the forward pass of :class:`~lintinit.runtime.HashTopK` and a table
            ``tid2eid``, or a target that names one; that class itself if None.
        device: ``auto``, ``cuda`` or ``cpu``. ``auto`` is the CPU where there is no CUDA device; steps that need
            one are then skipped, and the report says so.
        dtype: of the logits: ``float32``, ``bfloat16``, ``float16`` or ``float64``.
        scoring: ``sqrtsoftplus``, ``sigmoid`` or ``softmax``.
        experts: E.
        topk: columns of the table, at most E.
        vocab: rows of the table.
        tokens: T.
        shared_experts: fused shared experts.
        routed_scaling_factor: of the layer.
        bench: also measure.
        skip: names of steps to leave out.
        time_limit: seconds for each step.

    Raises:
        VerifyError: for sizes that make no routing, a device or target that is not there.
    """
    check_sizes(experts, topk, vocab, tokens, shared_experts)
    spec = RoutingSpec(
        layer=target_of(layer),
        dtype=dtype,
        scoring=scoring,
        experts=experts,
        topk=topk,
        vocab=vocab,
        tokens=tokens,
        shared=shared_experts,
        scale=routed_scaling_factor,
        device=device,
    )
    names = [name for name in routing_steps.STEPS if name not in skip and (bench or name != "bench")]
    ready, steps = supervise.run(spec, names, time_limit)
    return _report(ready, [_control(step) for step in steps], spec)


def _control(step: Step) -> Step:
    """The negative control is caught, too, if the process died of it."""
    if step.name == _CONTROL and step.figures.get("ended"):
        return replace(step, status="pass", detail=f"caught: {step.detail}")
    return step


def check_sizes(experts: int, topk: int, vocab: int, tokens: int, shared: int) -> None:
    """Raise VerifyError for sizes that make no routing."""
    if not 0 <= topk <= experts or experts < 1:
        raise supervise.VerifyError(f"a token goes to {topk} of {experts} experts: 0 to all of at least one")
    if vocab < 1 or tokens < 1 or shared < 0:
        raise supervise.VerifyError("a vocabulary and a batch have at least one token, shared experts are not negative")


def target_of(layer: type | str | None) -> str | None:
    """How the child finds a class of this process.

    Raises:
        VerifyError: for a class that is defined in a function, or has no file.
    """
    if layer is None or isinstance(layer, str):
        return layer
    if "<locals>" in layer.__qualname__:
        raise supervise.VerifyError(f"{layer.__qualname__} is defined in a function; define it in a module")
    if layer.__module__ != "__main__" and "." in layer.__module__:
        return f"{layer.__module__}:{layer.__qualname__}"
    try:
        return f"{Path(inspect.getfile(layer)).resolve()}:{layer.__qualname__}"
    except (OSError, TypeError) as error:
        raise supervise.VerifyError(f"{layer.__qualname__} has no file that another process can import") from error


def verify_target(
    factory: str,
    inputs: str,
    *,
    device: str = "auto",
    dummy_load: str = "float-only",
    time_limit: float = TIME_LIMIT,
) -> VerifyReport:
    """Build a module, load dummy weights, execute its forward pass; if that fails, find the state that is to blame.

    Args:
        factory: the target of a callable without arguments that returns a module.
        inputs: the target of a callable without arguments that returns the arguments of the forward pass: a
            tensor, a list or tuple, or a dict of keyword arguments.
        device: as for :func:`verify_routing`.
        dummy_load: the policy of the loader.
        time_limit: seconds for each step.

    Raises:
        VerifyError: for a device or target that is not there.
    """
    spec = TargetSpec(factory, inputs, dummy_load, device)
    ready, steps = supervise.run(spec, [*target_steps.STEPS], time_limit)
    if any(step.name == target_steps.FORWARD and step.status == "fail" for step in steps):
        steps = _with_cause(spec, steps, time_limit)
    return _report(ready, steps, spec)


def _with_cause(spec: TargetSpec, steps: list[Step], time_limit: float) -> list[Step]:
    """*steps*, the forward step's failure explained by the unwritten state without which it does not occur."""
    unwritten: list[str] = next(
        (step.figures.get("unwritten", []) for step in steps if step.name == "built under poison"), []
    )
    if not unwritten:
        return steps

    def runs(garbage: list[str]) -> bool:
        zeroed = tuple(name for name in unwritten if name not in garbage)
        _, [step] = supervise.run(replace(spec, zeroed=zeroed), [target_steps.FORWARD], time_limit)
        return step.status == "pass"

    if runs([]):
        alone = [name for name in unwritten[:_MOST_CAUSES] if len(unwritten) == 1 or not runs([name])]
        cause = "caused by " + ", ".join(f"`{name}`" for name in alone or unwritten) + ", which nothing wrote"
    else:
        alone, cause = [], "not caused by unwritten state: it fails with that zeroed, too"
    explained = {"caused_by": alone or unwritten} if "caused by `" in cause else {}
    return [
        replace(step, detail=f"{step.detail}\n{cause}", figures={**step.figures, **explained})
        if step.name == target_steps.FORWARD
        else step
        for step in steps
    ]


def _report(ready: dict[str, Any], steps: list[Step], spec: RoutingSpec | TargetSpec) -> VerifyReport:
    return VerifyReport(ready["device"], ready["name"], ready["torch"], tuple(steps), asdict(spec))
