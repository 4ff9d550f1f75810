"""Memory for a module that was built on the meta device, filled by what the module itself offers for that."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from torch import nn

Reinitialize = Callable[[nn.Module], Any]


def materialize(module: nn.Module, reinitialize: Reinitialize | None = None, device: str = "cpu") -> list[str]:
    """``to_empty()``, and after it everything that the module has for its values.

    Args:
        module: built on the meta device.
        reinitialize: what to call with *module* instead of the methods that :func:`methods` finds.
        device: where the memory is to be.

    Returns:
        What was called, as ``Class.method``, in order and each once.
    """
    module.to_empty(device=device)
    if reinitialize is not None:
        reinitialize(module)
        return [getattr(reinitialize, "__qualname__", repr(reinitialize))]
    called: dict[str, None] = {}
    for owner, name, call in methods(module):
        call()
        called[f"{type(owner).__qualname__}.{name}"] = None
    return list(called)


def methods(module: nn.Module) -> Iterator[tuple[nn.Module, str, Callable[[], Any]]]:
    """The re-initialisation that libraries agree on: owner, name of the method, and the call.

    In this order, so that a model's own scheme wins over its layers' and buffers come last:

    1. ``reset_parameters()`` of every submodule, children first (torch's layers; what FSDP calls);
    2. ``init_weights()`` of the outermost modules that have it (transformers, torchtitan). transformers marks what it
       has initialised, on the meta device too, and then skips it: the marks are taken off before;
    3. else ``apply(self._init_weights)``, likewise of the outermost;
    4. ``init_non_persistent_buffers()`` of every submodule (timm).
    """
    below = [*module.modules()][::-1]
    yield from _own(below, "reset_parameters")
    for owner in _outermost(module):
        if _callable(owner, "init_weights"):
            _forget_marks(owner)
            yield owner, "init_weights", owner.init_weights  # type: ignore[misc]
        else:
            yield owner, "_init_weights", lambda owner=owner: owner.apply(owner._init_weights)  # type: ignore[misc]
    yield from _own(below, "init_non_persistent_buffers")


def _own(modules: list[nn.Module], name: str) -> Iterator[tuple[nn.Module, str, Callable[[], Any]]]:
    for module in modules:
        if _callable(module, name):
            yield module, name, getattr(module, name)


def _outermost(module: nn.Module) -> Iterator[nn.Module]:
    """The modules with ``init_weights()`` or ``_init_weights(module)`` that lie in no other such module."""
    if _callable(module, "init_weights") or _callable(module, "_init_weights", None):
        yield module
    else:
        for child in module.children():
            yield from _outermost(child)


def _callable(module: nn.Module, name: str, *arguments: Any) -> bool:
    """Whether *module* has a method of that name that takes these arguments and needs no more."""
    method = getattr(module, name, None)
    if not inspect.ismethod(method):
        return False
    try:
        inspect.signature(method).bind(*arguments)
    except (TypeError, ValueError):
        return False
    return True


def _forget_marks(module: nn.Module) -> None:
    for part in module.modules():
        for marked in (part, *part._parameters.values(), *part._buffers.values()):
            if marked is not None and "_is_hf_initialized" in vars(marked):
                delattr(marked, "_is_hf_initialized")
