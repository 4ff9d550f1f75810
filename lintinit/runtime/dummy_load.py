"""Loaders of dummy weights, as those of serving engines behave: what they fill, and what they leave as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

import torch
from torch import nn
from torch.nn.parameter import is_lazy

Policy = Literal["float-only", "vllm", "zero"]
POLICIES: tuple[Policy, ...] = get_args(Policy)

#: The byte of an E8M0 scale that a loader writes: 2 ** (120 - 127), small and harmless.
_E8M0_BYTE = 120
_RANGE = 1e-3
#: Eight-bit floats hold next to nothing of the range above, so they get this one.
_RANGE_8_BIT = 1.0
_E8M0 = getattr(torch, "float8_e8m0fnu", None)
_FLOAT4 = getattr(torch, "float4_e2m1fn_x2", None)

_Fill = Callable[[str, torch.Tensor, torch.Generator], bool]


def initialize_dummy_weights(module: nn.Module, policy: Policy = "float-only", *, seed: int = 1234) -> list[str]:
    """Fill the persistent state of *module* as a loader without a checkpoint does.

    The generator is seeded anew for each entry of the ``state_dict``. So a value depends on the seed and on its place
    in its own entry only: not on other entries, nor on how many rows of the entry live on this rank.

    Args:
        module: any module; entries on the meta device are skipped, non-persistent buffers are no entries.
        policy: ``float-only`` gives floating-point entries uniform values within 1e-3 of zero (those of fewer than 16
            bits by way of float16) and touches nothing else. ``vllm`` does the same, but eight-bit floats get values
            within 1 of zero, ``uint8`` and ``int8`` entries random bytes, and scales of type E8M0, or of ``uint8``
            with "scale" in their name, byte 120; a tensor's attribute ``dummy_weight_value`` wins over all that. Wider
            integers and bool stay as they are. ``zero`` makes every entry zero, integers too.
        seed: of the generator.

    Returns:
        The names of the entries that were filled, in their order. A tensor under two names counts once.

    Raises:
        ValueError: for an unknown policy.

    Source: the loaders behind ``--load-format dummy`` of SGLang (float-only) and vLLM, as of 2026.
    """
    if policy not in _FILLS:
        raise ValueError(f"unknown policy {policy!r}: one of {', '.join(POLICIES)}")
    fill = _FILLS[policy]
    done: set[int] = set()
    filled = []
    with torch.no_grad():
        for name, tensor in module.state_dict(keep_vars=True).items():
            if not _loadable(tensor) or id(tensor) in done:
                continue
            done.add(id(tensor))
            generator = torch.Generator(device=tensor.device).manual_seed(seed)
            if fill(name, tensor, generator):
                filled.append(name)
    return filled


def _loadable(tensor: Any) -> bool:
    """Not the extra state of a module, and with memory."""
    return isinstance(tensor, torch.Tensor) and not is_lazy(tensor) and not tensor.is_meta


def _float_only(name: str, tensor: torch.Tensor, generator: torch.Generator) -> bool:
    if not tensor.is_floating_point() or tensor.dtype is _FLOAT4:
        return False
    _uniform(tensor, _RANGE, generator)
    return True


def _vllm(name: str, tensor: torch.Tensor, generator: torch.Generator) -> bool:
    value = getattr(tensor, "dummy_weight_value", None)
    if value is not None:
        tensor.fill_(value)
    elif tensor.dtype is _E8M0 or (tensor.dtype is torch.uint8 and "scale" in name):
        tensor.view(torch.uint8).fill_(_E8M0_BYTE)
    elif tensor.dtype in (torch.uint8, torch.int8, _FLOAT4):
        tensor.view(torch.uint8).random_(0, 256, generator=generator)
    elif tensor.is_floating_point():
        _uniform(tensor, _RANGE_8_BIT if tensor.element_size() == 1 else _RANGE, generator)
    else:
        return False
    return True


def _zero(name: str, tensor: torch.Tensor, generator: torch.Generator) -> bool:
    bytewise = tensor.is_floating_point() and tensor.element_size() == 1
    (tensor.view(torch.uint8) if bytewise else tensor).zero_()
    return True


def _uniform(tensor: torch.Tensor, bound: float, generator: torch.Generator) -> None:
    """Uniform in [-bound, bound), rounded to *tensor*'s dtype."""
    if tensor.element_size() >= 2:
        tensor.uniform_(-bound, bound, generator=generator)
    else:
        half = torch.empty(tensor.shape, dtype=torch.float16, device=tensor.device)
        tensor.copy_(half.uniform_(-bound, bound, generator=generator))


_FILLS: dict[str, _Fill] = {"float-only": _float_only, "vllm": _vllm, "zero": _zero}
