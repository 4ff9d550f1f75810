"""Ways to allocate and to fill the state of a module, with what an audit must say of each."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn
from torch.utils._python_dispatch import return_and_correct_aliasing

INT, LONG = torch.int32, torch.int64


class Situation(NamedTuple):
    """What *build* returns holds this state that is not written, by name, with the verdict; all else is written."""

    build: Callable[[], Any]
    expected: dict[str, str]

    @property
    def name(self) -> str:
        return self.build.__name__


SITUATIONS: list[Situation] = []
#: What an audit does not see, as its docstring says: the state is unwritten and reported as if it were not.
LIMITS: list[Situation] = []


def situation(**expected: str) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    def add(build: Callable[[], Any]) -> Callable[[], Any]:
        SITUATIONS.append(Situation(build, expected))
        return build

    return add


def limit(**unseen: str) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    def add(build: Callable[[], Any]) -> Callable[[], Any]:
        LIMITS.append(Situation(build, unseen))
        return build

    return add


def module(**buffers: torch.Tensor) -> nn.Module:
    made = nn.Module()
    for name, tensor in buffers.items():
        made.register_buffer(name, tensor)
    return made


def table(*size: int, dtype: torch.dtype = INT) -> torch.Tensor:
    return torch.empty(*(size or (40,)), dtype=dtype)


CALLS = [0]
UNWRITTEN, PARTLY, DERIVED = "unwritten", "partly unwritten", "derived"

# ---- allocation


@situation(t=UNWRITTEN)
def empty() -> Any:
    return module(t=torch.empty(40, dtype=INT))


@situation(t=UNWRITTEN)
def empty_like() -> Any:
    return module(t=torch.empty_like(torch.zeros(40, dtype=LONG)))


@situation(t=UNWRITTEN)
def empty_strided() -> Any:
    return module(t=torch.empty_strided((4, 10), (1, 4), dtype=INT))


@situation(t=UNWRITTEN)
def empty_permuted() -> Any:
    return module(t=torch.empty_permuted((4, 10), (1, 0), dtype=INT))


@situation(t=UNWRITTEN)
def new_empty() -> Any:
    return module(t=torch.zeros(2, dtype=LONG).new_empty(40))


@situation(t=UNWRITTEN)
def new_empty_strided() -> Any:
    return module(t=torch.zeros(2, dtype=LONG).new_empty_strided((4, 10), (10, 1)))


@situation(t=UNWRITTEN, u=UNWRITTEN, v=UNWRITTEN)
def legacy_constructors() -> Any:
    return module(t=torch.IntTensor(4, 10), u=torch.Tensor(4), v=torch.zeros(2).new(5))


@situation(t=PARTLY)
def resize_growth() -> Any:
    return module(t=torch.zeros(10, dtype=INT).resize_(40))


@situation()
def resize_shrink() -> Any:
    return module(t=torch.zeros(40, dtype=INT).resize_(10))


@situation(t=PARTLY)
def resize_as_growth() -> Any:
    return module(t=torch.zeros(10, dtype=INT).resize_as_(torch.zeros(40)))


@situation(t=PARTLY)
def empty_out_grows() -> Any:
    target = torch.zeros(3, dtype=INT)
    return module(t=torch.empty(20, dtype=INT, out=target))


@situation(t=UNWRITTEN)
def direct_aten() -> Any:
    return module(t=torch.ops.aten.empty.memory_format([40], dtype=INT))


@situation(t=UNWRITTEN)
def direct_prims() -> Any:
    return module(
        t=torch.ops.prims.empty_strided([40], [1], dtype=INT, device=torch.device("cpu"), requires_grad=False)
    )


@torch.jit.script
def scripted_table(n: int, fill: bool) -> torch.Tensor:
    made = torch.empty([n], dtype=torch.int32)
    if fill:
        made.fill_(7)
    return made


@situation(t=UNWRITTEN)
def jit_function() -> Any:
    return module(t=scripted_table(40, False), u=scripted_table(40, True))


class ScriptableTable(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("t", torch.empty(40, dtype=INT))
        self.register_buffer("u", torch.zeros(40, dtype=INT))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


@situation(t=UNWRITTEN)
def jit_module() -> Any:
    return torch.jit.script(ScriptableTable())


@situation(t=UNWRITTEN)
def default_device_and_dtype() -> Any:
    with torch.device("cpu"):
        return module(t=torch.empty(40))


@situation(t=UNWRITTEN)
def quantized() -> Any:
    return module(t=torch._empty_affine_quantized([40], scale=1.0, zero_point=0, dtype=torch.quint8))


@situation(t=UNWRITTEN)
def quantized_per_channel() -> Any:
    scales, zeros = torch.ones(4), torch.zeros(4, dtype=LONG)
    return module(
        t=torch._empty_per_channel_affine_quantized(
            [4, 10], scales=scales, zero_points=zeros, axis=0, dtype=torch.qint8
        )
    )


@situation()
def quantized_written() -> Any:
    return module(t=torch.quantize_per_tensor(torch.ones(40), 0.5, 3, torch.quint8))


# ---- dtypes


@situation(t=UNWRITTEN)
def boolean() -> Any:
    return module(t=torch.empty(40, dtype=torch.bool), u=torch.zeros(40, dtype=torch.bool))


@situation(t=UNWRITTEN, u=UNWRITTEN, v=UNWRITTEN)
def eight_bits() -> Any:
    return module(
        t=table(dtype=torch.uint8), u=table(dtype=torch.int8), v=table(dtype=torch.uint8).view(4, 10).t(), w=all_bytes()
    )


def all_bytes() -> torch.Tensor:
    return torch.arange(256, dtype=torch.uint8)


@situation(t=UNWRITTEN, u=UNWRITTEN, v=UNWRITTEN, w=UNWRITTEN)
def float8() -> Any:
    return module(
        t=table(dtype=torch.float8_e4m3fn),
        u=table(dtype=torch.float8_e5m2),
        v=table(dtype=torch.float8_e8m0fnu),
        w=table(dtype=torch.float4_e2m1fn_x2),
        x=all_bytes().view(torch.float8_e4m3fn),
        y=all_bytes().view(torch.float4_e2m1fn_x2),
    )


@situation(t=PARTLY)
def four_bits_packed() -> Any:
    packed = table(40, dtype=torch.uint8)
    packed[:10] = 0x21
    return module(t=packed)


@situation(t=DERIVED)
def one_nibble_of_a_byte() -> Any:
    packed = table(40, dtype=torch.uint8)
    packed.bitwise_and_(0x0F).bitwise_or_(0x30)  # the low half is still garbage
    return module(t=packed)


@situation(t=UNWRITTEN, u=UNWRITTEN, v=PARTLY)
def complex_numbers() -> Any:
    mixed = torch.zeros(10, dtype=torch.complex64)
    mixed[3:] = torch.empty(7, dtype=torch.complex64)
    return module(t=torch.empty(10, dtype=torch.complex64), u=torch.empty(10, dtype=torch.complex64).conj(), v=mixed)


@situation(t=DERIVED)
def complex_half() -> Any:
    half = torch.empty(10, dtype=torch.complex64)
    half.real.zero_()  # of each element half of the bytes is written
    return module(t=half)


@situation(t=UNWRITTEN, u=UNWRITTEN)
def wide_and_unsigned() -> Any:
    return module(t=table(dtype=torch.uint16), u=table(dtype=torch.uint64))


@situation()
def no_elements() -> Any:
    return module(t=torch.empty(0, dtype=INT), u=torch.empty(3, 0), v=torch.empty((0, 4), dtype=torch.bool))


@situation(t=UNWRITTEN)
def scalar() -> Any:
    return module(t=torch.empty((), dtype=LONG), u=torch.tensor(0x5A5A5A5A))


# ---- registration


@situation(t=UNWRITTEN, u=UNWRITTEN)
def parameters() -> Any:
    made = nn.Module()
    made.t = nn.Parameter(table(), requires_grad=False)
    made.register_parameter("u", nn.Parameter(torch.empty(3)))
    made.v = nn.Parameter(torch.zeros(3))
    return made


@situation(t=UNWRITTEN)
def not_persistent() -> Any:
    made = nn.Module()
    made.register_buffer("t", table(), persistent=False)
    return made


@situation(**{"0.t": UNWRITTEN, "1.0.t": UNWRITTEN})
def inside_wrappers() -> Any:
    return nn.ModuleList([module(t=table()), nn.Sequential(module(t=table()), nn.Linear(2, 2))])


@situation(**{"first.t": UNWRITTEN})
def dictionary_of_modules() -> Any:
    return {"first": module(t=table()), "second": module(t=torch.zeros(3)), "else": 5}


@situation(**{"1.t": UNWRITTEN})
def several_modules() -> Any:
    return [module(t=torch.ones(3)), module(t=table())]


@situation(**{"list.0": UNWRITTEN})
def parameter_list() -> Any:
    made = nn.Module()
    made.list = nn.ParameterList([torch.empty(4), torch.zeros(4)])
    return made


@situation(t=UNWRITTEN)
def tied_storage() -> Any:
    made = module(t=table())
    made.inner = module()
    made.inner.register_buffer("u", made.get_buffer("t"))
    return made


@situation(t=UNWRITTEN, u=UNWRITTEN)
def views_of_one_storage() -> Any:
    whole = table(40)
    whole[:10] = 1
    return module(t=whole[10:20], u=whole[20:].view(4, 5), v=whole[:10])


@situation()
def plain_attribute_is_no_state() -> Any:
    made = module(t=torch.zeros(3))
    made.scratch = [table()]
    return made


@situation()
def replaced_later() -> Any:
    made = module(t=table())
    made.t = torch.zeros(40, dtype=INT)
    return made


@situation()
def deleted_later() -> Any:
    made = module(t=table())
    del made.t
    return made


@situation()
def lazy_and_meta() -> Any:
    return nn.ModuleList([nn.LazyLinear(3), nn.Linear(2, 2, device="meta"), module(t=None)])  # type: ignore[arg-type]


@situation(t=UNWRITTEN)
def parametrized() -> Any:
    made = module(t=table())
    made.layer = nn.utils.parametrizations.weight_norm(nn.Linear(3, 3))
    return made


# ---- filling


@situation()
def in_place_methods() -> Any:
    return module(
        a=table().zero_(),
        b=table().fill_(3),
        c=table().copy_(torch.arange(40)),
        d=torch.empty(40).uniform_(),
        e=torch.empty(40).normal_(),
        f=table().random_(0, 9),
        g=torch.empty(40, dtype=torch.bool).bernoulli_(),
        h=table(5, 5).scatter_(1, torch.arange(5).expand(5, 5), 1),
    )


@situation()
def out_arguments() -> Any:
    a, b, c = table(dtype=LONG), table(dtype=LONG), torch.empty(40)
    torch.arange(40, out=a)
    torch.add(torch.ones(40, dtype=LONG), 1, out=b)
    torch.cat([torch.ones(20), torch.zeros(20)], out=c)
    return module(a=a, b=b, c=c)


@situation()
def foreach() -> Any:
    tensors = [torch.empty(10), torch.empty(3)]
    torch._foreach_zero_(tensors)
    others = [torch.empty(10), torch.empty(3)]
    torch._foreach_copy_(others, tensors)
    return module(a=tensors[0], b=tensors[1], c=others[0], d=others[1])


@situation(e=UNWRITTEN)
def foreach_misses_one() -> Any:
    tensors = [torch.empty(10), torch.empty(3)]
    torch._foreach_zero_(tensors[:1])
    return module(a=tensors[0], e=tensors[1])


@situation()
def through_data() -> Any:
    made = nn.Module()
    made.t = nn.Parameter(torch.empty(5))
    made.t.data.fill_(1)
    made.u = nn.Parameter(torch.empty(5))
    made.u.data = torch.ones(5)
    return made


@situation(t=UNWRITTEN)
def data_replaced_by_garbage() -> Any:
    made = nn.Module()
    made.t = nn.Parameter(torch.zeros(5))
    made.t.data = torch.empty(5)
    return made


@situation()
def through_a_view() -> Any:
    t = table(4, 10)
    t.view(-1)[:] = 1
    u = table(4, 10)
    for row in u:
        row.fill_(2)
    return module(t=t, u=u, v=table(4, 10).t().zero_())


@situation(t=PARTLY, u=PARTLY)
def in_part() -> Any:
    t, u = table(4, 10), torch.empty(40, dtype=torch.bool)
    t[:, ::2] = 1
    u[3:] = True
    return module(t=t, u=u)


@situation()
def numpy_writes() -> Any:
    t = table()
    t.numpy()[:] = np.arange(40)
    return module(t=t, u=torch.from_numpy(np.arange(40)))


@situation(t=PARTLY)
def numpy_writes_in_part() -> Any:
    t = table()
    t.numpy()[:7] = 1
    return module(t=t)


@situation()
def numpy_random_and_python_random() -> Any:
    import random

    return module(t=torch.from_numpy(np.random.rand(9)), u=torch.tensor([random.random() for _ in range(9)]))


@situation()
def with_the_modules_generator() -> Any:
    return module(t=torch.rand(9, generator=torch.Generator().manual_seed(3)), u=torch.randperm(9))


@situation()
def initializers() -> Any:
    t, u = torch.empty(6, 6), torch.empty(6, 6)
    nn.init.orthogonal_(t)
    nn.init.trunc_normal_(u)
    return nn.ModuleList([module(t=t, u=u), nn.Linear(3, 4), nn.GRU(3, 4), nn.MultiheadAttention(4, 2)])


@situation()
def layers_of_torch() -> Any:
    return nn.ModuleList(
        [
            nn.Conv2d(2, 3, 3),
            nn.BatchNorm1d(4),
            nn.Embedding(5, 4, padding_idx=0),
            nn.LSTM(3, 4, num_layers=2, bidirectional=True),
            nn.TransformerEncoderLayer(8, 2),
            nn.Bilinear(2, 3, 4),
            nn.PReLU(),
            nn.EmbeddingBag(3, 4),
        ]
    )


@situation()
def state_dict_is_loaded() -> Any:
    made = module(t=table(), u=torch.empty(40))
    made.load_state_dict({"t": torch.zeros(40, dtype=INT), "u": torch.ones(40)})
    return made


# ---- what is computed from garbage


@situation(t=UNWRITTEN, u=UNWRITTEN, v=UNWRITTEN, w=UNWRITTEN)
def clones_and_copies() -> Any:
    source = table(4, 10)
    return module(t=source.clone(), u=torch.zeros(4, 10, dtype=INT).copy_(source), v=source.T.contiguous(), w=source[1])


@situation(t=PARTLY)
def concatenated() -> Any:
    return module(t=torch.cat([torch.arange(10), table(10, dtype=LONG)]))


@situation(t=DERIVED, u=UNWRITTEN, v=UNWRITTEN)
def casts() -> Any:
    return module(t=table().to(torch.float32), u=table().to(LONG), v=table().view(torch.int16))


@situation(t=DERIVED, u=DERIVED, v=DERIVED, w=DERIVED)
def arithmetic() -> Any:
    return module(t=table() + 1, u=table() % 7, v=table().clamp(0, 5), w=table() - table())


@situation(t=DERIVED, u=DERIVED, v=DERIVED)
def reductions_and_order() -> Any:
    return module(t=table().argsort(), u=torch.empty(40).sum(), v=table().max().reshape(1))


@situation(t=DERIVED)
def partly_derived() -> Any:
    source = torch.zeros(10, dtype=LONG)
    source[4:] = table(6, dtype=LONG)
    return module(t=source * 3)


@situation(t=UNWRITTEN)
def truth_of_garbage() -> Any:
    return module(t=table() > 0)  # computed, but a bool has but one other value


@functools.cache
def cached_cosines(n: int) -> torch.Tensor:
    scratch = torch.empty(n)
    return torch.arange(n, out=scratch).cos()


@situation(t=UNWRITTEN)
def first_call_fills_a_cache() -> Any:
    cached_cosines.cache_clear() if CALLS[0] % 4 == 0 else None
    CALLS[0] += 1
    return module(t=table(), u=cached_cosines(40), v=torch.rand(3))


class Boxed(torch.Tensor):
    """A wrapper subclass around one integer tensor."""

    inner: torch.Tensor

    @staticmethod
    def __new__(cls: Any, inner: torch.Tensor) -> Boxed:
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=torch.float32)  # type: ignore[attr-defined,no-any-return]

    def __init__(self, inner: torch.Tensor) -> None:
        self.inner = inner

    def __tensor_flatten__(self) -> tuple[list[str], None]:
        return ["inner"], None

    @staticmethod
    def __tensor_unflatten__(parts: dict[str, torch.Tensor], meta: Any, size: Any, stride: Any) -> Boxed:
        return Boxed(parts["inner"])

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        inner = [arg.inner if isinstance(arg, Boxed) else arg for arg in args]
        if func in (torch.ops.aten.detach.default, torch.ops.aten.empty_like.default):
            return return_and_correct_aliasing(func, args, kwargs or {}, Boxed(func(*inner)))
        return func(*inner, **(kwargs or {}))


@situation(t=UNWRITTEN, v=UNWRITTEN)
def wrapper_subclasses() -> Any:
    zeros = torch.zeros(10, dtype=torch.int8)
    return module(t=Boxed(table(10, dtype=torch.int8)), u=Boxed(zeros), v=torch.empty_like(Boxed(zeros)))


@situation(t=PARTLY, v=PARTLY)
def sparse() -> Any:
    at = torch.tensor([[0, 1, 2], [2, 0, 1]])
    return module(
        t=torch.sparse_csr_tensor(torch.tensor([0, 1, 2]), torch.tensor([0, 1]), torch.empty(2), check_invariants=True),
        u=torch.sparse_coo_tensor(at, torch.ones(3), check_invariants=True),
        v=torch.sparse_coo_tensor(at, torch.empty(3), check_invariants=True),
    )


# ---- what differs by itself


@situation()
def clock_and_entropy() -> Any:
    import secrets
    import time

    fresh = np.random.default_rng()
    return module(
        t=torch.tensor(time.perf_counter_ns()),
        u=torch.tensor(list(secrets.token_bytes(500)), dtype=torch.uint8),
        v=torch.from_numpy(fresh.integers(0, 2, 500).astype(bool)),
        w=torch.from_numpy(fresh.random(500)),
    )


@situation(t=PARTLY)
def random_beside_garbage() -> Any:
    t = torch.empty(40)
    t[:20] = torch.from_numpy(np.random.default_rng().random(20))
    return module(t=t)


@situation()
def counts_its_calls() -> Any:
    CALLS[0] += 1
    return module(t=torch.full((4,), CALLS[0]))


# ---- limits

#: Elements of a block that the system hands out fresh, and so the same each time: all zero.
LARGE = 1 << 24


@limit(t=UNWRITTEN)
def other_threads() -> Any:
    made = []
    thread = threading.Thread(target=lambda: made.append(table(LARGE)))
    thread.start()
    thread.join()
    return module(t=made[0])


@limit(t=PARTLY)
def storage_resized_behind_torch() -> Any:
    t = torch.zeros(10, dtype=INT)
    t.untyped_storage().resize_(4 * LARGE)
    return module(t=t.as_strided((LARGE,), (1,)))


@limit(t=UNWRITTEN)
def storage_without_an_operator() -> Any:
    return module(t=torch.zeros(0, dtype=INT).set_(torch.UntypedStorage(4 * LARGE), 0, (LARGE,)))  # type: ignore[call-overload]


@limit(t=UNWRITTEN)
def numpy_allocations() -> Any:
    return module(t=torch.from_numpy(np.empty(LARGE)))


@limit(t=DERIVED, u=DERIVED)
def results_that_do_not_depend_on_it() -> Any:
    return module(t=table() * 0, u=table() % 1)


BEFORE_THE_CALL = torch.zeros(40, dtype=INT)


@limit(t=UNWRITTEN)
def allocated_before_the_call() -> Any:
    return module(t=BEFORE_THE_CALL)


KEPT: list[torch.Tensor] = []


@limit(t=UNWRITTEN)
def kept_from_one_call_to_the_next() -> Any:
    if not KEPT:
        KEPT.append(table())
    return module(t=KEPT[0])


@limit(t=PARTLY)
def small_elements_beside_random_ones() -> Any:
    t = table(400, dtype=torch.uint8)
    t[:200] = torch.from_numpy(np.random.default_rng().integers(0, 256, 200).astype(np.uint8))
    return module(t=t)
