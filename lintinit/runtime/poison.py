"""Memory that nobody has written yet, made recognisable: every uninitialised allocation gets a pattern.

Chosen by experiment. A global deterministic fill gives one pattern only, and NaN hides in floating-point state that
is NaN on purpose; patching functions misses what C++ allocates for ``torch.Tensor(n)``; perturbing malloc misses
recycled blocks and says nothing about a device; version counters do not tell ``empty`` from ``zeros``. A dispatch mode
sees each allocation whoever asks for it, on every device, and leaves all others alone.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, Literal

import torch
from torch.utils._python_dispatch import TorchDispatchMode, is_traceable_wrapper_subclass

aten, prims = torch.ops.aten, torch.ops.prims

#: Operators whose result nobody has written.
ALLOCATE = frozenset(
    {
        aten.empty,
        aten.empty_like,
        aten.empty_permuted,
        aten.empty_quantized,
        aten.empty_strided,
        aten.new_empty,
        aten.new_empty_strided,
        aten._empty_affine_quantized,
        aten._empty_per_channel_affine_quantized,
        prims.empty,
        prims.empty_permuted,
        prims.empty_strided,
    }
)
#: Operators after which the first argument may have memory beyond what it had.
GROW = frozenset({aten.resize_, aten.resize_as_})

#: Bytes of pattern A lie in this range and those of pattern B are their complements: each bit of an element differs,
#: and no floating-point element is NaN or infinite (sums of it would be equal again).
_LOWEST, _HIGHEST = 0x41, 0x5E
_BLOCK = 1 << 16
#: Where an allocation begins in the block moves on by this much, so that no two of one size are the same.
_STEP = 8 * 1021

#: "zero" is for the question whether it is the patterns that a factory fails on.
Pattern = Literal["A", "B", "zero"]


@functools.cache
def _blocks() -> dict[bool, torch.Tensor]:
    """Two periods of pattern A, by whether it is for bool; the values vary with the position.

    Otherwise ``argsort`` of unwritten memory, or the difference of two tables, would look as if it were written.
    """
    generator = torch.Generator().manual_seed(0)
    plain = torch.randint(_LOWEST, _HIGHEST + 1, (_BLOCK,), dtype=torch.uint8, generator=generator)
    truth = torch.randint(0, 2, (_BLOCK,), dtype=torch.uint8, generator=generator)
    return {False: plain.repeat(2), True: truth.repeat(2)}


class Poison(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Fills whatever this thread allocates without writing it, on any device, with pattern A or B, or zeros.

    Not seen, because no operator is called: memory of other threads, of numpy, and storage that is made or resized
    through ``torch.UntypedStorage``.
    """

    def __init__(self, pattern: Pattern) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._pattern = pattern
        self._cached: dict[tuple[torch.device, bool], torch.Tensor] = {}
        self._plain = _blocks()
        self._offset = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        packet = func.overloadpacket
        if packet in ALLOCATE:
            result = func(*args, **(kwargs or {}))
            self._fill(result, 0)
        elif packet in GROW:
            before = args[0].untyped_storage().nbytes()
            result = func(*args, **(kwargs or {}))
            self._fill(result, before)
        else:
            result = func(*args, **(kwargs or {}))
        return result

    def _fill(self, tensor: torch.Tensor, start: int) -> None:
        for part in plain_parts(tensor):
            storage = part.untyped_storage()
            if storage.device.type == "meta" or storage.nbytes() <= start:
                continue
            memory = torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)[start:]
            block = self._block(storage.device, part.dtype is torch.bool)[self._offset :][:_BLOCK]
            whole, rest = divmod(memory.numel(), _BLOCK)
            memory[: whole * _BLOCK].view(whole, _BLOCK).copy_(block.expand(whole, _BLOCK))
            memory[whole * _BLOCK :].copy_(block[:rest])
            self._offset = (self._offset + _STEP) % _BLOCK

    def _block(self, device: torch.device, truth: bool) -> torch.Tensor:
        if (device, truth) not in self._cached:
            block = self._plain[truth]
            if self._pattern == "B":
                block = 1 - block if truth else ~block
            elif self._pattern == "zero":
                block = torch.zeros_like(block)
            self._cached[device, truth] = block.to(device)
        return self._cached[device, truth]


def plain_parts(tensor: torch.Tensor) -> Iterator[torch.Tensor]:
    """The strided tensors that hold what *tensor* is made of: itself, or those inside a sparse or wrapped one."""
    if is_traceable_wrapper_subclass(tensor):
        for name in tensor.__tensor_flatten__()[0]:
            yield from plain_parts(getattr(tensor, name))
    elif tensor.layout is torch.sparse_coo:
        yield tensor._indices()
        yield tensor._values()
    elif tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        yield from (tensor.crow_indices(), tensor.col_indices(), tensor.values())
    elif tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        yield from (tensor.ccol_indices(), tensor.row_indices(), tensor.values())
    elif tensor.layout is torch.strided:
        yield tensor


def never_written(first: torch.Tensor, second: torch.Tensor, truth: bool) -> torch.Tensor:
    """Which elements hold pattern A in one build and pattern B in the other, wherever they were moved from.

    Args:
        first: uint8 [n, bytes of an element], from the build under pattern A.
        second: the same shape, from the build under pattern B.
        truth: whether the elements are of dtype bool; one that differs then cannot be told from a moved one.

    Returns:
        bool [n].
    """
    return (first ^ second == (1 if truth else 0xFF)).all(dim=1)
