"""What is recognized as an addition and a clamp, and what is not."""

from __future__ import annotations

import pytest
from tvm import tirx

from usmp.ops.kernels.limits import Limits, limits_of

VALUE = tirx.Var("value", "int32")


def int32(value: int) -> tirx.IntImm:
    return tirx.IntImm("int32", value)


def clamped(value: tirx.Expr, low: int, high: int) -> tirx.Expr:
    return tirx.min(tirx.max(value, int32(low)), int32(high))


@pytest.mark.parametrize(
    ("value", "limits"),
    [
        (clamped(VALUE + int32(4), -128, 127), Limits(4, -128, 127)),
        (clamped(VALUE - int32(128), -128, 100), Limits(-128, -128, 100)),
        (clamped(VALUE, 0, 255) - int32(128), Limits(-128, -128, 127)),
        (tirx.max(clamped(VALUE, -128, 127), int32(-5)), Limits(0, -5, 127)),
        (clamped(clamped(VALUE, -3, 5) + int32(1), -128, 127), Limits(1, -2, 6)),
    ],
)
def test_additions_and_clamps(value, limits):
    found = limits_of(value.astype("int8"))
    assert found is not None
    assert found[0].same_as(VALUE)
    assert found[1] == limits


@pytest.mark.parametrize(
    "value",
    [
        VALUE,
        tirx.max(VALUE, int32(-128)),
        clamped(VALUE, -129, 127),
        clamped(VALUE + int32(300), -128, 127),
        clamped(tirx.max(VALUE, int32(0)).astype("int8").astype("int32"), -128, 127),
    ],
)
def test_what_vectors_do_not_compute(value):
    assert limits_of(value.astype("int8")) is None


def test_halves_below_zero_make_no_difference_if_all_are_clamped():
    assert Limits(-128, -128, 127).suffix == "_up"
    assert Limits(3, 4, 127).suffix == "_up"
    assert Limits(3, 2, 127).suffix == ""
