"""Routing layers that are wrong in one way each, and modules that end badly."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import torch
from torch import nn

from lintinit.runtime import HashTopK


class DuplicateIds(HashTopK):
    def _init_default_tid2eid(self) -> None:
        with torch.no_grad():
            rows = torch.arange(self.vocab_size, dtype=torch.int32).unsqueeze(1)
            self.tid2eid.copy_((rows % self.num_experts).expand_as(self.tid2eid))


class IdOfNoExpert(HashTopK):
    def _init_default_tid2eid(self) -> None:
        with torch.no_grad():
            rows = torch.arange(self.vocab_size, dtype=torch.int32).unsqueeze(1)
            columns = torch.arange(self.topk, dtype=torch.int32)
            self.tid2eid.copy_((rows + columns) % (self.num_experts + 1))


class OverflowingDefault(HashTopK):
    def _init_default_tid2eid(self) -> None:
        with torch.no_grad():
            rows = torch.arange(self.vocab_size).to(torch.int8).unsqueeze(1)  # row 200 is -56
            columns = torch.arange(self.topk, dtype=torch.int8)
            self.tid2eid.copy_(torch.fmod(rows + columns, self.num_experts))


class Unbalanced(HashTopK):
    def _init_default_tid2eid(self) -> None:
        with torch.no_grad():
            self.tid2eid.copy_(torch.arange(self.topk, dtype=torch.int32).expand_as(self.tid2eid))


class DefaultIntoACopy(HashTopK):
    def _init_default_tid2eid(self) -> None:
        copy = self.tid2eid.detach().clone()
        copy.copy_(torch.zeros_like(copy))


class NeverCalled(HashTopK):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.tid2eid = nn.Parameter(torch.empty_like(self.tid2eid), requires_grad=False)


class NotRenormalised(HashTopK):
    """Right in float32; in float64 it forgets to divide."""

    def _weights(self, logits: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        weights = super()._weights(logits, ids)
        return weights * 2 if logits.dtype is torch.float64 else weights


class DefaultInForward(HashTopK):
    """Writes its default again at each pass, over what a checkpoint brought."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        self._init_default_tid2eid()
        return super().forward(*args, **kwargs)


class IgnoresPadding(HashTopK):
    def forward(self, hidden_states: Any, router_logits: Any, input_ids: Any, num_token_non_padded: Any = None) -> Any:
        return super().forward(hidden_states, router_logits, input_ids)


class DefaultOnce(HashTopK):
    """Its method fills the first table only, and none that comes from ``to_empty()``."""

    def _init_default_tid2eid(self) -> None:
        if not hasattr(self, "filled"):
            self.filled = True
            super()._init_default_tid2eid()


class KillsItself(HashTopK):
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)


class Hangs(HashTopK):
    def load_state_dict(self, *args: Any, **kwargs: Any) -> Any:
        time.sleep(600)


class NotLikeIt(nn.Module):
    def __init__(self, hidden: int) -> None:
        super().__init__()


# ---- for `verify --inputs`


class Lookup(nn.Module):
    """Reads one table as an index; the other is scratch that nothing reads."""

    def __init__(self) -> None:
        super().__init__()
        self.proj = nn.Linear(4, 4)
        self.register_buffer("rows", torch.empty(10, dtype=torch.int64))
        self.register_buffer("scratch", torch.empty(10, dtype=torch.int32))

    def forward(self, x: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        print("a word from the module")
        return self.proj(x)[self.rows[ids]]  # type: ignore[no-any-return]


class Repaired(Lookup):
    def __init__(self) -> None:
        super().__init__()
        self.rows.zero_()


def inputs() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.zeros(3, 4), torch.tensor([1, 2])


def inputs_by_name() -> dict[str, torch.Tensor]:
    return {"x": torch.zeros(3, 4), "ids": torch.tensor([1, 2])}


def inputs_that_do_not_fit() -> torch.Tensor:
    return torch.zeros(3, 7)


def raises() -> nn.Module:
    raise ValueError("no such size")


def exits() -> nn.Module:
    raise SystemExit(3)


def crashes() -> nn.Module:
    os.kill(os.getpid(), signal.SIGSEGV)
    raise AssertionError


NUMBER = 3
