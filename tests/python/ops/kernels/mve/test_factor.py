"""Which rescalings vectors compute."""

from __future__ import annotations

import pytest
from tvm import tirx

from support.kernel_loops import M4, M55
from usmp.ops.kernels.mve.factor import Factor, rescaled_by
from usmp.ops.quantized.rescaling.fixed_point import multiply
from usmp.ops.rounding import Rounding


@pytest.mark.parametrize("rounding", Rounding)
def test_vectors_round_accumulators_of_32_bits_that_are_rounded_twice_or_as_floats(rounding):
    value = tirx.Var("value", rounding.accumulator)
    found = rescaled_by(multiply(value, 3 << 29, -4, rounding), M55)
    if rounding not in (Rounding.TWICE, Rounding.AS_FLOAT):
        assert found is None
        return
    assert found is not None and found[0].same_as(value)
    assert found[1] == Factor(3 << 29, -4, rounding)


def test_other_values_and_cores_have_none():
    value = tirx.Var("value", "int32")
    assert rescaled_by(value + 1, M55) is None
    assert rescaled_by(multiply(value, 3 << 29, -4), M4) is None
