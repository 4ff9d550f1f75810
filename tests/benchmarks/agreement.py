"""What `check` says of a package's classes beside what `audit` says of their instances.

    python tests/benchmarks/agreement.py timm transformers torch_geometric --json agreement.json

The packages must be installed. Each class that can be built is built in a process of its own, with a time limit;
what cannot (arguments that nobody can guess, another package, a GPU) is counted by reason. Both verdicts are about
state that is not floating-point: the rest is a loader's to fill.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import inspect
import json
import multiprocessing
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import torch
from marks import pattern
from subjects import subjects

from lintinit.runtime import audit

_MEMORY = 8 << 30


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare check and audit on installed packages.")
    parser.add_argument("packages", nargs="+", metavar="PACKAGE")
    parser.add_argument("--limit", type=float, default=60, metavar="SECONDS", help="For each class.")
    parser.add_argument("--total", type=float, default=1800, metavar="SECONDS", help="For each package.")
    parser.add_argument("--each", type=int, default=2, help="Models of each file of timm.")
    parser.add_argument("--only", default="", metavar="TEXT", help="Classes with this in their names.")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    os.environ.update(
        HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="critical", TOKENIZERS_PARALLELISM="false", OMP_NUM_THREADS="1"
    )
    torch.set_num_threads(1)
    made = {}
    for package in options.packages:
        made[package] = compared(package, options)
        print(summary(package, made[package]), flush=True)
    if options.json:
        options.json.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


def compared(package: str, options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """By subject: ``failure``, or ``checked``, ``flagged``, ``unwritten``, ``missed`` and ``written``."""
    findings = checked(package)
    found = {name: make for name, make in subjects(package, options.each).items() if options.only in name}
    names = [*found]
    random.Random(0).shuffle(names)  # so that what there is no time for is of all kinds
    end = time.monotonic() + options.total
    with ThreadPoolExecutor(options.workers) as pool:
        results = pool.map(lambda name: in_a_process(found[name], findings, options.limit, end), names)
        return dict(zip(names, results, strict=True))


def checked(package: str) -> list[dict[str, Any]]:
    """The findings of `check`, with absolute paths."""
    spec = find_spec(package)
    assert spec is not None
    assert spec.submodule_search_locations
    [folder] = spec.submodule_search_locations
    command = [sys.executable, "-m", "lintinit", "check", "--output-format", "json", folder]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return [{**f, "path": str((ROOT / f["path"]).resolve())} for f in json.loads(run.stdout)["findings"]]


def in_a_process(make: Any, findings: list[dict[str, Any]], limit: float, end: float) -> dict[str, Any]:
    if time.monotonic() > end:
        return {"failure": "not tried, no time left"}
    context = multiprocessing.get_context("fork")  # the package has been imported once, for all
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(make, findings, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        if ours.poll(limit):
            return ours.recv()  # type: ignore[no-any-return]
        return {"failure": "time limit"}
    except EOFError:
        return {"failure": "the process ended"}
    finally:
        process.kill()
        process.join()


def _child(make: Any, findings: list[dict[str, Any]], pipe: Any) -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):  # noqa: PTH123
        try:
            made = _verdicts(make, findings)
        except BaseException as error:
            made = {"failure": f"{type(error).__name__}: {str(error)[:200]}"}
    pipe.send(made)


def _verdicts(make: Any, findings: list[dict[str, Any]]) -> dict[str, Any]:
    factory = make()
    report = audit(factory)
    if report.failure is not None:
        return {"failure": str(report.failure)[:300], "poisoned": report.failure.poisoned}
    places = set(_places(factory()))
    flagged = [f for f in findings if (f["path"], f["class"]) in places]
    unwritten = [state for state in report.unwritten if not state.floating]
    names = {name for state in unwritten for name in (state.name, *state.aliases)}
    known = [pattern(name) for f in flagged for name in f["attribute"].split(", ")]
    missed = sorted(name for name in names if not any(one.fullmatch(name) for one in known))
    doubtful = [f for f in flagged if not _confirmed(f, names)]
    if doubtful:
        on_meta = {state.name for state in audit(factory, meta=True).unwritten}
        doubtful = [f for f in doubtful if f["severity"] == "error" or not _confirmed(f, on_meta)]
    return {
        "checked": report.checked,
        "flagged": [_said(f) for f in flagged],
        "unwritten": [str(state) for state in unwritten],
        "floating": len(report.unwritten) - len(unwritten),
        "missed": missed,
        "written": [_said(f) for f in doubtful],
    }


def _places(module: torch.nn.Module) -> Iterator[tuple[str, str]]:
    """File and name of each class that the parts of *module* are of, or inherit from."""
    for cls in {base for part in module.modules() for base in type(part).__mro__}:
        with contextlib.suppress(TypeError, OSError):
            yield str(Path(inspect.getfile(cls)).resolve()), cls.__qualname__


def _confirmed(finding: dict[str, Any], names: set[str]) -> bool:
    return any(pattern(part).fullmatch(name) for part in finding["attribute"].split(", ") for name in names)


def _said(finding: dict[str, Any]) -> str:
    return f"{finding['severity']} {finding['class']}.{finding['attribute']} ({finding['path']}:{finding['line']})"


def summary(package: str, results: dict[str, dict[str, Any]]) -> str:
    built = {name: made for name, made in results.items() if "failure" not in made}
    agree = [name for name, made in built.items() if not made["missed"] and not made["written"]]
    both = sum(bool(built[name]["flagged"]) for name in agree)
    looked_at = sum(made["checked"] for made in built.values())
    count = f"{len(results)} tried, {len(built)} built with {looked_at} parameters and buffers"
    verdict = f"{len(agree)} agree, {both} of them flagged by both; {len(built) - len(agree)} disagree"
    lines = [f"{package}: {count}; {verdict}"]
    for name, made in built.items():
        lines += [f"  only audit: {name}: {state}" for state in made["missed"]]
        lines += [f"  only check: {name}: {state}" for state in made["written"]]
    lines += [f"  fails on poison only: {name}" for name, made in results.items() if made.get("poisoned")]
    reasons = collections.Counter(made["failure"].split(":")[0] for made in results.values() if "failure" in made)
    lines += [f"  not built, {count}: {reason}" for reason, count in reasons.most_common(8)]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
