"""Division by the number of elements is multiplication by a number of 16 bits."""

from __future__ import annotations

import numpy as np

from usmp.ops.kernels.mve.average_pool import reciprocal_of


def test_every_sum_is_divided_exactly():
    for count in range(2, 257):
        reciprocal, shift = reciprocal_of(count)
        assert 0 < reciprocal < 1 << 16
        sums = np.arange(128 * count + 1) + count // 2
        assert sums.max() < 1 << 16
        assert np.array_equal(sums * reciprocal >> 16 >> shift, sums // count)
