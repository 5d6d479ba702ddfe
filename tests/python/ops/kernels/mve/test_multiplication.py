"""Which expressions are products that vectors compute."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import tirx
from tvm.target import Target

from usmp.objects.target.cores import CORES, core_of
from usmp.ops.kernels.call.limits import Limits
from usmp.ops.kernels.mve.factor import Factor
from usmp.ops.kernels.mve.multiplication import multiplication_of
from usmp.ops.quantized.rescaling.fixed_point import Rounding, multiply

M55 = CORES["cortex-m55"]
WITHOUT_FLOATS = [
    core_of(Target({"kind": "c", "mcpu": f"cortex-m55+{feature}"}))
    for feature in ("nofp", "nomve.fp")
]

A, B = (tirx.decl_buffer((4,), "int8", name) for name in "ab")


def element(buffer, offset):
    return buffer[tirx.IntImm("int32", 1)].astype("int32") + tirx.IntImm("int32", offset)


def product(shift, offset=5, dtype="int8", rounding=Rounding.TWICE, multiplier=1 << 30):
    total = multiply(element(A, offset) * element(B, -7), multiplier, shift, rounding)
    limited = tirx.min(tirx.max(total + tirx.IntImm("int32", 3), -100), 100)
    return limited.astype(dtype)


def test_a_product():
    found = multiplication_of(product(-4), M55)
    assert (found.first.source, found.second.source) == (A, B)
    assert (found.offsets, found.factor) == ((5, -7), Factor(1 << 30, -4, Rounding.TWICE))
    assert found.limits == Limits(3, -100, 100)


def test_a_product_of_floats():
    """Its factor may be one half and more: 1.5 * 2**6, whose bits are those of float32."""
    value = product(7, rounding=Rounding.AS_FLOAT, multiplier=3 << 29)
    factor = multiplication_of(value, M55).factor
    assert factor.rounding is Rounding.AS_FLOAT
    assert np.array(factor.arguments, np.int32).view(np.float32).tolist() == [96]
    assert [multiplication_of(value, core) for core in WITHOUT_FLOATS] == [None, None]
    assert multiplication_of(product(-4), WITHOUT_FLOATS[1]) is not None


@pytest.mark.parametrize(
    "value",
    [
        *(product(0), product(-32), product(-4, 129), element(A, 3), tirx.const(1, "int8")),
        # No float has so many bits.
        product(-4, rounding=Rounding.AS_FLOAT, multiplier=(1 << 30) + 1),
    ],
)
def test_others(value):
    assert multiplication_of(value, M55) is None
