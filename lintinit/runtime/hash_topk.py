"""Hash routing of a mixture of experts: the experts of a token are looked up by its id, not computed.

The layer behind the rule ``int-table-init``. A checkpoint brings the table; without one the table needs a default,
because a loader of dummy weights fills floating-point state only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812 - what everybody calls it
from torch import nn

#: Added to the sum that weights are divided by, so that a row of zero weights stays a row of zeros.
EPSILON = 1e-20


class RoutingOutput(NamedTuple):
    """What a fused mixture-of-experts kernel takes: one row for each token, one column for each chosen expert."""

    topk_weights: torch.Tensor
    """float32 (float64 for float64 logits), [T, topk + fused shared experts]"""
    topk_ids: torch.Tensor
    """int32, the same shape; -1 in the rows of padding"""
    router_logits: torch.Tensor
    """As they came in, [T, E]"""


def softmax(logits: torch.Tensor) -> torch.Tensor:
    """exp(x) / sum of exp over the experts: [T, E] of a floating dtype to the same shape and dtype.

    Source: "Outrageously Large Neural Networks" (Shazeer et al., 2017), equation 2.
    """
    return torch.softmax(logits, dim=-1)


def sigmoid(logits: torch.Tensor) -> torch.Tensor:
    """1 / (1 + exp(-x)), each expert for itself: [T, E] of a floating dtype to the same shape and dtype.

    Source: "DeepSeek-V3 Technical Report" (2024), equation 15.
    """
    return torch.sigmoid(logits)


def sqrtsoftplus(logits: torch.Tensor) -> torch.Tensor:
    """sqrt(log(1 + exp(x))), each expert for itself: [T, E] of a floating dtype to the same shape and dtype.

    Source: the routers of DeepSeek-V4, as the serving engines implement them. The threshold from which
    softplus(x) is taken to be x is 40, where the two agree in float64 too; torch's own is 20.
    """
    return F.softplus(logits, threshold=40.0).sqrt()


SCORING: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "sqrtsoftplus": sqrtsoftplus,
    "sigmoid": sigmoid,
    "softmax": softmax,
}


class HashTopK(nn.Module):
    """Routes token ``t`` to the experts ``tid2eid[t]``; the router's logits only weigh them.

    Args:
        topk: experts of a token, 0 to *num_experts*.
        num_experts: routed experts, E.
        vocab_size: rows of the table.
        scoring_func: ``sqrtsoftplus``, ``sigmoid`` or ``softmax``.
        routed_scaling_factor: what the routed experts' part of the output is multiplied by, by the kernel that sums
            it, or here with *apply_routed_scaling_factor_on_output*.
        num_fused_shared_experts: experts that every token goes to, appended as columns with the ids E, E + 1, ...
        apply_routed_scaling_factor_on_output: multiply the weights by *routed_scaling_factor* here.
        device: of the table.

    Raises:
        ValueError: for sizes or a scoring function that make no routing.
    """

    def __init__(
        self,
        topk: int,
        num_experts: int,
        *,
        vocab_size: int,
        scoring_func: str = "sqrtsoftplus",
        routed_scaling_factor: float = 1.0,
        num_fused_shared_experts: int = 0,
        apply_routed_scaling_factor_on_output: bool = False,
        device: torch.device | str | None = None,
    ) -> None:
        super().__init__()
        if num_experts < 1 or vocab_size < 0 or num_fused_shared_experts < 0:
            raise ValueError("num_experts must be positive, vocab_size and num_fused_shared_experts not negative")
        if not 0 <= topk <= num_experts:
            raise ValueError(f"topk is {topk}: a token needs distinct experts, so 0 to num_experts ({num_experts})")
        if scoring_func not in SCORING:
            raise ValueError(f"scoring_func is {scoring_func!r}: one of {', '.join(SCORING)}")
        if routed_scaling_factor <= 0:
            raise ValueError(f"routed_scaling_factor is {routed_scaling_factor}: it must be positive")
        self.topk = topk
        self.num_experts = num_experts
        self.vocab_size = vocab_size
        self.scoring_func = scoring_func
        self.routed_scaling_factor = routed_scaling_factor
        self.num_fused_shared_experts = num_fused_shared_experts
        self.apply_routed_scaling_factor_on_output = apply_routed_scaling_factor_on_output
        self.tid2eid = nn.Parameter(
            torch.empty(vocab_size, topk, dtype=torch.int32, device=device), requires_grad=False
        )
        self._init_default_tid2eid()

    def _init_default_tid2eid(self) -> None:
        """Give each row of `tid2eid`, int32 [vocab, topk], distinct valid ids until a checkpoint overwrites it.

        Row r, column c is (r + c) % E: distinct in a row because topk <= E; in each column the experts occur equally
        often, give or take one. May be called again after ``to_empty()``.
        """
        table = self.tid2eid
        if table.numel() == 0:
            return
        with torch.no_grad():
            row = torch.arange(table.shape[0], dtype=table.dtype, device=table.device)
            col = torch.arange(table.shape[1], dtype=table.dtype, device=table.device)
            table.copy_((row.unsqueeze(1) + col) % self.num_experts)

    def reset_parameters(self) -> None:
        """What runs after ``to_empty()``: the table is the only state."""
        self._init_default_tid2eid()

    def forward(
        self,
        hidden_states: torch.Tensor,
        router_logits: torch.Tensor,
        input_ids: torch.Tensor,
        num_token_non_padded: torch.Tensor | int | None = None,
    ) -> RoutingOutput:
        """Look the experts up and weigh them. Never synchronises with the host.

        Args:
            hidden_states: [T, H], any dtype; only T counts.
            router_logits: [T, E], any floating dtype; scores are computed in float32, or float64 for float64.
            input_ids: int32 or int64 [T], below the vocabulary's size.
            num_token_non_padded: tokens that are no padding; a tensor (int, 0-d or [1], on the device) where a CUDA
                graph must see it change.

        Raises:
            ValueError: for shapes that do not fit each other.
        """
        tokens = input_ids.shape[0]
        if hidden_states.shape[0] != tokens or tuple(router_logits.shape) != (tokens, self.num_experts):
            raise ValueError(
                f"{tokens} input_ids need hidden_states [{tokens}, H] and router_logits [{tokens}, {self.num_experts}],"
                f" not {list(hidden_states.shape)} and {list(router_logits.shape)}"
            )
        ids = self.tid2eid.index_select(0, input_ids)
        dtype = torch.float64 if router_logits.dtype is torch.float64 else torch.float32
        weights = self._weights(router_logits.to(dtype), ids)
        if self.num_fused_shared_experts:
            ids, weights = self._with_shared(ids, weights)
        if self.apply_routed_scaling_factor_on_output:
            weights = weights * self.routed_scaling_factor
        if num_token_non_padded is not None:
            padding = torch.arange(tokens, device=ids.device) >= num_token_non_padded
            ids = ids.masked_fill(padding.unsqueeze(1), -1)
        return RoutingOutput(weights, ids, router_logits)

    def _weights(self, logits: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        """Weights [T, topk] of *logits*' dtype: scores gathered at *ids*, divided by their sum except for softmax.

        A softmax's scores sum to one over all experts already and are used as they are. Source: "DeepSeek-V3
        Technical Report", equation 13, and the routers of the serving engines for the softmax.
        """
        weights = SCORING[self.scoring_func](logits).gather(1, ids.long())
        if self.scoring_func != "softmax":
            weights = weights / (weights.sum(dim=-1, keepdim=True) + EPSILON)
        return weights

    def _with_shared(self, ids: torch.Tensor, weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Append the columns of the fused shared experts: ids E + j, weight (sum of the row's weights) / scale.

        A kernel that multiplies its output by the routed scaling factor so gives a shared expert the weight of the
        whole routed part before scaling: one, where weights were renormalised. Source: shared-expert fusion as
        the serving engines implement it.
        """
        shared = torch.arange(self.num_experts, self.num_experts + self.num_fused_shared_experts, device=ids.device)
        columns = shared.to(ids.dtype).expand(ids.shape[0], -1)
        weight = weights.sum(dim=-1, keepdim=True) / self.routed_scaling_factor
        return torch.cat((ids, columns), dim=1), torch.cat((weights, weight.expand_as(columns)), dim=1)

    def extra_repr(self) -> str:
        """The sizes, for ``print(module)``."""
        return f"topk={self.topk}, num_experts={self.num_experts}, scoring_func={self.scoring_func!r}"
