"""All that a GPU can tell: routing verified in several kinds, and its time against the bytes it must move.

    python tests/gpu/run.py --json gpu.json

Builds nothing, and needs torch and click: it runs from a bare checkout. It ends in under three minutes (``--budget``)
with a table; exit status 0 where nothing failed, 1 where something did. Without a CUDA device it says why it is
skipped and exits with 0.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from lintinit.runtime import VerifyReport, verify_routing
from lintinit.runtime.child import device
from lintinit.runtime.supervise import VerifyError

#: The compiler's first run takes tens of seconds: one case has it, the others are many.
_NO_COMPILER: dict[str, Any] = {"skip": ("torch.compile",)}
CASES: dict[str, dict[str, Any]] = {
    "bfloat16 sqrtsoftplus": {"dtype": "bfloat16", "vocab": 129280, "experts": 256, "topk": 6, "tokens": 512},
    "float32 softmax": {"scoring": "softmax", **_NO_COMPILER},
    "float16 sigmoid, 1 shared": {"dtype": "float16", "scoring": "sigmoid", "shared_experts": 1, **_NO_COMPILER},
    "bfloat16, 2 shared, 512": {"dtype": "bfloat16", "shared_experts": 2, "experts": 512, "topk": 8, **_NO_COMPILER},
    "float64, topk 1": {"dtype": "float64", "topk": 1, **_NO_COMPILER},
    "topk 0": {"topk": 0, **_NO_COMPILER},
    "one expert": {"topk": 1, "experts": 1, **_NO_COMPILER},
    "16384 tokens": {"dtype": "bfloat16", "experts": 256, "topk": 6, "tokens": 16384, "vocab": 129280, **_NO_COMPILER},
}


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    found = device(options.device)
    if found["device"] is None:
        return _skipped(f"--device {options.device}: {found['reason']}", options.json)
    begin = time.monotonic()
    reports: dict[str, VerifyReport] = {}
    left_out: dict[str, str] = {}
    for name in options.case or CASES:
        left = options.budget - (time.monotonic() - begin)
        if left < 10:
            left_out[name] = f"no time left of {options.budget:g} seconds"
            continue
        try:
            report = verify_routing(device=options.device, bench=True, time_limit=min(60, left), **CASES[name])
        except VerifyError as error:
            left_out[name] = str(error)
            continue
        reports[name] = report
        print(f"-- {name}\n{report}\n", flush=True)
    failed = bool(left_out) or not all(report.ok for report in reports.values())
    seconds = time.monotonic() - begin
    _write(
        options.json,
        {
            "version": 1,
            "ok": not failed,
            "seconds": seconds,
            "cases": {name: report.as_dict() for name, report in reports.items()},
            "left_out": left_out,
        },
    )
    print(table(reports, left_out))
    print(f"{seconds:.0f} seconds")
    return int(failed)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Verify hash routing on a GPU.")
    parser.add_argument("--json", type=Path, metavar="FILE", help="Where to write the reports.")
    parser.add_argument("--budget", type=float, default=170, metavar="SECONDS")
    parser.add_argument("--case", action="append", choices=CASES, help="Only this one; may be given again.")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda", help="`cpu` shows what the script does.")
    return parser.parse_args(arguments)


def _skipped(reason: str, path: Path | None) -> int:
    print(f"skipped: {reason}")
    _write(path, {"version": 1, "skipped": reason})
    return 0


def _write(path: Path | None, made: dict[str, Any]) -> None:
    if path is not None:
        path.write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")


def table(reports: dict[str, VerifyReport], left_out: dict[str, str]) -> str:
    """A line for each case: steps passed, failed and skipped, the time of one routing, what went wrong first."""
    rows = [("case", "pass", "fail", "skip", "tokens", "us", "bytes", "GB/s", "first failure")]
    for name, report in reports.items():
        bench = next((step.figures for step in report.steps if step.name == "bench"), {})
        wrong = next((f"{s.name}: {s.detail.splitlines()[0]}" for s in report.steps if s.status == "fail"), "")
        measured = (
            (f"{bench['seconds'] * 1e6:.1f}", str(bench["bytes"]), f"{bench['gigabytes_per_second']:.1f}")
            if bench
            else ("-", "-", "-")
        )
        rows.append((name, *map(str, report.counts.values()), str(report.subject["tokens"]), *measured, wrong))
    rows += [(name, "-", "-", "-", "-", "-", "-", "-", f"not run: {why}") for name, why in left_out.items()]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    first = next(iter(reports.values()), None)
    where = f"{first.device_name} ({first.device}), torch {first.torch}\n" if first else ""
    return where + "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
