"""Bounds are conservative: what may be any value of its type has the bounds of the type."""

import tracemalloc

from tvm import tirx
from tvm.script import tirx as T
from tvm.tirx import Cast

from usmp.analysis.integers.integer_ranges import IntegerRanges, type_range
from usmp.analysis.integers.local_ranges import find_ranges
from usmp.tir.intrinsics import (
    MULTIPLY_BY_QUANTIZED_MULTIPLIER,
    MULTIPLY_HIGH,
    RESCALE_RECORD,
)
from usmp.tir.nodes import nodes_of


def test_bounds_of_a_parameter_that_is_written_are_not_used_for_loops():
    @T.prim_func(s_tir=True)
    def main(counts: T.Buffer((1,), "int32"), output: T.Buffer((8,), "int32")):
        for i in range(counts[0]):
            output[0] = i
        counts[0] = 2147483647

    (loop,) = nodes_of(main.body, tirx.For)
    (counts,) = (param for param in main.params if param.name == "counts")
    ranges = find_ranges(main.body, {counts: (0, 3)})
    assert ranges.of(loop.extent) == type_range("int32")
    assert ranges.of(loop.loop_var)[1] >= 2**31 - 2


def test_bounds_of_a_parameter_that_is_only_read():
    @T.prim_func(s_tir=True)
    def main(counts: T.Buffer((1,), "int32"), output: T.Buffer((8,), "int32")):
        for i in range(counts[0]):
            output[0] = i

    (loop,) = nodes_of(main.body, tirx.For)
    (counts,) = (param for param in main.params if param.name == "counts")
    assert find_ranges(main.body, {counts: (0, 3)}).of(loop.loop_var) == (0, 2)


def test_integers_that_a_small_float_cannot_hold_may_be_infinite():
    value = tirx.Var("value", "int32")
    ranges = IntegerRanges(variables={value: (0, 70000)})
    assert ranges.of_float(Cast("float32", value)) == (0.0, 70000.0, False)
    assert ranges.of(Cast("int32", Cast("float16", value))) == type_range("int32")


def test_constants_with_equal_hashes_have_bounds_of_their_own():
    """The hashes of -1 and -2 are equal in Python."""
    ranges = IntegerRanges()
    for number in (-1, -2, -1):
        assert ranges.of(tirx.IntImm("int32", number)) == (number, number)


def test_a_product_that_overflows_is_found_after_one_with_a_constant_of_equal_hash():
    value = tirx.Var("value", "int32")
    ranges = IntegerRanges(variables={value: (-(2**30), 2**30 + 1)})
    assert ranges.fits(tirx.Mul(value, tirx.IntImm("int32", -1)))
    assert not ranges.fits(tirx.Mul(value, tirx.IntImm("int32", -2)))


def test_bounds_of_what_a_record_rescales():
    """The values are less than 2**30 there, whatever else is known of them."""
    value = tirx.Var("value", "int32")

    def bounds(function, *numbers):
        arguments = (tirx.IntImm("int32", number) for number in numbers)
        call = tirx.call_pure_extern("int32", function, value, *arguments)
        return IntegerRanges().of(call), IntegerRanges(variables={value: (-512, 1024)}).of(call)

    half = 2**30
    assert bounds(MULTIPLY_HIGH, half) == ((-(2**29) - 1, 2**29), (-257, 513))
    # By 8, to the right, and 3 is added; of the shift the lowest byte counts.
    assert bounds(RESCALE_RECORD, half, 0x503, 7) == (
        (-(2**26) - 2 + 3, 2**26 + 1 + 3),
        (-34 + 3, 65 + 3),
    )


def test_a_shift_that_may_be_any_number_takes_no_memory():
    """To the left by up to 2**31 bits, which makes numbers of 256 MB."""
    shift = tirx.Var("shift", "int32")

    def bounds(value):
        numbers = (tirx.IntImm("int32", number) for number in (value, 2**30))
        return IntegerRanges().of(
            tirx.call_pure_extern("int32", MULTIPLY_BY_QUANTIZED_MULTIPLIER, *numbers, shift)
        )

    tracemalloc.start()
    try:
        assert bounds(0) == (-1, 1)
        assert bounds(1) == type_range("int32")
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
