"""The commands that run code: ``audit`` and ``verify``. They need torch and click, and nothing of the linter's."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

import click

from lintinit.console import CLEAN, FINDINGS, TROUBLE, Command, write
from lintinit.errors import LintinitError

#: Of `lintinit.runtime`, said again so that the help does not import torch.
POLICIES = ("float-only", "vllm", "zero")
DTYPES = ("float32", "bfloat16", "float16", "float64")
SCORINGS = ("sqrtsoftplus", "sigmoid", "softmax")
_AUDIT_STATUS = """\b
Exit status:
  0  everything was written
  1  something holds unwritten memory
  2  the factory failed, or there is no such target
"""
_VERIFY_STATUS = """\b
Exit status:
  0  no step failed
  1  a step failed
  2  it could not be tried: no such target, no CUDA device, ...
"""


@click.command(cls=Command, epilog=_AUDIT_STATUS, short_help="Find unwritten state of a real module.")
@click.argument("target")
@click.option("--dummy-load", type=click.Choice(POLICIES), help="Load dummy weights as this policy does, then look.")
@click.option(
    "--meta", is_flag=True, help="Build on the meta device, to_empty(), the module's own re-initialisation, then look."
)
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def audit(target: str, dummy_load: Any, meta: bool, as_json: bool) -> None:
    """Call TARGET and report the parameters and buffers that hold memory which nothing wrote.

    TARGET is package.module:callable or file.py:callable; called without arguments, it returns a module, or a list,
    tuple or dict of modules. It is executed.
    """
    runtime = _runtime()
    with _prints_are_messages():
        factory = import_module("lintinit.runtime.target").load(target)
        report = runtime.audit(factory, dummy_load=dummy_load, meta=meta)
    _show(report, as_json)
    sys.exit(TROUBLE if report.failure else FINDINGS if report.unwritten else CLEAN)


@click.command(cls=Command, epilog=_VERIFY_STATUS, short_help="Execute routing, or a module's forward pass.")
@click.argument("target", required=False)
@click.option("--inputs", metavar="TARGET", help="What makes the arguments of the forward pass.")
@click.option(
    "--device", type=click.Choice(["auto", "cuda", "cpu"]), default="auto", show_default=True, help="Where to execute."
)
@click.option("--dtype", type=click.Choice(DTYPES), default="float32", show_default=True, help="Of the logits.")
@click.option(
    "--scoring", type=click.Choice(SCORINGS), default="sqrtsoftplus", show_default=True, help="From logits to scores."
)
@click.option("--experts", type=int, default=64, show_default=True, help="Routed experts.")
@click.option("--topk", type=int, default=8, show_default=True, help="Experts of a token.")
@click.option("--vocab", type=int, default=4096, show_default=True, help="Rows of the table.")
@click.option("--tokens", type=int, default=128, show_default=True, help="Tokens of a batch.")
@click.option("--shared-experts", type=int, default=0, show_default=True, help="Fused shared experts.")
@click.option("--dummy-load", type=click.Choice(POLICIES), help="With --inputs: the loader.  [default: float-only]")
@click.option("--time-limit", type=click.FloatRange(min=1), default=120, show_default=True, help="Seconds for a step.")
@click.option("--bench", is_flag=True, help="Also measure routing against the bytes that it must move.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.pass_context
def verify(
    context: click.Context,
    /,
    target: str | None,
    inputs: str | None,
    device: str,
    dummy_load: str | None,
    time_limit: float,
    as_json: bool,
    **routing: Any,
) -> None:
    """Execute routing through a hash table of experts, step by step, and compare it with a float64 reference.

    Without TARGET, the routing layer of lintinit.runtime. TARGET alone names a class with the same constructor and
    forward pass. With --inputs, TARGET names a callable that returns any module: its forward pass is executed after a
    dummy load, and if it fails, the unwritten state that is to blame is named.

    All steps are executed in a process of their own; a crash or a hang is the result of the step.
    """
    runtime = _runtime()
    if inputs is None:
        if dummy_load is not None:
            raise LintinitError("--dummy-load is for a TARGET with --inputs; routing is verified with all loaders")
        report = runtime.verify_routing(target, device=device, time_limit=time_limit, **routing)
    else:
        if target is None:
            raise LintinitError("--inputs needs a TARGET that takes them")
        for name in routing:
            if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
                raise LintinitError(
                    f"--{name.replace('_', '-')} is for routing; with --inputs, TARGET makes the module"
                )
        policy = dummy_load or POLICIES[0]
        report = runtime.verify_target(target, inputs, device=device, dummy_load=policy, time_limit=time_limit)
    _show(report, as_json)
    sys.exit(CLEAN if report.ok else FINDINGS)


def _runtime() -> ModuleType:
    """The companion.

    Raises:
        LintinitError: where torch is not installed.
    """
    try:
        return import_module("lintinit.runtime")
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise LintinitError("this needs torch; install it with: pip install 'lintinit[runtime]'") from error


@contextlib.contextmanager
def _prints_are_messages() -> Iterator[None]:
    """What the target prints goes to the standard error, and leaves the report whole."""
    with contextlib.redirect_stdout(sys.stderr):
        yield


def _show(report: Any, as_json: bool) -> None:
    write((json.dumps(report.as_dict(), indent=2) if as_json else str(report)) + "\n")
