"""The process that executes the steps: whatever happens to it, whoever started it gets to know.

Started by :mod:`lintinit.runtime.supervise`. Reads a request from the standard input, one line of JSON:
``{"kind": "routing" | "target", "spec": {...}, "steps": [...]}``. Writes events, each one a line of JSON: ``ready``
with the device, then for each step ``begin`` and ``end``.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

import torch

from lintinit.errors import LintinitError
from lintinit.runtime import routing_steps, target_steps
from lintinit.runtime.outcome import Outcome, RoutingSpec, StepFailed, StepSkipped, TargetSpec
from lintinit.runtime.routing import Routing
from lintinit.runtime.target_steps import Subject


def take(step: Callable[[Any], Outcome], subject: Any) -> tuple[str, Outcome, bool]:
    """Take one step: its status, what there is to say, and whether the process is of use for another.

    An error on a CUDA device leaves a context in which each further call fails.
    """
    try:
        return "pass", step(subject), True
    except StepFailed as error:
        return "fail", Outcome(str(error), error.figures), not isinstance(error.__cause__, RuntimeError)
    except StepSkipped as error:
        return "skip", Outcome(str(error)), True
    except LintinitError as error:
        return "fail", Outcome(str(error)), True
    except Exception as error:
        lines = str(error).strip().splitlines() or ["no message"]
        return "fail", Outcome(f"{type(error).__name__}: {lines[0]}"), False


def subject_of(kind: str, spec: dict[str, Any]) -> tuple[Any, dict[str, Callable[[Any], Outcome]]]:
    """What is verified, and the steps for it.

    Raises:
        LintinitError: for a target that is not there.
    """
    if kind == "routing":
        return Routing(RoutingSpec(**spec)), routing_steps.STEPS
    return Subject(TargetSpec(**spec)), target_steps.STEPS


def device(wanted: str) -> dict[str, str | None]:
    """The device to use, for the event ``ready``; ``device`` is None where the one that is wanted is not there."""
    here = "cuda" if torch.cuda.is_available() else "cpu"
    chosen = here if wanted == "auto" else wanted
    if chosen == "cuda" and here == "cpu":
        build = "this torch was built without CUDA" if torch.version.cuda is None else "torch finds no CUDA device"
        return {"device": None, "reason": build, "torch": torch.__version__}
    name = torch.cuda.get_device_name() if chosen == "cuda" else f"the CPU, {torch.get_num_threads()} threads"
    return {"device": chosen, "name": name, "torch": torch.__version__}


def main() -> None:
    """Serve one request."""
    events = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what the user's code prints is no event

    def send(**event: Any) -> None:
        events.write(json.dumps(event) + "\n")
        events.flush()

    request = json.loads(sys.stdin.readline())
    found = device(request["spec"]["device"])
    send(event="ready", **found)
    if found["device"] is None:
        return
    try:
        subject, steps = subject_of(request["kind"], {**request["spec"], "device": found["device"]})
    except LintinitError as error:
        send(event="refused", reason=str(error))
        return
    for name in request["steps"]:
        send(event="begin", step=name)
        status, outcome, usable = take(steps[name], subject)
        send(event="end", step=name, status=status, detail=outcome.detail, figures=outcome.figures)
        if found["device"] == "cuda" and not usable:
            os._exit(0)  # a broken CUDA context can hang the interpreter's own way out


if __name__ == "__main__":
    main()
