"""Instructions of tiles, by which they are compared."""

from __future__ import annotations

import pytest

from usmp.objects.target.cores import CORES, PORTABLE
from usmp.ops.kernels.costs import costs_of

M3, M4 = (costs_of(CORES[name]) for name in ("cortex-m3", "cortex-m4"))


def test_cores_without_dot_products_cost_as_much_as_a_cortex_m3():
    assert costs_of(PORTABLE) is costs_of(CORES["cortex-m0"]) is M3
    assert costs_of(CORES["cortex-m7"]) is M4 is not M3


@pytest.mark.parametrize(
    ("tile", "on_m4", "on_m3"),
    [
        # Of four elements each, and of several sums at once.
        ((1, 1), 9, 16),
        ((1, 2), 13, 26),
        ((2, 1), 13, 26),
        ((2, 2), 20, 34),
        ((1, 4), 23, 46),
        ((4, 1), 23, 46),
        ((1, 6), 33, 66),
    ],
)
def test_products_of_a_tile_of_four_elements(tile, on_m4, on_m3):
    assert M4.sums(tile, 1, 4) == 10 + on_m4
    assert M3.sums(tile, 1, 4) == 10 + on_m3
    assert M4.sums(tile, 3, 8) == 3 * (10 + 2 * on_m4)


def test_larger_tiles_cost_less_a_product():
    for costs in (M3, M4):
        assert costs.product[2, 2] < costs.product[1, 2] < costs.product[1, 1]
        assert costs.product[1, 6] < costs.product[1, 4] < costs.product[1, 2]
        assert costs.product[1, 4] == costs.product[4, 1]


def test_other_parts_of_kernels():
    assert (M4.depthwise * 2, M4.run, M4.output, M4.pixel) == (5, 10, 15, 16)
    assert (M3.depthwise, M3.run, M3.output, M3.pixel) == (4, 10, 18, 16)
