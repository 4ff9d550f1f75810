"""What the steps of a verification share: the layer, inputs for it, and the comparison with the reference."""

from __future__ import annotations

import inspect
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


class Routing:
    """The layer of a :class:`RoutingSpec`, and inputs for it."""

    def __init__(self, spec: RoutingSpec) -> None:
        self.spec = spec
        self.device = torch.device(spec.device)
        self.dtype: torch.dtype = getattr(torch, spec.dtype)
        self.factory = target.load(spec.layer) if spec.layer else HashTopK
        self.arguments = {
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
        return layer  # type: ignore[no-any-return]

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

    def compare(self, made: RoutingOutput, inputs: Any, valid: int | None = None, table: Any = None) -> float:
        """The largest relative error of the weights of *made*.

        Raises:
            StepFailed: if ids differ at all, or weights by more than the tolerance.
        """
        spec = self.spec
        _, logits, input_ids = inputs
        table = self.layer.tid2eid if table is None else table
        ids, weights = reference.route(
            table, logits, input_ids, scoring=spec.scoring, shared=spec.shared, scale=spec.scale, valid=valid
        )
        got = made.topk_ids.cpu().long()
        if got.shape != ids.shape or made.topk_weights.shape != weights.shape:
            raise StepFailed(f"ids {list(got.shape)}, weights {list(made.topk_weights.shape)}; not {list(ids.shape)}")
        if not torch.equal(got, ids):
            row = int((got != ids).any(1).nonzero()[0])
            raise StepFailed(f"ids of token {row} are {got[row].tolist()}, not {ids[row].tolist()}")
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
