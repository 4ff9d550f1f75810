"""The state of a module: its parameters and buffers, with who registered them and the bytes they hold."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from lintinit.runtime.poison import plain_parts


@dataclass(frozen=True)
class State:
    """One parameter or buffer."""

    name: str
    kind: Literal["parameter", "buffer"]
    persistent: bool
    owner: nn.Module
    tensor: torch.Tensor
    aliases: tuple[str, ...] = ()

    @property
    def on_meta(self) -> bool:
        """Whether it has no memory yet: on the meta device, or not materialised by a lazy module."""
        return is_lazy(self.tensor) or self.tensor.is_meta


def state_of(module: nn.Module, prefix: str = "") -> list[State]:
    """All parameters and buffers, persistent or not, in the order of registration; a tied one once, with its aliases.

    Raises:
        RuntimeError: for a ScriptModule that was frozen.
    """
    found: dict[int, State] = {}
    names: dict[int, list[str]] = {}
    for path, owner in module.named_modules(prefix=prefix, remove_duplicate=False):
        hidden: frozenset[str] = getattr(owner, "_non_persistent_buffers_set", frozenset())
        for kind, entries in (("parameter", owner._parameters), ("buffer", owner._buffers)):
            for name, tensor in entries.items():
                if tensor is None:
                    continue
                full = f"{path}.{name}" if path else name
                names.setdefault(id(tensor), []).append(full)
                persistent = name not in hidden
                found.setdefault(id(tensor), State(full, kind, persistent, owner, tensor))  # type: ignore[arg-type]
    return [State(s.name, s.kind, s.persistent, s.owner, s.tensor, tuple(names[key][1:])) for key, s in found.items()]


def elements(tensor: torch.Tensor) -> Iterator[tuple[torch.dtype, torch.Tensor]]:
    """The dtype and the bytes, uint8 [elements, bytes of one], of each strided tensor that *tensor* is made of.

    Views are read through their strides, in row-major order; a quantised tensor's integers as its storage has them.
    """
    for part in plain_parts(tensor.detach()):
        plain = part.as_subclass(torch.Tensor)
        if plain.is_quantized:
            memory = torch.empty(0, dtype=torch.uint8, device=plain.device).set_(plain.untyped_storage())
            yield plain.dtype, memory.unsqueeze(1)
            continue
        if plain.is_conj():
            plain = plain.conj()  # the memory, not the values that the view makes of it
        if plain.is_neg():
            plain = torch._neg_view(plain)
        size = plain.element_size()
        if size == 1:
            plain = plain.view(torch.uint8)
        yield part.dtype, plain.contiguous().reshape(-1).view(torch.uint8).reshape(-1, size)


@functools.cache
def place(cls: type) -> tuple[str | None, int | None]:
    """The file and the line that *cls* is defined at, where there is source."""
    try:
        return inspect.getsourcefile(cls), inspect.getsourcelines(cls)[1]
    except (OSError, TypeError):
        return None, None
