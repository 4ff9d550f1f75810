"""Which state of a module nothing wrote, proved by building it twice on memory of two patterns."""

from __future__ import annotations

import contextlib
import random
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from lintinit.runtime.dummy_load import POLICIES, Policy, initialize_dummy_weights
from lintinit.runtime.poison import Pattern, Poison, never_written
from lintinit.runtime.reinit import Reinitialize, materialize
from lintinit.runtime.report import AuditReport, Failure, Unwritten
from lintinit.runtime.state import State, elements, place, state_of

#: An element of fewer bytes than this can hold a pattern by chance where the state is random.
_CERTAIN_BYTES = 4
_SEED = 0
_OWN = str(Path(__file__).parent)
_TORCH = str(Path(torch.__file__).parent)


def audit(
    factory: Callable[[], Any],
    *,
    dummy_load: Policy | None = None,
    meta: bool | Reinitialize = False,
) -> AuditReport:
    """Report each parameter and buffer that holds bytes which nothing wrote, or a value computed from such bytes.

    *factory* is called under a mode that fills uninitialised memory with pattern A, then again with pattern B, random
    numbers starting alike. An element that has A in one build and B in the other was never written; one that differs
    otherwise was computed from unwritten memory (*derived*; of bool nobody can tell). Where something differs, the
    factory is called once more with either pattern: what differs by itself, such as the time or values of
    ``default_rng()``, is no garbage, and neither is what differs because the first call filled a cache.

    Args:
        factory: called without arguments; returns a module, or a list, tuple or dict of modules. A module class will
            do, an instance will not: see :func:`~lintinit.runtime.assert_initialized`.
        dummy_load: fill the module as a loader of this policy does, and look then.
        meta: build on the meta device, ``to_empty()``, run the module's own re-initialisation
            (:func:`~lintinit.runtime.reinit.methods`), or this callable with the module, and look then.

    Returns:
        A report. A factory that raises makes a report with a ``failure``.

    Raises:
        ValueError: for an unknown policy.

    What it cannot see: memory that other threads allocate, numpy or ``torch.UntypedStorage``; memory that was
    allocated before the factory is called or is kept from one call to the next; results that do not depend on the
    garbage they are computed from (``t * 0``); elements of fewer than four bytes in state that is random by itself.
    """
    if dummy_load is not None and dummy_load not in POLICIES:
        raise ValueError(f"unknown policy {dummy_load!r}: one of {', '.join(POLICIES)}")
    builder = _Builder(factory, dummy_load, bool(meta), meta if callable(meta) else None)
    try:
        cold = builder.build("A")
        second = builder.build("B")
        names = [name for name in {**cold, **second} if not _same(cold.get(name), second.get(name))]
        del cold
        first = builder.build("A") if names else {}
        again = builder.build("B") if names else {}
    except Exception as error:
        return AuditReport(0, failure=_failure(error, builder))
    found, unstable = [], []
    for name in names:
        flaw = _judged(first.get(name), second.get(name), again.get(name))
        if flaw is not None:
            found.append(flaw)
        elif not _same(second.get(name), again.get(name)):
            unstable.append(name)
    return AuditReport(
        len(second),
        tuple(found),
        tuple(unstable),
        tuple(name for name, state in second.items() if state.on_meta),
        tuple(builder.called),
    )


class _Builder:
    """Builds the module, and does to it what the audit is to look at."""

    def __init__(
        self,
        factory: Callable[[], Any],
        dummy_load: Policy | None,
        meta: bool,
        reinitialize: Reinitialize | None,
    ) -> None:
        self.factory = factory
        self.dummy_load = dummy_load
        self.meta = meta
        self.reinitialize = reinitialize
        self.called: list[str] = []

    def build(self, pattern: Pattern) -> dict[str, State]:
        """The state by name."""
        self.called = []
        with _same_randomness(), Poison(pattern):
            with torch.device("meta") if self.meta else contextlib.nullcontext():
                modules = _modules(self.factory())
            for module in modules.values():
                if self.meta:
                    self.called += materialize(module, self.reinitialize)
                if self.dummy_load is not None:
                    initialize_dummy_weights(module, self.dummy_load)
            return {state.name: state for prefix, module in modules.items() for state in state_of(module, prefix)}


def _modules(made: Any) -> dict[str, nn.Module]:
    """What a factory returned, by prefix of the names of its state."""
    if isinstance(made, nn.Module):
        return {"": made}
    entries = made.items() if isinstance(made, Mapping) else enumerate(made) if isinstance(made, list | tuple) else ()
    modules = {str(key): module for key, module in entries if isinstance(module, nn.Module)}
    if not modules:
        raise TypeError(f"the factory returned {type(made).__name__}, not a module or a list, tuple or dict of modules")
    return modules


