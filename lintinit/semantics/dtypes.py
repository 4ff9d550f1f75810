"""torch dtypes by name, and what the names that imply one stand for.

Source: https://docs.pytorch.org/docs/stable/tensor_attributes.html (dtypes and legacy tensor types).
"""

from __future__ import annotations

#: What a dtype holds, with the names in the torch namespace.
KINDS = {
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
#: Second names.
SAME = {"short": "int16", "int": "int32", "long": "int64", "half": "float16", "float": "float32", "double": "float64"}

#: ``torch.LongTensor`` and its relatives: constructors that allocate when they get sizes.
LEGACY_TENSORS = {
    "Tensor": "float32",
    "FloatTensor": "float32",
    "DoubleTensor": "float64",
    "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
    "LongTensor": "int64",
    "IntTensor": "int32",
    "ShortTensor": "int16",
    "CharTensor": "int8",
    "ByteTensor": "uint8",
    "BoolTensor": "bool",
}

#: Tensor methods that convert to a dtype of their own.
CASTS = {
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "char": "int8",
    "byte": "uint8",
    "bool": "bool",
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "bfloat16": "bfloat16",
    "cfloat": "complex64",
    "cdouble": "complex128",
}

#: Python's own types, where ``dtype=`` takes them.
PYTHON_TYPES = {"int": "int64", "float": "float32", "bool": "bool", "complex": "complex64"}
