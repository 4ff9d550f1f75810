"""What an audit says of state: which of it nothing wrote."""

from __future__ import annotations

import itertools
import os
import random
import re
from typing import Any

import numpy as np
import pytest
import torch
from audit_situations import LIMITS, SITUATIONS, Situation, module, table
from torch import nn

from lintinit.runtime import HashTopK, assert_initialized, audit
from lintinit.runtime import audit as audit_function

RUNS = 20


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda situation: situation.name)
def test_situation(situation: Situation) -> None:
    for run in range(RUNS):
        churn = [torch.randint(0, 255, (size,), dtype=torch.uint8) for size in (40, 160, 4096)]
        del churn[run % 3]  # so that the next allocations are of used memory
        report = audit(situation.build)
        assert report.failure is None
        assert {state.name: state.verdict for state in report.unwritten} == situation.expected


def test_there_are_fifty_of_them() -> None:
    assert len(SITUATIONS) >= 50


@pytest.mark.parametrize("situation", LIMITS, ids=lambda situation: situation.name)
def test_documented_limit(situation: Situation) -> None:
    """What the docstring says an audit does not see is not seen; where one is, the docstring is out of date."""
    report = audit(situation.build)
    assert report.failure is None
    assert situation.expected
    assert not report.unwritten


def test_each_limit_is_in_the_docstring() -> None:
    text = " ".join((audit_function.__doc__ or "").split()).partition("What it cannot see: ")[2]
    for words in (
        "other threads",
        "numpy",
        "torch.UntypedStorage",
        "before the factory is called",
        "kept from one call to the next",
        "do not depend on the garbage",
        "fewer than four bytes in state that is random",
    ):
        assert words in text


def test_counts_and_range() -> None:
    def build() -> nn.Module:
        whole = table(5, 8)
        whole[1:3] = 1
        whole[4, 7] = 0
        return module(t=whole)

    [state] = audit(build).unwritten
    assert (state.numel, state.unwritten, state.derived, state.first, state.last) == (40, 23, 0, 0, 38)
    assert state.shape == (5, 8)
    assert state.dtype == "int32"
    assert not state.floating


def test_unwritten_and_derived_in_one() -> None:
    def build() -> nn.Module:
        whole = torch.zeros(10, dtype=torch.int64)
        whole[2:5] = table(3, dtype=torch.int64)
        whole[6:8] = table(2, dtype=torch.int64) * 3
        return module(t=whole)

    [state] = audit(build).unwritten
    assert (state.unwritten, state.derived, state.first, state.last) == (3, 2, 2, 7)
    assert str(state).startswith(
        "buffer `t` of Module (int64[10]): 3 of 10 elements never written and 2 of 10 elements computed from "
        "unwritten memory, indices 2 to 7"
    )


def test_state_that_exists_in_one_build_only() -> None:
    def build() -> nn.Module:
        return module(**{"kept" if table(1).item() > 0 else "other": torch.zeros(3)})

    assert {state.name: state.verdict for state in audit(build).unwritten} == {"kept": "derived", "other": "derived"}


def test_shape_that_hangs_on_garbage() -> None:
    def build() -> nn.Module:
        return module(t=torch.zeros(3 if table(1).item() > 0 else 4))

    [state] = audit(build).unwritten
    assert state.verdict == "derived"


def test_aliases_kind_and_place() -> None:
    class Inner(nn.Module):
        def __init__(self, tensor: torch.Tensor) -> None:
            super().__init__()
            self.register_buffer("shared", tensor, persistent=False)

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("own", torch.empty(4, dtype=torch.bool))
            self.inner = Inner(self.own)
            self.ids = nn.Parameter(torch.empty(2, dtype=torch.int16), requires_grad=False)

    ids, own = audit(Outer).unwritten
    assert (own.name, own.aliases, own.kind, own.persistent) == ("own", ("inner.shared",), "buffer", True)
    assert (ids.name, ids.kind, ids.dtype) == ("ids", "parameter", "int16")
    assert own.owner.endswith("Outer")
    assert own.file == __file__
    assert "class Outer" in open(__file__, encoding="utf-8").read().splitlines()[(own.line or 0) - 1]  # noqa: PTH123, SIM115
    assert "also known as inner.shared" in str(own)


def test_not_persistent() -> None:
    def build() -> nn.Module:
        made = nn.Module()
        made.register_buffer("cache", table(), persistent=False)
        return made

    assert not audit(build).unwritten[0].persistent


