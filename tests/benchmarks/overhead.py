"""The time of an audit beside that of plain construction, both in this run.

    python tests/benchmarks/overhead.py [--runs 7]

The module is transformers' BertModel at its default sizes (BERT base: 109 million parameters), its weights initialised
as its constructor does; transformers must be installed. Prints each run and the median of the ratios of its pairs.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from transformers import BertConfig, BertModel

from lintinit.runtime import audit


def build() -> BertModel:
    return BertModel(BertConfig())


def seconds(run: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description="Time an audit against plain construction.")
    parser.add_argument("--runs", type=int, default=7)
    runs = parser.parse_args().runs
    report = audit(build)  # also warms up
    print(f"{sum(p.numel() for p in build().parameters())} parameters; the audit says: {report}")
    ratios = []
    for _ in range(runs):
        plain, audited = seconds(build), seconds(lambda: audit(build))
        ratios.append(audited / plain)
        print(f"construction {plain:.2f} s, audit {audited:.2f} s: {ratios[-1]:.2f} times")
    print(f"median {statistics.median(ratios):.2f} times, {min(ratios):.2f} to {max(ratios):.2f}")


if __name__ == "__main__":
    main()