@contextlib.contextmanager
def _same_randomness() -> Iterator[None]:
    """The generators of Python, numpy and torch start alike, and afterwards are as they were."""
    numpy = sys.modules.get("numpy")
    before, before_numpy = random.getstate(), numpy.random.get_state() if numpy else None
    devices = [*range(torch.cuda.device_count())] if torch.cuda.is_initialized() else []  # type: ignore[no-untyped-call]
    with torch.random.fork_rng(devices):
        torch.default_generator.manual_seed(_SEED)
        if devices:  # not ``torch.manual_seed``: it queues up work, with a stack trace, for a device not yet in use
            torch.cuda.manual_seed_all(_SEED)
        random.seed(_SEED)
        if numpy:
            numpy.random.seed(_SEED)
        try:
            yield
        finally:
            random.setstate(before)
            if numpy:
                numpy.random.set_state(before_numpy)


def _pairs(first: State, second: State) -> list[tuple[torch.dtype, torch.Tensor, torch.Tensor]] | None:
    """Dtype and bytes of the two, part by part; None where they are not of one form."""
    if first.on_meta or second.on_meta:
        return [] if first.on_meta and second.on_meta else None
    one, two = [*elements(first.tensor)], [*elements(second.tensor)]
    if [(dtype, part.shape) for dtype, part in one] != [(dtype, part.shape) for dtype, part in two]:
        return None
    return [(dtype, a, b) for (dtype, a), (_, b) in zip(one, two, strict=True)]


def _same(first: State | None, second: State | None) -> bool:
    if first is None or second is None:
        return first is second
    pairs = _pairs(first, second)
    return pairs is not None and all(torch.equal(_wide(a), _wide(b)) for _, a, b in pairs)


def _wide(memory: torch.Tensor) -> torch.Tensor:
    """Bytes as int64 where they can be seen so: they compare six times faster."""
    flat = memory.reshape(-1)
    fits = flat.numel() % 8 == 0 and flat.storage_offset() % 8 == 0
    return flat.view(torch.int64) if fits else flat


def _judged(first: State | None, second: State | None, again: State | None) -> Unwritten | None:
    """What is wrong with state that differs: under pattern A, under B, and under B again; None if it is by itself."""
    state = first or second
    if state is None:
        return None
    pairs = _pairs(first, second) if first and second else None
    if pairs is None:  # there, or of this shape, in one build only: its very existence hangs on garbage
        if not _same(second, again):
            return None
        return _flaw(state, torch.zeros(0, dtype=torch.bool), torch.ones(state.tensor.numel(), dtype=torch.bool))
    repeated = _pairs(second, again) if second and again else None
    if repeated is None:
        return None
    never, derived = [], []
    for (dtype, a, b), (_, _, b2) in zip(pairs, repeated, strict=True):
        stable = (b == b2).all(dim=1)
        if a.shape[1] < _CERTAIN_BYTES and not stable.all():
            stable = torch.zeros_like(stable)
        differs = (a != b).any(dim=1) & stable
        garbage = never_written(a, b, dtype is torch.bool) & differs
        never.append(garbage)
        derived.append(differs & ~garbage)
    return _flaw(state, torch.cat(never), torch.cat(derived))


def _flaw(state: State, never: torch.Tensor, derived: torch.Tensor) -> Unwritten | None:
    both = never | derived if never.numel() else derived
    where = both.nonzero().flatten()
    if not where.numel() and both.numel():
        return None
    cls = type(state.owner)
    file, line = place(cls)  # type: ignore[arg-type]
    return Unwritten(
        name=state.name,
        kind=state.kind,
        persistent=state.persistent,
        owner=cls.__qualname__,
        file=file,
        line=line,
        dtype=str(state.tensor.dtype).removeprefix("torch."),
        shape=tuple(state.tensor.shape),
        numel=both.numel(),
        unwritten=int(never.sum()),
        derived=int(derived.sum()),
        first=int(where[0]) if where.numel() else 0,
        last=int(where[-1]) if where.numel() else 0,
        aliases=state.aliases,
    )


def _failure(error: Exception, builder: _Builder) -> Failure:
    """*error* as a value; where it is the garbage's doing, that is said."""
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if not frame.filename.startswith((_OWN, _TORCH))]
    poisoned = False
    if theirs:  # else the factory returned, but nothing that could be audited
        with contextlib.suppress(Exception):
            builder.build("zero")
            poisoned = True
    where = theirs[-1] if theirs else None
    return Failure(
        type=type(error).__name__,
        message=str(error).strip() or "no message",
        file=where.filename if where else None,
        line=where.lineno if where else None,
        poisoned=poisoned,
    )