class Mixed(nn.Module):
    """State that a loader of dummy weights fills, and state that it does not."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(4, 4))
        self.ids = nn.Parameter(table(4), requires_grad=False)
        self.register_buffer("packed", table(4, dtype=torch.uint8))
        self.register_buffer("hidden", torch.empty(4), persistent=False)


@pytest.mark.parametrize(
    ("policy", "left"),
    [
        (None, {"weight", "ids", "packed", "hidden"}),
        ("float-only", {"ids", "packed", "hidden"}),
        ("vllm", {"ids", "hidden"}),
        ("zero", {"hidden"}),
    ],
)
def test_after_a_dummy_load(policy: Any, left: set[str]) -> None:
    assert {state.name for state in audit(Mixed, dummy_load=policy).unwritten} == left


def test_unknown_policy() -> None:
    with pytest.raises(ValueError, match="unknown policy 'all': one of float-only"):
        audit(Mixed, dummy_load="all")  # type: ignore[arg-type]


# ---- on the meta device


class Resets(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("ids", torch.arange(4))
        self.register_buffer("left", torch.zeros(3, dtype=torch.int64))

    def reset_parameters(self) -> None:
        torch.arange(4, out=self.ids)


class InitWeights(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Resets()
        self.scale = nn.Parameter(torch.ones(3))

    def init_weights(self) -> None:
        self.scale.data.fill_(1)
        self.inner.left.zero_()


class Applied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.ModuleList([module(t=torch.zeros(3)), module(t=torch.zeros(3), u=torch.zeros(1))])

    def _init_weights(self, child: nn.Module) -> None:
        if "t" in child._buffers:
            child.t.zero_()


class Positions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("index", torch.arange(5), persistent=False)

    def init_non_persistent_buffers(self) -> None:
        self.index.copy_(torch.arange(5))


class Marked(nn.Module):
    """Skips what is marked, as transformers does, and marks it on the meta device."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = module(t=torch.zeros(3))
        self.init_weights()

    def init_weights(self) -> None:
        if not getattr(self.inner, "_is_hf_initialized", False) and not hasattr(self.inner.t, "_is_hf_initialized"):
            self.inner.t.zero_()
        self.inner._is_hf_initialized = True
        self.inner.t._is_hf_initialized = True


@pytest.mark.parametrize(
    ("factory", "left", "called"),
    [
        (Resets, {"left"}, ("Resets.reset_parameters",)),
        (InitWeights, set(), ("Resets.reset_parameters", "InitWeights.init_weights")),
        (Applied, {"inner.1.u"}, ("Applied._init_weights",)),
        (Positions, set(), ("Positions.init_non_persistent_buffers",)),
        (Marked, set(), ("Marked.init_weights",)),
        (lambda: nn.Sequential(nn.Linear(2, 2), Positions()), set(), None),
        (lambda: HashTopK(2, 8, vocab_size=20), set(), ("HashTopK.reset_parameters",)),
    ],
)
def test_on_the_meta_device(factory: Any, left: set[str], called: tuple[str, ...] | None) -> None:
    report = audit(factory, meta=True)
    assert report.failure is None
    assert {state.name for state in report.unwritten} == left
    if called:
        assert report.called == called


def test_on_the_meta_device_with_a_callable() -> None:
    def fill(made: nn.Module) -> None:
        for buffer in made.buffers():
            buffer.zero_()

    report = audit(Resets, meta=fill)
    assert report.ok
    assert report.called == ("test_on_the_meta_device_with_a_callable.<locals>.fill",)


def test_on_the_meta_device_nothing_is_looked_at_without_memory() -> None:
    report = audit(lambda: nn.Linear(2, 2, device="meta"))
    assert report.ok
    assert report.on_meta == ("weight", "bias")
    assert "without memory: weight, bias" in str(report)


# ---- factories that fail


def test_factory_that_raises_is_a_value() -> None:
    def build() -> nn.Module:
        raise KeyError("hidden_size")

    report = audit(build)
    assert report.failure is not None
    assert not report.ok
    assert (report.failure.type, report.failure.poisoned) == ("KeyError", False)
    assert report.failure.file == __file__
    assert re.match(r"the factory failed: KeyError: 'hidden_size'\n  at .*test_audit\.py:\d+$", str(report))


def test_factory_that_fails_on_garbage_only() -> None:
    def build() -> nn.Module:
        return module(t=torch.zeros(3)[table(2, dtype=torch.int64)])

    report = audit(build)
    assert report.failure is not None
    assert report.failure.poisoned
    assert "construction reads what nothing wrote" in str(report)


@pytest.mark.parametrize("made", [3, None, [], {"a": 1}, (torch.zeros(3),), nn.Linear])
def test_factory_that_returns_no_module(made: Any) -> None:
    report = audit(lambda: made)
    assert report.failure is not None
    assert "not a module" in report.failure.message


