"""The order of weights and records that the functions for vectors take."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import tirx

from usmp.ops.kernels.call.limits import Limits
from usmp.ops.kernels.loops.line import Line
from usmp.ops.kernels.mve.ending import VectorEnding
from usmp.ops.kernels.mve.products import (
    Products,
    Rows,
    packed_records,
    packed_weight,
    products,
    split_run,
)
from usmp.ops.quantized.rescaling.fixed_point import Rounding
from usmp.tir.nodes import nodes_of, sequence
from usmp.tir.tensor_intrin import intrinsic_call


@pytest.mark.parametrize(
    ("taps", "rows"),
    [
        (1, Rows(1, 1)),
        (27, Rows(1, 27)),
        (240, Rows(1, 240)),
        (256, Rows(2, 128)),
        (640, Rows(4, 160)),
        (241, None),
        (2 * 241, None),
    ],
)
def test_rows_of_taps_that_follow_each_other(taps, rows):
    assert split_run(taps) == rows


@pytest.mark.parametrize("together", [1, 4])
@pytest.mark.parametrize(
    ("channels", "rows"),
    [(4, Rows(1, 16)), (5, Rows(3, 40)), (8, Rows(2, 9)), (5, Rows(1, 40)), (4, Rows(1, 8))],
)
def test_each_weight_has_its_place_and_others_are_zero(channels, rows, together):
    count = channels * rows.rows * rows.columns
    weight = (np.arange(count) % 126 + 1).astype(np.int8).reshape(channels, -1)
    packed = packed_weight(weight, rows, together)
    whole = (rows.columns - 1) // 16 * 16
    last = 8 if (together, rows.rows) == (4, 1) and rows.columns - whole <= 8 else 16
    size = together * (whole + last)
    # What is loaded with the last weights lies in the array, too.
    beyond = 0 if whole else 16 - last
    assert packed.size == -(-channels // together) * rows.rows * size + beyond
    assert np.count_nonzero(packed) == count
    for c, row, k in np.ndindex(channels, rows.rows, rows.columns):
        first = (c // together * rows.rows + row) * size
        if k < whole:
            place = together * last + (k // 16 * together + c % together) * 16 + k % 16
        else:
            place = c % together * last + k - whole
        assert packed[first + place] == weight[c, row * rows.columns + k]


def test_records_of_four_channels_are_followed_by_their_multipliers():
    multiplier = np.arange(1, 6, dtype=np.int32)
    ending = VectorEnding(
        multiplier * 10, multiplier, Rounding.TWICE, Limits(0, -128, 127), (None, None)
    )
    expected = [10, 20, 30, 40, 1, 2, 3, 4, 50, 0, 0, 0, 5, 0, 0, 0]
    assert packed_records(ending).tolist() == expected
    assert packed_records(ending, 1).tolist() == [10, 1, 20, 2, 30, 3, 40, 4, 50, 5]


@pytest.mark.parametrize(
    ("channels", "functions"),
    [
        (8, ["tvmgen_mve_conv2d_2x4", "tvmgen_mve_conv2d_1x4"]),
        (6, ["tvmgen_mve_conv2d_1x4"]),
        (65532, ["tvmgen_mve_conv2d_2x4", "tvmgen_mve_conv2d_1x4"]),
        (65536, ["tvmgen_mve_conv2d_1x4"]),
    ],
)
def test_two_pixels_at_once_lie_within_16_bits_of_each_other(channels, functions):
    weight, data, output = (tirx.decl_buffer((1,), "int8", name) for name in "wxy")
    records, zero = tirx.decl_buffer((1,), "int32", "r"), tirx.IntImm("int32", 0)
    by = Products(weight, records, Rows(1, 4), 4, channels, Limits(0, -128, 127), Rounding.TWICE)
    body = sequence(products(by, Line(data, (zero,), 4), Line(output, (zero,), channels), 3))
    calls = [intrinsic_call(stmt) for stmt in nodes_of(body, tirx.AttrStmt)]
    assert [str(call.args[0].value) for call in calls if call is not None] == functions
