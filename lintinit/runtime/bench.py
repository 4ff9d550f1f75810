"""How long one routing takes, beside the bytes that it must move."""

from __future__ import annotations

import statistics
import time
from typing import Any

import torch

from lintinit.runtime.outcome import Outcome
from lintinit.runtime.routing import Routing


def bench_step(routing: Routing) -> Outcome:
    """The time of one routing against the bytes that it must move: logits, ids, rows of the table, and the result."""
    inputs = routing.draw()
    made = routing.layer(*inputs)
    rows = routing.spec.tokens * routing.spec.topk * routing.layer.tid2eid.element_size()
    moved = rows + sum(t.numel() * t.element_size() for t in (inputs[1], inputs[2], made.topk_ids, made.topk_weights))
    runs = [_time(routing, inputs) for _ in range(9)]
    seconds = statistics.median(runs)
    rate = moved / seconds / 1e9
    detail = f"{seconds * 1e6:.1f} us for {routing.spec.tokens} tokens, {moved} bytes: {rate:.2f} GB/s (median of 9)"
    return Outcome(detail, {"seconds": seconds, "bytes": moved, "gigabytes_per_second": rate})


def _time(routing: Routing, inputs: Any, repeats: int = 50) -> float:
    """Seconds of one forward pass; on a GPU as a CUDA graph, timed by events."""
    with torch.no_grad():
        if routing.device.type != "cuda":
            begin = time.perf_counter()
            for _ in range(repeats):
                routing.layer(*inputs)
            return (time.perf_counter() - begin) / repeats
        routing.layer(*inputs)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            routing.layer(*inputs)
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        graph.replay()
        start.record()
        for _ in range(repeats):
            graph.replay()
        end.record()
        torch.cuda.synchronize()
        return float(start.elapsed_time(end)) / 1e3 / repeats
