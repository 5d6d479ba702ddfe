"""Rescaling by constants takes the steps that the bounds of the values allow, and stays exact."""

from __future__ import annotations

import operator

import numpy as np
import pytest
import tvm
from tvm import relax, tirx
from tvm.ir import Call, IRModule, TensorLoad

from usmp.ops.quantized.rescaling.fixed_point import (
    QuantizedMultiplier,
    apply_multiplier,
    int32,
    multiply,
)
from usmp.tir.intrinsics import MULTIPLY_HIGH, RESCALE_RECORD
from usmp.transform import SpecializeRescaling

MULTIPLIER = 1623821475


def loop(value, dtype="int8"):
    """output[i] = value(x[i])."""
    x, output = (tirx.decl_buffer((8,), t, n) for t, n in ((dtype, "x"), ("int32", "output")))
    i = tirx.Var("i", "int32")
    store = tirx.BufferStore(output, value(x[i].astype("int32")), [i])
    return tirx.PrimFunc([x, output], tirx.For(i, 0, 8, tirx.ForKind.SERIAL, store))


def check(before, after, dtype="int8"):
    """What becomes of a function of the elements of this type."""
    func = SpecializeRescaling()(IRModule({"f": loop(before, dtype)}))["f"]
    tvm.ir.assert_structural_equal(func, loop(after, dtype))


def factor(value, multiplier, shift):
    return apply_multiplier(value, QuantizedMultiplier(multiplier, shift))


def record(value, right, rounding, multiplier=MULTIPLIER):
    numbers = map(int32, (multiplier, right, rounding))
    return tirx.call_pure_extern("int32", RESCALE_RECORD, value, *numbers)


def high_product(value, multiplier=MULTIPLIER):
    return tirx.call_pure_extern("int32", MULTIPLY_HIGH, value, int32(multiplier))


def limited(value, low, high):
    return tirx.min(tirx.max(value, int32(low)), int32(high))


def test_a_zero_point_is_added_where_it_is_rounded_and_to_the_limits_before_it():
    check(
        lambda x: limited(factor(x * 2**20, MULTIPLIER, -17), -28, 227) - int32(100),
        lambda x: limited(record(x * 2**20, 17, 1 - 200), -128, 127),
    )
    check(
        lambda x: limited(factor(x * 2**20, MULTIPLIER, -1) + int32(5), -128, 127),
        lambda x: limited(record(x * 2**20, 1, 11), -128, 127),
    )


@pytest.mark.parametrize(("zero_point", "right"), [(300, 22), (-2000, 20)])
def test_a_zero_point_that_may_overflow_stays_where_it_is(zero_point, right):
    check(
        lambda x: factor(x, MULTIPLIER, -right) + int32(zero_point),
        lambda x: record(x, right, 1) + int32(zero_point),
    )


def test_limits_that_would_leave_the_integers_stay():
    least = -(2**31)
    check(
        lambda x: tirx.max(factor(x, MULTIPLIER, -3), int32(least)) - int32(1),
        lambda x: tirx.max(record(x, 3, 1), int32(least)) - int32(1),
    )


def test_without_a_shift_it_is_the_high_product():
    check(
        lambda x: limited(factor(x * 2**20, MULTIPLIER, 0), -28, 227) - int32(100),
        lambda x: limited(high_product(x * 2**20) + int32(-100), -128, 127),
    )


def test_a_shift_to_the_left_is_a_product():
    check(lambda x: factor(x, MULTIPLIER, 3), lambda x: high_product(x * int32(8)))


@pytest.mark.parametrize(
    ("shift", "after"),
    [
        (0, lambda x: x * int32(2**19) - int32(2**19 * 5)),
        (-3, lambda x: x * int32(2**16) - int32(2**16 * 5)),
        (-19, lambda x: x - int32(5)),
        (1, lambda x: x * int32(2**20) - int32(2**20 * 5)),
    ],
)
def test_a_power_of_two_without_rest_needs_no_rescaling(shift, after):
    check(
        lambda x: factor(x * int32(2**20) - int32(2**20 * 5), 2**30, shift),
        after,
    )


def test_a_power_of_two_that_leaves_a_rest_is_rounded():
    check(lambda x: factor(x * int32(4), 2**30, -2), lambda x: record(x * int32(4), 2, 1, 2**30))


