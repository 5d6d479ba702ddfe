"""The order of weights and records that the functions for vectors take."""

from __future__ import annotations

import numpy as np
import pytest

from usmp.ops.kernels.mve.ending import Limits, VectorEnding
from usmp.ops.kernels.mve.products import Rows, packed_records, packed_weight, split_run


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


@pytest.mark.parametrize(
    ("channels", "rows"), [(4, Rows(1, 16)), (5, Rows(3, 40)), (8, Rows(2, 9))]
)
def test_each_weight_has_its_place_and_others_are_zero(channels, rows):
    count = channels * rows.rows * rows.columns
    weight = (np.arange(count) % 126 + 1).astype(np.int8).reshape(channels, -1)
    packed = packed_weight(weight, rows)
    assert packed.size == -(-channels // 4) * rows.rows * rows.blocks * 64
    assert np.count_nonzero(packed) == count
    for c, row, k in np.ndindex(channels, rows.rows, rows.columns):
        block = (k // 16 + 1) % rows.blocks
        place = (((c // 4 * rows.rows + row) * rows.blocks + block) * 4 + c % 4) * 16 + k % 16
        assert packed[place] == weight[c, row * rows.columns + k]


def test_records_of_four_channels_are_followed_by_their_multipliers():
    multiplier = np.arange(1, 6, dtype=np.int32)
    ending = VectorEnding(multiplier, multiplier * 10, Limits(0, -128, 127), (None, None))
    expected = [10, 20, 30, 40, 1, 2, 3, 4, 50, 0, 0, 0, 5, 0, 0, 0]
    assert packed_records(ending).tolist() == expected
