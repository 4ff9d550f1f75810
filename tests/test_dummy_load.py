"""What loaders of dummy weights fill and what they leave."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from lintinit.runtime import initialize_dummy_weights
from lintinit.runtime.dummy_load import POLICIES

#: Every entry begins with bytes that no policy writes everywhere.
BEFORE = 0x33


class Shelf(nn.Module):
    """An entry of each kind of dtype."""

    def __init__(self, rows: int = 64, device: str | None = None) -> None:
        super().__init__()
        for name, dtype in {
            "in_float32": torch.float32,
            "in_bfloat16": torch.bfloat16,
            "in_float16": torch.float16,
            "in_float64": torch.float64,
            "e4m3": torch.float8_e4m3fn,
            "e5m2": torch.float8_e5m2,
            "e8m0": torch.float8_e8m0fnu,
            "fp4": torch.float4_e2m1fn_x2,
            "in_uint8": torch.uint8,
            "weight_scale_inv": torch.uint8,
            "in_int8": torch.int8,
            "in_int16": torch.int16,
            "in_int32": torch.int32,
            "in_int64": torch.int64,
            "flags": torch.bool,
            "in_complex64": torch.complex64,
        }.items():
            size = torch.empty(0, dtype=dtype).element_size()
            raw = torch.full((rows, 4 * size), 1 if dtype is torch.bool else BEFORE, dtype=torch.uint8, device=device)
            self.register_buffer(name, raw.view(dtype))
        self.register_buffer("hidden", torch.full((rows,), 7.0, device=device), persistent=False)


def bytes_of(module: nn.Module) -> dict[str, torch.Tensor]:
    return {name: tensor.reshape(-1).view(torch.uint8).clone() for name, tensor in module.named_buffers()}


FLOATS = {"in_float32", "in_bfloat16", "in_float16", "in_float64", "e4m3", "e5m2", "e8m0"}


@pytest.mark.parametrize(
    ("policy", "filled"),
    [
        ("float-only", FLOATS),
        ("vllm", FLOATS | {"fp4", "in_uint8", "weight_scale_inv", "in_int8"}),
        ("zero", {name for name, _ in Shelf().named_buffers()} - {"hidden"}),
    ],
)
def test_fills_and_leaves(policy: str, filled: set[str]) -> None:
    module = Shelf()
    before = bytes_of(module)
    assert set(initialize_dummy_weights(module, policy)) == filled  # type: ignore[arg-type]
    after = bytes_of(module)
    assert {name for name in before if not torch.equal(before[name], after[name])} == filled


@pytest.mark.parametrize("policy", ["float-only", "vllm"])
def test_values(policy: str) -> None:
    module = Shelf(rows=4096)
    initialize_dummy_weights(module, policy)  # type: ignore[arg-type]
    for name in ("in_float32", "in_bfloat16", "in_float16", "in_float64"):
        values = module.get_buffer(name).double()
        assert values.abs().max() <= 1.002e-3  # rounded to bfloat16
        assert values.min() < -0.9e-3
        assert values.max() > 0.9e-3
        assert abs(values.mean()) < 1e-4
    bound = 1.0 if policy == "vllm" else 2**-9  # the smallest step of e4m3: 1e-3 rounds to it or to zero
    for name in ("e4m3", "e5m2"):
        values = module.get_buffer(name).double()
        assert values.abs().max() <= bound
        assert values.min() < 0 < values.max()
    if policy == "vllm":
        assert module.get_buffer("e8m0").double().unique().tolist() == [2.0**-7]
        assert module.get_buffer("weight_scale_inv").unique().tolist() == [120]
        assert len(module.get_buffer("in_uint8").unique()) == 256
        assert len(module.get_buffer("in_int8").unique()) == 256
        assert module.get_buffer("in_int8").min() == -128


def test_zero() -> None:
    module = Shelf()
    initialize_dummy_weights(module, "zero")
    assert {name for name, values in bytes_of(module).items() if values.any()} == {"hidden"}


def test_a_tensor_that_names_its_value() -> None:
    module = Shelf()
    module.get_buffer("in_int64").dummy_weight_value = 5  # type: ignore[attr-defined]
    module.get_buffer("in_float32").dummy_weight_value = 0.5  # type: ignore[attr-defined]
    assert "in_int64" in initialize_dummy_weights(module, "vllm")
    assert module.get_buffer("in_int64").unique().tolist() == [5]
    assert module.get_buffer("in_float32").unique().tolist() == [0.5]


@pytest.mark.parametrize("policy", POLICIES)
def test_same_seed_same_bytes(policy: str) -> None:
    first, second, other = Shelf(), Shelf(), Shelf()
    initialize_dummy_weights(first, policy)  # type: ignore[arg-type]
    torch.rand(5)  # the global generator has no say
    initialize_dummy_weights(second, policy)  # type: ignore[arg-type]
    initialize_dummy_weights(other, policy, seed=9)  # type: ignore[arg-type]
    one, two, three = bytes_of(first), bytes_of(second), bytes_of(other)
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert any(not torch.equal(one[name], three[name]) for name in one) == (policy != "zero")


@pytest.mark.parametrize("policy", POLICIES)
def test_a_shard_holds_what_the_whole_holds_there(policy: str) -> None:
    whole, shard = Shelf(rows=64), Shelf(rows=16)
    del shard.in_float16  # another set of entries on this rank
    initialize_dummy_weights(whole, policy)  # type: ignore[arg-type]
    initialize_dummy_weights(shard, policy)  # type: ignore[arg-type]
    of_whole = bytes_of(whole)
    for name, values in bytes_of(shard).items():
        assert torch.equal(values, of_whole[name][: values.numel()]), name


def test_the_global_generator_is_left_alone() -> None:
    before = torch.get_rng_state()
    initialize_dummy_weights(Shelf(), "vllm")
    assert torch.equal(before, torch.get_rng_state())


def test_skips_meta_lazy_and_tied() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(3, 4)
            self.head = nn.Linear(4, 3, bias=False)
            self.head.weight = self.embed.weight
            self.later = nn.LazyLinear(2)
            self.away = nn.Linear(2, 2, device="meta")

    assert initialize_dummy_weights(Model()) == ["embed.weight"]


def test_views_are_filled_in_their_place() -> None:
    module = nn.Module()
    whole = torch.full((4, 6), 9.0)
    module.register_buffer("columns", whole[:, ::2])
    assert initialize_dummy_weights(module) == ["columns"]
    assert (whole[:, ::2].abs() <= 1e-3).all()
    assert (whole[:, 1::2] == 9).all()


def test_requires_grad_stays_and_no_graph_is_recorded() -> None:
    module = nn.Linear(3, 3)
    initialize_dummy_weights(module)
    assert module.weight.requires_grad
    assert module.weight.is_leaf


def test_unknown_policy() -> None:
    with pytest.raises(ValueError, match="unknown policy 'random': one of float-only, vllm, zero"):
        initialize_dummy_weights(nn.Linear(1, 1), "random")  # type: ignore[arg-type]
