"""Which state of a module nothing wrote, found by building it twice on memory of two different patterns."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

_ALLOCATING = {
    torch.ops.aten.empty.memory_format,
    torch.ops.aten.empty_like.default,
    torch.ops.aten.empty_strided.default,
    torch.ops.aten.empty_permuted.default,
    torch.ops.aten.new_empty.default,
    torch.ops.aten.new_empty_strided.default,
    torch.ops.aten.resize_.default,
}


class Poison(TorchDispatchMode):
    """Fills memory that an operation returns without values."""

    def __init__(self, byte: int) -> None:
        super().__init__()
        self.byte = byte

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        before = args[0].untyped_storage().nbytes() if func is torch.ops.aten.resize_.default else 0
        result = func(*args, **(kwargs or {}))
        if func in _ALLOCATING and result.device.type == "cpu" and result.numel():
            memory = torch.empty(0, dtype=torch.uint8).set_(result.untyped_storage())
            memory[before:].fill_(self.byte)
        return result


def unwritten(path: Path) -> set[str]:
    """The names of the non-floating state of what a fixture builds that differs between two poisoned builds."""
    first, second = _built(path, 0x5A), _built(path, 0xA5)
    assert first.keys() == second.keys()
    return {name for name in first if not torch.equal(first[name], second[name])}


def _built(path: Path, byte: int) -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    with Poison(byte):
        made = _load(path).build()
        state = dict(_state(made))
    return {name: _bytes(tensor) for name, tensor in state.items() if not tensor.is_floating_point()}


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    plain = tensor.detach().as_subclass(torch.Tensor).contiguous()
    return plain.reshape(-1).view(torch.uint8)


def _state(made: Any) -> Iterator[tuple[str, torch.Tensor]]:
    modules = made if isinstance(made, tuple | list) else [made]
    for at, module in enumerate(modules):
        if isinstance(module, nn.Module):
            for name, tensor in [
                *module.named_parameters(remove_duplicate=False),
                *module.named_buffers(remove_duplicate=False),
            ]:
                if tensor.device.type != "meta" and not isinstance(tensor, nn.parameter.UninitializedTensorMixin):
                    yield f"{at}.{name}", tensor


def loaded(path: Path) -> Any:
    """What a fixture builds, on memory of one pattern."""
    with Poison(0x5A):
        return _load(path).build()


def _load(path: Path) -> Any:
    """A fixture as a module."""
    name = f"fixture_{path.parent.name}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[name]
    return module
