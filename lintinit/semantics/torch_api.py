"""What torch's functions and tensor methods do to memory, as tables.

A new allocator, writer or view goes here and nowhere else. Names are torch's own; functions are listed
without the ``torch.`` prefix. Sources: the torch, torch.Tensor and torch.nn.init pages of
https://docs.pytorch.org/docs/stable/.
"""

from __future__ import annotations

from lintinit.semantics.dtypes import CASTS

#: Functions and methods whose result is memory that nobody wrote, by the position of what sizes it.
ALLOCATORS = {
    "empty": "sizes",
    "empty_like": "like",
    "empty_strided": "size",
    "empty_permuted": "size",
    "empty_quantized": "size",
    "new_empty": "sizes",
    "new_empty_strided": "size",
}

#: Functions that return tensors with defined values, whatever their arguments hold.
VALUE_FUNCTIONS = frozenset(
    "zeros ones full arange range linspace logspace eye tensor scalar_tensor rand randn randint randperm normal"
    " zeros_like ones_like full_like rand_like randn_like randint_like new_zeros new_ones new_full new_tensor"
    " tril_indices triu_indices hann_window hamming_window bartlett_window blackman_window kaiser_window"
    " complex polar cartesian_prod".split()
)
#: Of these, the ones whose values are each index once when called with a single size.
PERMUTATIONS = frozenset({"arange", "randperm", "argsort"})
#: Functions whose dtype is int64 unless one is given.
INT64_RESULTS = frozenset(
    "arange randint randperm argsort argmax argmin nonzero bincount tril_indices triu_indices searchsorted"
    " bucketize count_nonzero".split()
)
#: Functions whose dtype is bool.
BOOL_RESULTS = frozenset(
    "isnan isinf isfinite eq ne lt le gt ge greater greater_equal less less_equal not_equal logical_and"
    " logical_or logical_not logical_xor isin is_nonzero allclose equal".split()
)
#: Functions whose dtype is floating whatever goes in.
FLOAT_RESULTS = frozenset(
    "softmax log_softmax sigmoid exp exp2 expm1 log log2 log10 sqrt rsqrt sin cos tan tanh mean std var reciprocal"
    " erf gelu silu softplus linear".split()
)
#: Tensor methods that tell about a tensor and do not look at its values.
METADATA = frozenset(
    "size numel nelement dim ndimension stride storage_offset element_size is_contiguous is_floating_point is_complex"
    " is_signed get_device is_leaf type_as_string __len__ is_pinned nbytes".split()
)
#: Functions that read data from a Python or numpy value; a tensor argument is copied or shared.
CONVERSIONS = frozenset({"as_tensor", "asarray", "from_numpy", "from_dlpack", "from_file", "frombuffer"})

#: Tensor methods that return the same memory.
VIEWS_IN_ORDER = frozenset(
    "detach detach_ requires_grad_ cuda cpu npu xpu mps pin_memory share_memory_ contiguous to data"
    # Whoever is given the address or the storage can write there.
    " data_ptr untyped_storage storage"
    " numpy alias view_as_real positive resolve_conj resolve_neg expand_as as_subclass"
    " coalesce refine_names rename".split()
)
#: The same memory under other coordinates.
VIEWS_REARRANGED = frozenset(
    "view reshape flatten unflatten view_as reshape_as ravel t T mT H transpose swapaxes swapdims permute movedim"
    " moveaxis squeeze unsqueeze expand unsqueeze_ squeeze_ t_ transpose_ swapaxes_ swapdims_ as_strided"
    " numpy_T mH adjoint".split()
)
#: The same memory, but only a part of it.
VIEWS_OF_PARTS = frozenset(
    "select narrow diagonal unfold chunk split tensor_split unbind hsplit vsplit dsplit real imag"
    " as_strided_ select_copy".split()
)

#: In-place methods that overwrite every element without looking at the old one.
OVERWRITES = frozenset(
    "fill_ zero_ copy_ random_ uniform_ normal_ bernoulli_ exponential_ geometric_ cauchy_ log_normal_"
    " fill set_ apply_".split()
)
#: In-place methods that write the positions named by an index, by the position of the index argument.
INDEXED_WRITES = {
    "index_fill_": 1,
    "index_copy_": 1,
    "scatter_": 1,
    "index_put_": 0,
    "put_": 0,
}
#: In-place methods that write some elements; which ones is not followed.
PARTIAL_WRITES = frozenset({"masked_fill_", "masked_scatter_", "fill_diagonal_", "index_reduce_", "_index_put_impl_"})

