"""The routing layer against the formulas, written a second time."""

from __future__ import annotations

import ast
import inspect
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from lintinit.fixing import fix_input
from lintinit.run import Options
from lintinit.runtime import HashTopK, hash_topk

DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.float8_e4m3fn]


def expected(layer: HashTopK, logits: Any, tokens: Any, table: Any, valid: int | None) -> tuple[Any, Any]:
    """Ids and weights in float64, token by token, from the formulas alone."""
    all_ids, all_weights = [], []
    for row, token in enumerate(tokens):
        x = logits[row]
        if layer.scoring_func == "softmax":
            scores = np.exp(x - x.max()) / np.exp(x - x.max()).sum()
        elif layer.scoring_func == "sigmoid":
            scores = 1 / (1 + np.exp(-x))
        else:
            scores = np.sqrt(np.logaddexp(0, x))
        ids = [int(expert) for expert in table[token]]
        weights = [float(scores[expert]) for expert in ids]
        total = sum(weights)
        if layer.scoring_func != "softmax":
            weights = [weight / (total + 1e-20) for weight in weights]
        shared = sum(weights) / layer.routed_scaling_factor
        for extra in range(layer.num_fused_shared_experts):
            ids.append(layer.num_experts + extra)
            weights.append(shared)
        if layer.apply_routed_scaling_factor_on_output:
            weights = [weight * layer.routed_scaling_factor for weight in weights]
        if valid is not None and row >= valid:
            ids = [-1] * len(ids)
        all_ids.append(ids)
        all_weights.append(weights)
    shape = (len(tokens), layer.topk + layer.num_fused_shared_experts)
    return np.array(all_ids, dtype=np.int64).reshape(shape), np.array(all_weights).reshape(shape)


def test_a_thousand_random_configurations() -> None:
    random = np.random.default_rng(20260)
    seen = set()
    for _ in range(1000):
        experts = int(random.choice([1, 2, 3, 8, 17, 64, 256, 512]))
        topk = int(random.integers(0, min(experts, 8) + 1))
        vocab = int(random.choice([1, 7, 100, 300]))
        layer = HashTopK(
            topk,
            experts,
            vocab_size=vocab,
            scoring_func=str(random.choice(["softmax", "sigmoid", "sqrtsoftplus"])),
            routed_scaling_factor=float(random.choice([1.0, 1.5, 2.5])),
            num_fused_shared_experts=int(random.integers(0, 3)),
            apply_routed_scaling_factor_on_output=bool(random.integers(0, 2)),
        )
        if random.integers(0, 2):  # a checkpoint's table
            rows = [random.permutation(experts)[:topk] for _ in range(vocab)]
            layer.load_state_dict({"tid2eid": torch.tensor(np.array(rows, dtype=np.int32).reshape(vocab, topk))})
        dtype = DTYPES[random.integers(0, len(DTYPES))]
        tokens = random.integers(0, vocab, int(random.choice([0, 1, 5, 33])))
        logits = torch.tensor(random.normal(0, random.choice([0.5, 3, 10]), (len(tokens), experts))).to(dtype)
        valid = None if random.integers(0, 2) else int(random.integers(0, len(tokens) + 2))
        given = torch.tensor(valid) if valid is not None and random.integers(0, 2) else valid
        input_ids = torch.tensor(tokens, dtype=torch.int32 if random.integers(0, 2) else torch.int64)

        made = layer(torch.zeros(len(tokens), 4, dtype=torch.bfloat16), logits, input_ids, given)

        ids, weights = expected(layer, logits.double().numpy(), tokens, layer.tid2eid.numpy(), valid)
        assert made.topk_ids.dtype is torch.int32
        assert made.topk_ids.tolist() == ids.tolist()
        assert made.topk_weights.dtype is (torch.float64 if dtype is torch.float64 else torch.float32)
        close = 1e-11 if dtype is torch.float64 else 3e-5
        np.testing.assert_allclose(made.topk_weights.numpy(), weights, rtol=close, atol=close * 1e-3)
        assert made.router_logits is logits
        seen.add((layer.scoring_func, dtype, topk == 0, len(tokens) == 0, layer.num_fused_shared_experts))
    assert len(seen) > 100


@pytest.mark.parametrize(("topk", "experts", "vocab"), [(1, 1, 5), (2, 8, 1000), (8, 512, 700), (6, 7, 29), (3, 3, 1)])
def test_default_table(topk: int, experts: int, vocab: int) -> None:
    table = HashTopK(topk, experts, vocab_size=vocab).tid2eid
    assert table.dtype is torch.int32
    assert not table.requires_grad
    assert table.tolist() == [[(row + column) % experts for column in range(topk)] for row in range(vocab)]


