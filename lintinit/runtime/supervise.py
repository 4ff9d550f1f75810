"""Runs steps in a child process and survives it: a crash, a kill or a hang is the outcome of the step that did it."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import asdict
from typing import IO, Any

from lintinit.errors import LintinitError
from lintinit.runtime.outcome import RoutingSpec, Step, TargetSpec

#: The child finds modules where this process finds them, whether lintinit is installed or run from a checkout.
_START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from lintinit.runtime.child import main; main()"


class VerifyError(LintinitError):
    """The verification cannot be made here."""


class _Child:
    """A process that serves one request, with its events as they come."""

    def __init__(self, request: dict[str, Any]) -> None:
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `close`
        path = [entry or os.getcwd() for entry in sys.path]  # noqa: PTH109
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START, json.dumps(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=os.name == "posix",  # so that what the child starts ends with it
        )
        self._events: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()
        assert self._process.stdin is not None
        try:
            self._process.stdin.write((json.dumps(request) + "\n").encode())
            self._process.stdin.close()
        except OSError:
            pass  # it has died already, which its events will say

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                self._events.put(json.loads(line))
            except ValueError:
                break  # cut off in the middle
        self._events.put(None)

    def event(self, time_limit: float) -> dict[str, Any] | None:
        """The next event, or None at the end.

        Raises:
            TimeoutError: if there is none in time.
        """
        try:
            return self._events.get(timeout=time_limit)
        except queue.Empty:
            raise TimeoutError(f"no end after {time_limit:g} seconds") from None

    def how_it_ended(self) -> str:
        """The exit status or signal, with the last line that it wrote to the standard error."""
        try:
            status = self._process.wait(10)
        except subprocess.TimeoutExpired:
            status = 0
        if status < 0:
            try:
                how = f"the process was ended by {signal.Signals(-status).name}"
            except ValueError:
                how = f"the process was ended by signal {-status}"
        else:
            how = f"the process ended with exit status {status}"
        self._errors.seek(0)
        lines = [line for line in self._errors.read()[-4000:].decode(errors="replace").splitlines() if line.strip()]
        return f"{how}: {lines[-1].strip()}" if lines else how

    def close(self) -> None:
        if os.name == "posix":
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)  # also what it started, if it has ended itself
        else:
            self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._errors.close()


def run(spec: RoutingSpec | TargetSpec, steps: list[str], time_limit: float) -> tuple[dict[str, Any], list[Step]]:
    """Take *steps* one after another, in a new process after each that ended the old one.

    Args:
        spec: what to verify.
        steps: their names, each once.
        time_limit: seconds for each step, and for the start of a process.

    Returns:
        The event ``ready`` of the child, and the outcome of each step.

    Raises:
        VerifyError: if no child can be started, a target is not there, or the device is not.
    """
    kind = "routing" if isinstance(spec, RoutingSpec) else "target"
    done: list[Step] = []
    ready: dict[str, Any] = {}
    while len(done) < len(steps):
        child = _Child({"kind": kind, "spec": asdict(spec), "steps": steps[len(done) :]})
        try:
            ready = _ready(child, time_limit)
            done += _served(child, steps[len(done) :], time_limit)
        finally:
            child.close()
    return ready, done


def _ready(child: _Child, time_limit: float) -> dict[str, Any]:
    try:
        event = child.event(time_limit)
    except TimeoutError as error:
        raise VerifyError(f"the process that executes the steps did not start: {error}") from error
    if event is None:
        raise VerifyError(f"the process that executes the steps did not start: {child.how_it_ended()}")
    if event["device"] is None:
        raise VerifyError(f"--device cuda: {event['reason']}; use --device auto or cpu")
    return event


def _served(child: _Child, steps: list[str], time_limit: float) -> list[Step]:
    """The steps that the child took, the last of which may have been its end; at least one."""
    done: list[Step] = []
    current = steps[0]
    while len(done) < len(steps):
        try:
            event = child.event(time_limit)
        except TimeoutError as error:
            return [*done, Step(current, "fail", f"{error}; the process was killed", {"ended": True})]
        if event is None:
            if done and current == done[-1].name:
                break  # it said that it is of no more use
            return [*done, Step(current, "fail", child.how_it_ended(), {"ended": True})]
        if event["event"] == "refused":
            raise VerifyError(event["reason"])
        current = event["step"]
        if event["event"] == "end":
            done.append(Step(current, event["status"], event["detail"], event["figures"]))
    return done
