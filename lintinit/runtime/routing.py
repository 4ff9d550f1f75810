"""What the steps of a verification share: the layer, inputs for it, and the comparison with the reference."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cached_property
from typing import Any

import torch
from torch import nn

from lintinit.runtime import reference, target
from lintinit.runtime.dummy_load import initialize_dummy_weights
from lintinit.runtime.hash_topk import HashTopK, RoutingOutput
from lintinit.runtime.outcome import RoutingSpec, StepFailed
from lintinit.runtime.poison import Poison

_SEED = 20


def compare_ids(made: torch.Tensor, expected: torch.Tensor) -> None:
    """Raises :class:`StepFailed`, naming the first token whose ids differ."""
    got = made.cpu().long()
    if got.shape != expected.shape:
        raise StepFailed(f"ids are {list(got.shape)}, not {list(expected.shape)}")
    if not torch.equal(got, expected):
        row = int((got != expected).any(1).nonzero()[0])
        raise StepFailed(f"ids of token {row} are {got[row].tolist()}, not {expected[row].tolist()}")


class Routing:
    """The layer of a :class:`RoutingSpec`, and inputs for it."""

    def __init__(self, spec: RoutingSpec) -> None:
        self.spec = spec
        self.device = torch.device(spec.device)
        self.dtype: torch.dtype = getattr(torch, spec.dtype)
        self.factory: Callable[..., Any] = target.load(spec.layer) if spec.layer else HashTopK
        self.arguments: dict[str, Any] = {
            "topk": spec.topk,
            "num_experts": spec.experts,
            "vocab_size": spec.vocab,
            "scoring_func": spec.scoring,
            "routed_scaling_factor": spec.scale,
            "num_fused_shared_experts": spec.shared,
        }
        try:
            inspect.signature(self.factory).bind(**self.arguments)
        except TypeError as error:
            raise target.TargetError(
                f"{spec.layer!r} is no routing layer: it takes other arguments than HashTopK ({error}); "
                "any other module is verified with --inputs"
            ) from error
        self.generator = torch.Generator().manual_seed(_SEED)

    def make(self) -> HashTopK:
        """A new layer, of that class or like it, on the device that is the context's."""
        layer = self.factory(**self.arguments)
        if not isinstance(layer, nn.Module) or not isinstance(getattr(layer, "tid2eid", None), torch.Tensor):
            raise TypeError(f"{self.spec.layer} made no module with a table `tid2eid`")
        return layer  # type: ignore[return-value]

    @cached_property
    def layer(self) -> HashTopK:
        """The layer of the later steps: built on poisoned memory and dummy-loaded."""
        return self.poisoned()

    def poisoned(self) -> HashTopK:
        with Poison("A"), self.device:
            layer = self.make()
        initialize_dummy_weights(layer)
        return layer

    def draw(self, tokens: int | None = None) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Hidden states [T, H], logits [T, E] and input ids int64 [T], new ones each time."""
        spec = self.spec
        tokens = spec.tokens if tokens is None else tokens
        hidden = torch.randn(tokens, spec.hidden, generator=self.generator)
        logits = 2 * torch.randn(tokens, spec.experts, generator=self.generator)
        ids = torch.randint(0, max(spec.vocab, 1), (tokens if spec.vocab else 0,), generator=self.generator)
        return hidden.to(self.device, self.dtype), logits.to(self.device, self.dtype), ids.to(self.device)

    def new_table(self) -> torch.Tensor:
        """What a checkpoint may bring: distinct experts in each row, int32 [vocab, topk]."""
        keys = torch.rand(self.spec.vocab, self.spec.experts, generator=self.generator)
        return keys.argsort(1)[:, : self.spec.topk].int()

    def expected(
        self, inputs: Any, valid: int | None = None, table: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Ids and weights by the reference, through *table* or else the layer's own."""
        spec = self.spec
        _, logits, input_ids = inputs
        table = self.layer.tid2eid if table is None else table
        return reference.route(
            table, logits, input_ids, scoring=spec.scoring, shared=spec.shared, scale=spec.scale, valid=valid
        )

    def compare(self, made: RoutingOutput, inputs: Any, valid: int | None = None) -> float:
        """The largest relative error of the weights of *made*.

        Raises:
            StepFailed: if ids differ at all, or weights by more than the tolerance.
        """
        ids, weights = self.expected(inputs, valid)
        compare_ids(made.topk_ids, ids)
        if made.topk_weights.shape != weights.shape:
            raise StepFailed(f"weights are {list(made.topk_weights.shape)}, not {list(weights.shape)}")
        tolerance = reference.TOLERANCE[made.topk_weights.dtype]
        error = (made.topk_weights.cpu().double() - weights).abs()
        relative = float((error / weights.abs().clamp(min=1e-12)).max()) if error.numel() else 0.0
        if not relative <= tolerance:
            raise StepFailed(f"weights are off by {relative:.2g}, tolerance {tolerance:.2g}", error=relative)
        return relative

    def tolerance(self) -> str:
        return f"tolerance {reference.TOLERANCE[self.weights_dtype()]:.2g} for {self.weights_dtype()}"

    def weights_dtype(self) -> torch.dtype:
        return self.layer.forward(*self.draw(0)).topk_weights.dtype

    def synchronize(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()