def test_table_without_columns_or_rows() -> None:
    assert HashTopK(0, 4, vocab_size=9).tid2eid.shape == (9, 0)
    assert HashTopK(2, 4, vocab_size=0).tid2eid.shape == (0, 2)
    made = HashTopK(0, 4, vocab_size=9, num_fused_shared_experts=1)(
        torch.zeros(3, 2), torch.zeros(3, 4), torch.tensor([0, 1, 8])
    )
    assert made.topk_ids.tolist() == [[4]] * 3
    assert made.topk_weights.tolist() == [[0.0]] * 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"topk": 3, "num_experts": 2}, "topk is 3"),
        ({"topk": -1, "num_experts": 2}, "topk is -1"),
        ({"topk": 0, "num_experts": 0}, "num_experts must be positive"),
        ({"topk": 1, "num_experts": 2, "scoring_func": "relu"}, "scoring_func is 'relu': one of sqrtsoftplus, sigmoid"),
        ({"topk": 1, "num_experts": 2, "routed_scaling_factor": 0.0}, "it must be positive"),
        ({"topk": 1, "num_experts": 2, "num_fused_shared_experts": -1}, "not negative"),
    ],
)
def test_impossible_sizes(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        HashTopK(**arguments, vocab_size=4)


@pytest.mark.parametrize(("hidden", "logits"), [((2, 4), (3, 8)), ((3, 4), (2, 8)), ((3, 4), (3, 7)), ((3, 4), (8,))])
def test_shapes_that_do_not_fit(hidden: tuple[int, ...], logits: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="3 input_ids need"):
        HashTopK(2, 8, vocab_size=5)(torch.zeros(hidden), torch.zeros(logits), torch.tensor([0, 1, 2]))


class NoSynchronisation(TorchDispatchMode):
    """Refuses what makes the host wait for a device, and so cannot be captured in a CUDA graph."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        assert name not in {"_local_scalar_dense", "nonzero", "item", "equal", "is_nonzero", "masked_select"}, name
        if name == "index":
            assert not any(index is not None and index.dtype is torch.bool for index in args[1])
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("scoring", hash_topk.SCORING)
def test_never_waits_for_the_device(scoring: str) -> None:
    layer = HashTopK(2, 8, vocab_size=9, scoring_func=scoring, num_fused_shared_experts=1)
    valid = torch.tensor(2)
    with NoSynchronisation():
        made = layer(torch.zeros(3, 4), torch.zeros(3, 8), torch.tensor([0, 1, 8]), valid)
    assert made.topk_ids.tolist() == [[0, 1, 8], [1, 2, 8], [-1, -1, -1]]
    with pytest.raises(AssertionError, match="_local_scalar_dense"), NoSynchronisation():
        valid.item()


@pytest.mark.parametrize("scoring", hash_topk.SCORING)
def test_compiles_into_one_graph(scoring: str) -> None:
    layer = HashTopK(3, 8, vocab_size=50, scoring_func=scoring, num_fused_shared_experts=2)
    compiled = torch.compile(layer, backend="eager", fullgraph=True, dynamic=True)
    for tokens in (5, 9):
        arguments = (torch.zeros(tokens, 4), torch.randn(tokens, 8), torch.arange(tokens), torch.tensor(4))
        for one, other in zip(compiled(*arguments), layer(*arguments), strict=True):
            assert torch.equal(one, other)


def test_default_is_the_method_that_fix_inserts() -> None:
    """Taken out of the layer's source, it comes back the same, but for the docstring."""
    path = Path(inspect.getsourcefile(HashTopK) or "")
    source = path.read_text(encoding="utf-8")
    method = textwrap.indent(textwrap.dedent(inspect.getsource(HashTopK._init_default_tid2eid)), "    ")
    calls = "        self._init_default_tid2eid()\n"
    bare = source.replace(method, "").replace(calls, "        pass\n", 2)
    assert bare.count("_init_default_tid2eid") == 0
    repaired = fix_input(bare.encode(), path, Options(), unsafe=False).files[0].after.decode()
    assert body(repaired) == body(source)
    initializer = next(node for node in ast.walk(ast.parse(repaired)) if getattr(node, "name", "") == "__init__")
    assert "self._init_default_tid2eid()" in ast.unparse(initializer)


def body(source: str) -> list[str]:
    [found] = [node for node in ast.walk(ast.parse(source)) if getattr(node, "name", "") == "_init_default_tid2eid"]
    assert isinstance(found, ast.FunctionDef)
    assert ast.get_docstring(found)
    return [ast.unparse(statement) for statement in found.body[1:]]


def test_checkpoint_overwrites_the_default() -> None:
    layer = HashTopK(2, 4, vocab_size=3)
    layer.load_state_dict({"tid2eid": torch.tensor([[3, 2], [1, 0], [2, 0]], dtype=torch.int32)}, strict=True)
    assert layer(torch.zeros(1, 1), torch.zeros(1, 4), torch.tensor([1])).topk_ids.tolist() == [[1, 0]]


def test_reset_after_to_empty() -> None:
    with torch.device("meta"):
        layer = HashTopK(2, 4, vocab_size=3)
    assert isinstance(layer, nn.Module)
    layer.to_empty(device="cpu").reset_parameters()
    assert layer.tid2eid.tolist() == [[0, 1], [1, 2], [2, 3]]
