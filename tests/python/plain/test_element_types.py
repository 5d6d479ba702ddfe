"""Bytes of elements and tensors, as TVM counts them."""

from __future__ import annotations

import pytest
from tvm import DataType

from usmp.plain.element_types import element_bytes, tensor_bytes

SMALL_FLOATS = (
    *("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz"),
    *("float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
    *("float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"),
)


@pytest.mark.parametrize(
    "dtype",
    [
        "bool",
        *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (1, 4, 8, 16, 32, 64)),
        *("float16", "float32", "float64", "bfloat16"),
        *SMALL_FLOATS,
        *("int8x4", "uint8x16", "float32x4", "int4x8", "int4x3"),
    ],
)
def test_bytes_are_those_of_tvm(dtype):
    assert element_bytes(dtype) == DataType(dtype).itemsize
    assert tensor_bytes([2, 3], dtype) == 6 * DataType(dtype).itemsize


@pytest.mark.parametrize(
    "dtype",
    [
        *("", "int", "int0", "int65", "int9000", "int-8", " int8", "int8 "),
        *("int8x", "int\uff18", "object"),
    ],
)
def test_what_is_no_element_type(dtype):
    with pytest.raises(ValueError, match=r"^\"[^\"]*\" is no element type$"):
        element_bytes(dtype)


def test_a_tensor_without_axes_or_elements():
    assert (tensor_bytes([], "int32"), tensor_bytes([0, 2**40], "int32")) == (4, 0)
