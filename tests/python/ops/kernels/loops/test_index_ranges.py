"""Which outputs of a window need no guard."""

from __future__ import annotations

import pytest

from ops.kernels.images.test_conv2d import WINDOWS
from usmp.ops.kernels.loops.index_ranges import IndexRange, inner_range


@pytest.mark.parametrize(
    ("name", "rows", "columns"),
    [
        ("same", IndexRange(1, 3), IndexRange(1, 4)),
        ("valid", IndexRange(0, 3), IndexRange(0, 4)),
        ("stride", IndexRange(1, 2), IndexRange(1, 3)),
        ("padding on the right only", IndexRange(0, 1), IndexRange(0, 1)),
        ("larger than the data", IndexRange(2, 2), IndexRange(2, 2)),
        ("beside the data", IndexRange(2, 2), IndexRange(2, 2)),
        ("dilation", IndexRange(1, 5), IndexRange(2, 5)),
        ("one column", IndexRange(1, 2), IndexRange(0, 1)),
    ],
)
def test_rows_and_columns_without_a_guard(name, rows, columns):
    window = WINDOWS[name]
    assert (inner_range(window, 0), inner_range(window, 1)) == (rows, columns)