def test_values_that_may_be_great_and_great_shifts_stay():
    def same(value, dtype="int8"):
        check(value, value, dtype)

    same(lambda x: factor(x, MULTIPLIER, -3), "int32")
    same(lambda x: factor(x * int32(2**23), MULTIPLIER, -3))
    same(lambda x: factor(x, 2**30 - 1, -3))
    same(lambda x: factor(x, MULTIPLIER, 23))
    same(lambda x: factor(x, MULTIPLIER, -23))
    same(lambda x: multiply(x, x, -3))
    same(lambda x: multiply(x, MULTIPLIER, x))


def test_values_that_are_just_small_enough():
    check(
        lambda x: factor(x * int32(2**22), MULTIPLIER, -22),
        lambda x: record(x * int32(2**22), 22, 1),
    )


@pytest.mark.parametrize(("greatest", "is_small"), [(2**30 - 1, True), (2**30, False)])
def test_constants_that_are_passed_are_known(greatest, is_small):
    builder = relax.BlockBuilder()
    variable = builder.add_func(loop(lambda x: factor(x, MULTIPLIER, -3), "int32"), "f")
    output = relax.TensorType((8,), "int32")
    with builder.function("main", []):
        constant = relax.const(np.full(8, greatest, "int32"))
        builder.emit_func_output(builder.emit(relax.call_tir(variable, [constant], output)))
    expected = record if is_small else lambda x, *_: factor(x, MULTIPLIER, -3)
    tvm.ir.assert_structural_equal(
        SpecializeRescaling()(builder.get())["f"].body,
        loop(lambda x: expected(x, 3, 1), "int32").body,
        map_free_vars=True,
    )


OPERATORS = {
    tirx.Add: operator.add,
    tirx.Sub: operator.sub,
    tirx.Mul: operator.mul,
    tirx.Min: min,
    tirx.Max: max,
}


def evaluate(expr, x):
    """The value of an expression of `x`, in which nothing may overflow."""
    if isinstance(expr, tirx.IntImm):
        return int(expr)
    if isinstance(expr, TensorLoad):
        return x
    if isinstance(expr, tirx.Cast):
        return evaluate(expr.value, x)
    if isinstance(expr, Call):
        value, multiplier, *rest = (evaluate(argument, x) for argument in expr.args[1:])
        assert abs(value) < 2**30
        result = (value * multiplier + 2**30) >> 31
        if expr.args[0].value == RESCALE_RECORD:
            right, rounding = rest
            assert -(2**31) <= rounding << right < 2**31
            result = (result - (result < 0) + ((rounding << right) >> 1)) >> right
        else:
            assert expr.args[0].value == MULTIPLY_HIGH
    elif isinstance(expr, tirx.RShift):
        result = evaluate(expr.a, x) >> evaluate(expr.b, x)
    else:
        result = OPERATORS[type(expr)](evaluate(expr.a, x), evaluate(expr.b, x))
    assert -(2**31) <= result < 2**31
    return result


@pytest.mark.slow
def test_results_are_those_of_the_general_form():
    generator = np.random.default_rng(7)
    for _ in range(200):
        power = int(generator.integers(0, 21))
        shift = int(generator.integers(-22, 22 - power))
        multiplier = int(generator.choice([2**30, 2**31 - 1, generator.integers(2**30, 2**31)]))
        zero_point, offset = (int(value) for value in generator.integers(-128, 128, 2))
        check_results(QuantizedMultiplier(multiplier, shift), power, offset, zero_point)


def check_results(quantized, power, offset, zero_point):
    """Those of limits(factor * 2**power * (x - offset)) + zero_point."""
    low, high = -128 - zero_point, 127 - zero_point

    def value(x):
        term = (x - int32(offset)) * int32(2**power)
        return limited(apply_multiplier(term, quantized), low, high) + int32(zero_point)

    func = SpecializeRescaling()(IRModule({"f": loop(value)}))["f"]
    for x in range(-128, 128, 5):
        scaled = quantized.apply((x - offset) * 2**power)
        assert evaluate(func.body.body.value, x) == min(max(scaled, low), high) + zero_point