def test_failure_on_the_meta_device() -> None:
    def build() -> nn.Module:
        return module(t=torch.zeros(int(torch.ones(()).item())))

    report = audit(build, meta=True)
    assert report.failure is not None
    assert audit(build).ok


def test_interruptions_are_not_swallowed() -> None:
    def build() -> nn.Module:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        audit(build)


# ---- the audit leaves no traces


def test_generators_are_as_they_were() -> None:
    def draw() -> tuple[Any, ...]:
        return torch.rand(1).item(), random.random(), np.random.rand()

    torch.manual_seed(5), random.seed(5), np.random.seed(5)
    expected = draw()
    torch.manual_seed(5), random.seed(5), np.random.seed(5)
    audit(lambda: nn.Linear(random.randint(1, 4), np.random.randint(1, 4)))
    assert draw() == expected


def test_as_a_dictionary() -> None:
    made = audit(Mixed, dummy_load="float-only").as_dict()
    assert made["version"] == 1
    assert made["ok"] is False
    assert made["checked"] == 4
    assert [(state["name"], state["verdict"]) for state in made["unwritten"]] == [
        ("ids", "unwritten"),
        ("packed", "unwritten"),
        ("hidden", "unwritten"),
    ]


# ---- assert_initialized


class Sized(nn.Module):
    def __init__(self, rows: int, *, fill: bool = True) -> None:
        super().__init__()
        self.rows = rows
        self.fill = fill
        self.register_buffer("ids", table(rows))
        if fill:
            self.ids.zero_()


def test_assertion_holds() -> None:
    assert assert_initialized(lambda: Sized(3)).checked == 1
    assert_initialized(Sized(3))
    assert_initialized(HashTopK(2, 8, vocab_size=20))
    assert_initialized(nn.Linear(3, 4))
    assert_initialized(nn.Conv1d(3, 4, 2, bias=False))
    assert_initialized(nn.ReLU)


@pytest.mark.parametrize("made", [lambda: Sized(3, fill=False), Sized(3, fill=False)])
def test_assertion_names_all_there_is_to_know(made: Any) -> None:
    with pytest.raises(AssertionError) as caught:
        assert_initialized(made)
    text = str(caught.value)
    assert "buffer `ids` of Sized (int32[3]): 3 of 3 elements never written" in text
    [(file, line)] = re.findall(r"class at (.*):(\d+)$", text, re.MULTILINE)
    assert os.path.samefile(file, __file__)  # noqa: PTH121
    source = open(file, encoding="utf-8").read().splitlines()  # noqa: PTH123, SIM115
    assert source[int(line) - 1] == "class Sized(nn.Module):"


def test_assertion_after_a_load_is_about_integers() -> None:
    with pytest.raises(AssertionError, match="`ids`") as caught:
        assert_initialized(Mixed, dummy_load="vllm")
    assert "`weight`" not in str(caught.value)


def test_assertion_about_a_factory_that_fails() -> None:
    with pytest.raises(AssertionError, match="the factory failed: ZeroDivisionError"):
        assert_initialized(lambda: 1 / 0)


def test_module_that_cannot_be_built_again() -> None:
    class Opaque(nn.Module):
        def __init__(self, size: int) -> None:
            super().__init__()
            self.register_buffer("ids", torch.zeros(size))

    class Changed(nn.Module):
        def __init__(self, size: int = 3) -> None:
            super().__init__()
            self.size = size + 1
            self.register_buffer("ids", torch.zeros(size))

    with pytest.raises(TypeError, match=r"pass a factory: lambda: .*Opaque\(...\) \(its argument 'size'"):
        assert_initialized(Opaque(3))

    class Around(nn.Module):
        def __init__(self, layers: list[nn.Module]) -> None:
            super().__init__()
            self.layers = nn.ModuleList(layers)

    with pytest.raises(TypeError, match="'layers' has state"):
        assert_initialized(Around([Sized(3, fill=False)]))
    with pytest.raises(TypeError, match="has other state"):
        assert_initialized(Changed(3))


def test_patterns_are_never_special_values() -> None:
    from lintinit.runtime.poison import Poison

    for pattern, dtype in itertools.product(("A", "B"), (torch.float32, torch.float16, torch.bfloat16, torch.float64)):
        with Poison(pattern):  # type: ignore[arg-type]
            values = torch.empty(1 << 18, dtype=dtype)
        assert values.isfinite().all()
        assert (values != 0).all()
        assert len(values.unique()) > 100
