"""What is recognized as an addition and a clamp, and what is not."""

from __future__ import annotations

import pytest
from tvm import tirx

from usmp.objects.target.cores import CORES
from usmp.ops.kernels.call.limits import Limits, limits_of
from usmp.ops.kernels.loops.line import Line
from usmp.ops.kernels.mve.single import functions_of
from usmp.tir.nodes import nodes_of
from usmp.tir.tensor_intrin import intrinsic_call

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
        # An unsigned byte has other values below zero.
        clamped(clamped(VALUE, -5, 127).astype("uint8").astype("int32"), -99, 99),
    ],
)
def test_what_vectors_do_not_compute(value):
    assert limits_of(value.astype("int8")) is None


def test_a_sum_of_bytes_wraps():
    """So it is no addition before the clamp."""
    wrapped = clamped(VALUE, -128, 127).astype("int8") + tirx.IntImm("int8", 100)
    found = limits_of(clamped(wrapped.astype("int32"), -99, 99).astype("int8"))
    assert found is not None
    assert found[0].same_as(wrapped)
    assert found[1] == Limits(0, -99, 99)


def test_halves_below_zero_make_no_difference_if_all_are_clamped():
    assert Limits(-128, -128, 127).suffix == "_up"
    assert Limits(3, 4, 127).suffix == "_up"
    assert Limits(3, 2, 127).suffix == ""


def test_a_chain_of_functions_ends_at_what_is_no_function():
    """A table of a table of limits of a sum: nothing of it is lost."""
    data = tirx.decl_buffer((4,), "int8", "data")
    tables = [tirx.decl_buffer((256,), "int8", name) for name in ("first", "second")]
    value = data[0]
    for table in tables:
        value = table[clamped(value.astype("int32"), -100, 90).astype("int8").astype("int32") + 128]
    inner, functions = functions_of(value, CORES["cortex-m55"])
    assert inner.source.same_as(data)
    line, output = (Line(tirx.decl_buffer((4,), "int8"), (int32(0),), 4) for _ in range(2))
    calls = map(intrinsic_call, nodes_of(functions([line], output, 4), tirx.AttrStmt))
    limits, look_up = "tvmgen_mve_max_pool", "tvmgen_mve_look_up"
    assert [call.args[0].value for call in calls] == [limits, look_up, limits, look_up]


def test_a_sum_is_no_function():
    data = tirx.decl_buffer((4,), "int8", "data")
    value = clamped(data[0].astype("int32") + data[1].astype("int32"), -128, 127).astype("int8")
    inner, functions = functions_of(value, CORES["cortex-m55"])
    assert inner.same_as(value)
    assert functions is None
