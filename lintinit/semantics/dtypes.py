"""torch dtypes by name, and what the names that imply one stand for.

Source: https://docs.pytorch.org/docs/stable/tensor_attributes.html (dtypes and legacy tensor types).
"""

from __future__ import annotations

from lintinit.model.values import DType

_KINDS = {
    "integer": (
        "int8 int16 int32 int64 uint8 uint16 uint32 uint64 short int long char byte"
        " int1 int2 int3 int4 int5 int6 int7 uint1 uint2 uint3 uint4 uint5 uint6 uint7"
        " qint8 quint8 qint32 quint4x2 quint2x4 bits8 bits16 bits1x8 bits2x4 bits4x2"
    ),
    "bool": "bool",
    "floating": (
        "float16 float32 float64 bfloat16 half float double float8_e4m3fn float8_e5m2 float8_e4m3fnuz"
        " float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn_x2"
    ),
    "complex": "complex32 complex64 complex128 chalf cfloat cdouble",
}
_SAME = {"short": "int16", "int": "int32", "long": "int64", "half": "float16", "float": "float32", "double": "float64"}
#: Every dtype by its name in the torch namespace.
DTYPES = {
    name: DType(f"torch.{_SAME.get(name, name)}", kind) for kind, names in _KINDS.items() for name in names.split()
}
INT64 = DTYPES["int64"]
BOOL = DTYPES["bool"]
FLOAT = DTYPES["float32"]

#: ``torch.LongTensor`` and its relatives: constructors that allocate when they get sizes.
LEGACY_TENSORS = {
    "Tensor": FLOAT,
    "FloatTensor": FLOAT,
    "DoubleTensor": DTYPES["float64"],
    "HalfTensor": DTYPES["float16"],
    "BFloat16Tensor": DTYPES["bfloat16"],
    "LongTensor": INT64,
    "IntTensor": DTYPES["int32"],
    "ShortTensor": DTYPES["int16"],
    "CharTensor": DTYPES["int8"],
    "ByteTensor": DTYPES["uint8"],
    "BoolTensor": BOOL,
}

#: Tensor methods that convert to a dtype of their own.
CASTS = {
    "long": INT64,
    "int": DTYPES["int32"],
    "short": DTYPES["int16"],
    "char": DTYPES["int8"],
    "byte": DTYPES["uint8"],
    "bool": BOOL,
    "float": FLOAT,
    "double": DTYPES["float64"],
    "half": DTYPES["float16"],
    "bfloat16": DTYPES["bfloat16"],
    "cfloat": DTYPES["complex64"],
    "cdouble": DTYPES["complex128"],
}

#: Python's own types, where ``dtype=`` takes them.
PYTHON_TYPES = {"int": INT64, "float": FLOAT, "bool": BOOL, "complex": DTYPES["complex64"]}


def dtype_named(dotted: str) -> DType | None:
    """The dtype that ``torch.<name>`` is, or None for any other dotted name."""
    prefix, _, name = dotted.rpartition(".")
    return DTYPES.get(name) if prefix == "torch" else None
