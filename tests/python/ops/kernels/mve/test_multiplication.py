"""Which expressions are products that vectors compute."""

from __future__ import annotations

import pytest
from tvm import tirx

from usmp.ops.kernels.limits import Limits
from usmp.ops.kernels.mve.addition import multiply
from usmp.ops.kernels.mve.multiplication import multiplication_of

A, B = (tirx.decl_buffer((4,), "int8", name) for name in "ab")


def element(buffer, offset):
    return buffer[tirx.IntImm("int32", 1)].astype("int32") + tirx.IntImm("int32", offset)


def product(shift, offset=5, dtype="int8"):
    total = multiply(element(A, offset) * element(B, -7), 1 << 30, shift)
    limited = tirx.min(tirx.max(total + tirx.IntImm("int32", 3), -100), 100)
    return limited.astype(dtype)


def test_a_product():
    found = multiplication_of(product(-4))
    assert (found.first.source, found.second.source) == (A, B)
    assert (found.offsets, found.multiplier, found.shift) == ((5, -7), 1 << 30, -4)
    assert found.limits == Limits(3, -100, 100)


@pytest.mark.parametrize(
    "value", [product(0), product(-32), product(-4, 129), element(A, 3), tirx.const(1, "int8")]
)
def test_others(value):
    assert multiplication_of(value) is None
