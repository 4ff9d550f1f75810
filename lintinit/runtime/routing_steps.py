"""The steps that verify hash routing, in order: the life of a table from its allocation to the kernels that use it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from lintinit.runtime import reference
from lintinit.runtime.audit import audit
from lintinit.runtime.bench import bench_step
from lintinit.runtime.dummy_load import initialize_dummy_weights
from lintinit.runtime.hash_topk import RoutingOutput
from lintinit.runtime.outcome import Outcome, StepFailed, StepSkipped
from lintinit.runtime.poison import Poison
from lintinit.runtime.reinit import materialize
from lintinit.runtime.routing import Routing, compare_ids

#: Tokens of the grouped matmul, which gathers a matrix for each of their experts.
_FEW = 64


def check_table(table: torch.Tensor, experts: int) -> Outcome:
    """In range, distinct in each row, and each column's load balanced within one.

    Args:
        table: integer [vocab, topk].
        experts: E.

    Raises:
        StepFailed: naming the first entry or row that is wrong.
    """
    table = table.detach().cpu().long()
    if not table.numel():
        return Outcome(f"a table {list(table.shape)}, no entries")
    wrong = ((table < 0) | (table >= experts)).nonzero()
    if len(wrong):
        row, column = wrong[0].tolist()
        raise StepFailed(
            f"{len(wrong)} of {table.numel()} entries are no expert of {experts}: row {row} holds {table[row, column]}"
        )
    ordered = table.sort(1).values
    twice = (ordered[:, 1:] == ordered[:, :-1]).any(1).nonzero()
    if len(twice):
        row = int(twice[0])
        raise StepFailed(f"{len(twice)} rows name an expert twice: row {row} is {table[row].tolist()}")
    spread = 0
    for column in table.unbind(1):
        load = torch.bincount(column, minlength=experts)
        spread = max(spread, int(load.max() - load.min()))
    if spread > 1:
        raise StepFailed(f"in one column, the most used expert occurs {spread} times more often than the least used")
    rows, topk = table.shape
    return Outcome(f"{rows} rows of {topk} distinct experts of {experts}, load within {spread}", {"spread": spread})


def poison_step(routing: Routing) -> Outcome:
    def build() -> nn.Module:
        with routing.device:
            return routing.make()

    report = audit(build)
    if not report.ok:
        raise StepFailed(str(report))
    return Outcome(f"{report.checked} parameters and buffers, all written", {"checked": report.checked})


def dummy_load_step(routing: Routing) -> Outcome:
    for policy in ("float-only", "vllm"):
        with Poison("A"), routing.device:
            layer = routing.make()
        before = layer.tid2eid.detach().clone()
        initialize_dummy_weights(layer, policy)
        if not torch.equal(before, layer.tid2eid):
            raise StepFailed(f"a dummy load ({policy}) changed the table")
    return Outcome("the table is as before after float-only and vllm")


def table_step(routing: Routing) -> Outcome:
    table = routing.layer.tid2eid
    wanted = [routing.spec.vocab, routing.spec.topk]
    if list(table.shape) != wanted or table.is_floating_point():
        raise StepFailed(f"the table is {table.dtype} {list(table.shape)}, not integer {wanted}")
    return check_table(table, routing.spec.experts)


def checkpoint_step(routing: Routing) -> Outcome:
    layer = routing.poisoned()
    table = routing.new_table()
    layer.load_state_dict({**layer.state_dict(), "tid2eid": table}, strict=True)
    if not torch.equal(layer.tid2eid.cpu().long(), table.long()):
        raise StepFailed("after load_state_dict the table is not the checkpoint's")
    inputs = routing.draw()
    ids, _ = routing.expected(inputs, table=table)
    compare_ids(layer(*inputs).topk_ids, ids)
    return Outcome(f"{table.numel()} entries replaced by load_state_dict, and routed by")


def meta_step(routing: Routing) -> Outcome:
    with torch.device("meta"):
        layer = routing.make()
    if not layer.tid2eid.is_meta:
        raise StepFailed("built on the meta device, the table has memory")
    method = getattr(layer, "_init_default_tid2eid", None)
    with Poison("A"):
        called = materialize(layer, (lambda _: method()) if method else None, routing.spec.device)
    initialize_dummy_weights(layer)
    if not torch.equal(layer.tid2eid, routing.layer.tid2eid):
        raise StepFailed("after to_empty() and the method the table is not what construction makes")
    return Outcome(f"to_empty(), {'_init_default_tid2eid' if method else ', '.join(called)}(): the same table")


def eager_step(routing: Routing) -> Outcome:
    spec = routing.spec
    inputs = routing.draw()
    error = routing.compare(routing.layer(*inputs), inputs)
    for valid in (0, spec.tokens // 2, spec.tokens):
        made = routing.layer(*inputs, torch.tensor(valid, device=routing.device))
        error = max(error, routing.compare(made, inputs, valid))
    nothing = routing.draw(0)
    routing.compare(routing.layer(*nothing), nothing)
    detail = f"ids exactly, weights within {error:.2g} of float64, {routing.tolerance()}"
    return Outcome(detail, {"error": error, "tokens": spec.tokens})


def experts_step(routing: Routing) -> Outcome:
    inputs, experts = _mixture(routing)
    made = routing.layer(*inputs)
    got = _mix(inputs[0], experts, made).cpu().double()
    wanted = reference.mix(inputs[0], experts, made.topk_ids.cpu().long(), made.topk_weights)
    error = float((got - wanted).abs().max() / wanted.abs().max().clamp(min=1e-12)) if got.numel() else 0.0
    limit = 10 * reference.TOLERANCE[torch.promote_types(routing.dtype, torch.float32)]
    if not error <= limit:
        raise StepFailed(f"the mixture of experts is off by {error:.2g}, tolerance {limit:.2g}")
    used = made.topk_ids.unique().numel()
    return Outcome(f"{used} of {len(experts)} experts gathered, off by {error:.2g}, tolerance {limit:.2g}")


def _mixture(routing: Routing) -> tuple[Any, torch.Tensor]:
    """A few tokens, and a matrix [H, H] for each expert."""
    spec = routing.spec
    experts = torch.randn(spec.experts + spec.shared, spec.hidden, spec.hidden, generator=routing.generator)
    return routing.draw(min(spec.tokens, _FEW)), experts.to(routing.device, routing.dtype)


def _mix(x: torch.Tensor, experts: torch.Tensor, made: RoutingOutput) -> torch.Tensor:
    """A grouped matmul through the ids, in float32 at least: [T, H]."""
    wide = torch.promote_types(x.dtype, torch.float32)
    gathered = experts.index_select(0, made.topk_ids.flatten()).view(*made.topk_ids.shape, *experts.shape[1:])
    each = torch.einsum("th,tkho->tko", x.to(wide), gathered.to(wide))
    return (made.topk_weights.to(wide).unsqueeze(2) * each).sum(1)


def graph_step(routing: Routing) -> Outcome:
    if routing.device.type != "cuda":
        raise StepSkipped("CUDA graphs need a CUDA device")
    inputs, experts = _mixture(routing)
    valid = torch.tensor(len(inputs[2]), device=routing.device)

    def run() -> tuple[RoutingOutput, torch.Tensor]:
        made = routing.layer(*inputs, valid)
        return made, _mix(inputs[0], experts, made._replace(topk_ids=made.topk_ids.clamp(min=0)))

    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    with torch.no_grad(), torch.cuda.stream(stream):
        run()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        made, _ = run()
    error, replays = 0.0, 8
    for replay in range(replays):
        fresh = routing.draw(len(inputs[2]))
        for static, new in zip(inputs, fresh, strict=True):
            static.copy_(new)
        rows = len(inputs[2]) - replay * len(inputs[2]) // replays
        valid.fill_(rows)
        graph.replay()
        torch.cuda.synchronize()
        error = max(error, routing.compare(made, inputs, rows))
    return Outcome(f"captured once, {replays} replays with new ids equal the reference within {error:.2g}")


def compile_step(routing: Routing) -> Outcome:
    inputs = routing.draw()
    backend = "inductor"
    try:
        made = _compiled(routing, backend)(*inputs)
    except Exception as error:  # no compiler for the code that it writes, most often
        why = f"{type(error).__name__}: {str(error).strip().splitlines()[0][:80]}"
        backend = "aot_eager"
        try:
            made = _compiled(routing, backend)(*inputs)
        except Exception as second:
            if "not supported" in str(second):
                raise StepSkipped(f"torch.compile: {second}") from second
            raise
        note = f"; inductor is not available here ({why})"
    else:
        note = ""
    off = routing.compare(made, inputs)
    return Outcome(f"one graph with {backend}, within {off:.2g} of the reference{note}", {"backend": backend})


def _compiled(routing: Routing, backend: str) -> Callable[..., Any]:
    torch._dynamo.reset()
    return torch.compile(routing.layer, backend=backend, fullgraph=True)


def control_step(routing: Routing) -> Outcome:
    """The same layer without its default: it must be caught, or the steps above show nothing."""
    if not routing.layer.tid2eid.numel():
        raise StepSkipped("a table without entries needs no default")

    def build() -> nn.Module:
        with routing.device:
            return routing.make().to_empty(device=routing.device)

    if "tid2eid" not in {state.name for state in audit(build).unwritten}:
        raise StepFailed("the audit did not notice that the table was left unwritten")
    with Poison("A"):
        layer: Any = build()
    initialize_dummy_weights(layer)
    try:
        check_table(layer.tid2eid, routing.spec.experts)
    except StepFailed as error:
        reason = str(error)
    else:
        raise StepFailed("the table was taken to be valid")
    inputs, experts = _mixture(routing)
    try:
        _mix(inputs[0], experts, layer(*inputs))
        routing.synchronize()
    except Exception as error:
        message = str(error).strip().splitlines()[0][:100]
        return Outcome(f"caught: unwritten; {reason};\n{type(error).__name__}: {message}")
    raise StepFailed("routing through a table that nothing wrote raised no error")


#: By name, in the order in which they are taken. The negative control comes last: on a GPU it ends the process.
STEPS: dict[str, Callable[[Routing], Outcome]] = {
    "built under poison": poison_step,
    "dummy load": dummy_load_step,
    "table valid": table_step,
    "checkpoint overwrites": checkpoint_step,
    "meta device": meta_step,
    "eager = reference": eager_step,
    "experts gathered": experts_step,
    "CUDA graph": graph_step,
    "torch.compile": compile_step,
    "bench": bench_step,
    "negative control": control_step,
}