#: Functions and methods that use an argument as indices, by its position (of the function form).
INDEX_ARGUMENTS = {
    "gather": 2,
    "index_select": 2,
    "scatter": 2,
    "scatter_add": 2,
    "scatter_reduce": 2,
    "index_add": 2,
    "index_copy": 2,
    "index_fill": 2,
    "index_put": 1,
    "index_reduce": 2,
    "take": 1,
    "take_along_dim": 1,
    "put": 1,
    "embedding": 0,
    "embedding_bag": 0,
    "one_hot": 0,
    "bincount": 0,
}
#: Arguments that say how large something becomes.
SIZE_ARGUMENTS = {"repeat_interleave": 1, "split": 1, "split_with_sizes": 1, "tensor_split": 1}

#: torch.nn.init functions that only scale or cover part still define every element: all of them do.
INIT_NAMESPACE = "torch.nn.init"

#: Dotted names that hold the same object under a second path.
CANONICAL = {
    "torch.nn.parameter.Parameter": "torch.nn.Parameter",
    "torch.nn.parameter.Buffer": "torch.nn.Buffer",
    "torch.nn.parameter.UninitializedParameter": "torch.nn.UninitializedParameter",
    "torch.nn.modules.module.Module": "torch.nn.Module",
    "torch.nn.modules.Module": "torch.nn.Module",
    "torch.Tensor.data": "torch.Tensor",
    "torch.nn.parameter.UninitializedBuffer": "torch.nn.UninitializedBuffer",
    "torch._tensor.Tensor": "torch.Tensor",
    "torch.types.Tensor": "torch.Tensor",
}
_MOVED = ("torch.nn.modules.linear", "torch.nn.modules.container", "torch.nn.modules.sparse", "torch.nn.modules.conv")


def canonical(name: str) -> str:
    """The usual name of *name* (``torch.nn.parameter.Parameter`` is ``torch.nn.Parameter``)."""
    found = CANONICAL.get(name)
    if found:
        return found
    for prefix in _MOVED:
        if name.startswith(prefix + "."):
            return "torch.nn." + name.rpartition(".")[2]
    return name


#: Modules that hold other modules or state as items.
CONTAINERS = frozenset(
    f"torch.nn.{name}"
    for name in "ModuleList ModuleDict ParameterList ParameterDict Sequential BufferList BufferDict".split()
)
#: torch's own modules take an index as input.
INDEX_INPUT_MODULES = frozenset({"torch.nn.Embedding", "torch.nn.EmbeddingBag"})
#: Their constructors end in a call of this method (``MultiheadAttention`` of ``_reset_parameters``).
RESETS_ITSELF = {
    "Linear": "reset_parameters",
    "Bilinear": "reset_parameters",
    "Embedding": "reset_parameters",
    "EmbeddingBag": "reset_parameters",
    "LayerNorm": "reset_parameters",
    "GroupNorm": "reset_parameters",
    "RMSNorm": "reset_parameters",
    "RNN": "reset_parameters",
    "LSTM": "reset_parameters",
    "GRU": "reset_parameters",
    "RNNCell": "reset_parameters",
    "LSTMCell": "reset_parameters",
    "GRUCell": "reset_parameters",
    "MultiheadAttention": "_reset_parameters",
    **{
        f"{kind}{dims}d": "reset_parameters"
        for kind in ("Conv", "ConvTranspose", "BatchNorm", "InstanceNorm")
        for dims in "123"
    },
}


def resets_itself(name: str) -> str | None:
    """The method that the constructor of torch's own module *name* ends with."""
    return RESETS_ITSELF.get(canonical(name).removeprefix("torch.nn."))


#: Context managers under which tensors are made on the meta device.
META_CONTEXTS = frozenset({"init_empty_weights", "init_on_device", "no_init_weights_meta", "meta_device"})

#: Attributes that every tensor has.
TENSOR_ATTRIBUTES = frozenset(
    "data device shape dtype grad requires_grad ndim is_meta is_cuda layout T mT itemsize nbytes".split()
)
_KNOWN = (
    VIEWS_IN_ORDER
    | VIEWS_REARRANGED
    | VIEWS_OF_PARTS
    | METADATA
    | OVERWRITES
    | VALUE_FUNCTIONS
    | INT64_RESULTS
    | BOOL_RESULTS
    | FLOAT_RESULTS
    | set(ALLOCATORS)
    | set(CASTS)
    | set(INDEX_ARGUMENTS)
    | set("clone item tolist float type sort topk cumsum sum max min unique clamp repeat".split())
)


def is_tensor_method(name: str) -> bool:
    """Whether *name* is a method whose effect is known by more than its spelling."""
    return name in _KNOWN or (name.endswith("_") and not name.startswith("_"))
