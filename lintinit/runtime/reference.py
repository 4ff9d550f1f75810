"""Hash routing a second time: float64, on the CPU, from the formulas alone and sharing no code with the layer."""

from __future__ import annotations

import torch

#: How far the weights of a layer may be from the reference's, relative to them, by the dtype of its weights: a few
#: units in the last place for what is rounded once, more for float32, where a sum and a square root come before.
TOLERANCE: dict[torch.dtype, float] = {
    torch.float64: 1e-10,
    torch.float32: 1e-5,
    torch.float16: 4e-3,
    torch.bfloat16: 3.2e-2,
}


def route(
    table: torch.Tensor,
    logits: torch.Tensor,
    input_ids: torch.Tensor,
    *,
    scoring: str,
    shared: int = 0,
    scale: float = 1.0,
    valid: int | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids int64 and weights float64, both [T, topk + shared], on the CPU.

    Args:
        table: integer [vocab, topk].
        logits: [T, E], any dtype, read as it is and computed with in float64.
        input_ids: integer [T].
        scoring: ``softmax``, ``sigmoid`` or ``sqrtsoftplus``.
        shared: fused shared experts.
        scale: the routed scaling factor, by which the weight of a shared expert is divided.
        valid: rows from here on are padding and get the id -1.

    Source: the formulas in :mod:`lintinit.runtime.hash_topk`.
    """
    x = logits.detach().cpu().double()
    ids = table.detach().cpu().long()[input_ids.cpu().long()]
    if scoring == "softmax":
        exponentials = (x - x.amax(1, keepdim=True)).exp()
        scores = exponentials / exponentials.sum(1, keepdim=True)
    elif scoring == "sigmoid":
        scores = 1 / (1 + (-x).exp())
    else:
        scores = (x.clamp(min=0) + torch.log1p((-x.abs()).exp())).sqrt()
    weights = torch.take_along_dim(scores, ids, 1)
    if scoring != "softmax":
        weights = weights / (weights.sum(1, keepdim=True) + 1e-20)
    if shared:
        first = int(x.shape[1])
        ids = torch.cat([ids, torch.tensor([[*range(first, first + shared)]] * len(ids)).view(-1, shared).long()], 1)
        weights = torch.cat([weights, (weights.sum(1, keepdim=True) / scale).repeat(1, shared)], 1)
    if valid is not None:
        ids[valid:] = -1
    return ids, weights


def mix(x: torch.Tensor, experts: torch.Tensor, ids: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """The sum over a token's experts of weight * (x @ expert): float64 [T, H], on the CPU, one expert at a time.

    Args:
        x: [T, H].
        experts: [E, H, H].
        ids: integer [T, k].
        weights: [T, k].
    """
    x, experts, weights = x.cpu().double(), experts.cpu().double(), weights.cpu().double()
    out = torch.zeros_like(x)
    for expert in sorted({*ids.flatten().tolist()}):
        row, column = (ids.cpu() == expert).nonzero(as_tuple=True)
        out.index_add_(0, row, weights[row, column].unsqueeze(1) * (x[row] @ experts[expert]))
    return out
