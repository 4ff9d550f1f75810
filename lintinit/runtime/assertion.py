"""One line for a test suite: this module leaves nothing unwritten."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

from lintinit.runtime.audit import audit
from lintinit.runtime.dummy_load import Policy
from lintinit.runtime.reinit import Reinitialize
from lintinit.runtime.report import AuditReport
from lintinit.runtime.state import state_of


def assert_initialized(
    module_or_factory: nn.Module | Callable[[], Any],
    *,
    dummy_load: Policy | None = None,
    meta: bool | Reinitialize = False,
) -> AuditReport:
    """Assert that construction wrote all parameters and buffers.

    Args:
        module_or_factory: what :func:`~lintinit.runtime.audit` takes: a callable without arguments, say
            ``lambda: MyLayer(8)`` or a module class. Or a module: memory does not tell afterwards who wrote it, so
            a second one of its class is built, with the arguments that its attributes of the same names hold.
        dummy_load: as for :func:`~lintinit.runtime.audit`; ``"float-only"`` to ask about integer state only.
        meta: as for :func:`~lintinit.runtime.audit`.

    Returns:
        The report, which has nothing to complain about.

    Raises:
        AssertionError: naming each attribute with its class, dtype, count, and the file and line of the class; or
            with the error of the factory.
        TypeError: for a module whose constructor's arguments cannot be read from its attributes.
    """
    __tracebackhide__ = True  # pytest then shows the line of the test
    factory = _factory(module_or_factory) if isinstance(module_or_factory, nn.Module) else module_or_factory
    report = audit(factory, dummy_load=dummy_load, meta=meta)
    if not report.ok:
        raise AssertionError(str(report))
    return report


def _factory(module: nn.Module) -> Callable[[], nn.Module]:
    """Builds a module like *module*.

    Raises:
        TypeError: if that cannot be done, or gives another state.
    """
    cls = type(module)
    advice = f"a finished {cls.__qualname__} cannot be judged; pass a factory: lambda: {cls.__qualname__}(...)"
    arguments = {}
    for name, parameter in inspect.signature(cls).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            continue
        if hasattr(module, name):
            value = getattr(module, name)
            if isinstance(parameter.default, bool) and not isinstance(value, bool):
                value = value is not None  # `bias: bool` becomes a parameter, or None
            if _holds_state(value):
                raise TypeError(f"{advice} (its argument {name!r} has state, which would not be built again)")
            arguments[name] = value
        elif parameter.default is parameter.empty:
            raise TypeError(f"{advice} (its argument {name!r} is no attribute)")

    def build() -> nn.Module:
        return cls(**arguments)

    try:
        rebuilt = build()
    except Exception as error:
        raise TypeError(f"{advice} (a second one, made from its attributes, failed: {error})") from error
    if _form(rebuilt) != _form(module):
        raise TypeError(f"{advice} (a second one, made from its attributes, has other state)")
    return build


def _holds_state(value: Any) -> bool:
    entries = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else [value]
    return any(isinstance(entry, nn.Module | torch.Tensor) for entry in entries)


def _form(module: nn.Module) -> list[tuple[str, Any, Any]]:
    return [(s.name, s.tensor.dtype, None if s.on_meta else s.tensor.shape) for s in state_of(module)]
