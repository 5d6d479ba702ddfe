"""Which rows of a window lie in the data."""

from __future__ import annotations

import pytest
from tvm import tirx

from usmp.ops.kernels.mve.windows import rows_inside
from usmp.ops.quantized.window import Window


def window(height: int, taps: int, stride: int, dilation: int, padding: int, output: int) -> Window:
    """One that only its rows matter of."""
    return Window((height, 1), (taps, 1), (stride, 1), (dilation, 1), (padding, 0), (output, 1))


@pytest.mark.parametrize(
    "moved",
    [
        window(8, 3, 1, 1, 0, 6),
        window(8, 3, 1, 1, 1, 8),
        window(9, 3, 2, 1, 0, 4),
        window(8, 3, 2, 1, 0, 4),
        window(9, 3, 2, 2, 2, 5),
        window(4, 4, 1, 3, 5, 6),
        window(1, 2, 1, 2, 1, 1),
        window(2, 3, 1, 1, 4, 9),
    ],
)
def test_rows_inside(moved):
    (height, _), (taps, _), (dilation, _) = moved.data, moved.kernel, moved.dilations
    for y in range(moved.output[0]):
        top = y * moved.strides[0] - moved.padding[0]
        rows = [top + tap * dilation for tap in range(taps)]
        inside = [row for row in rows if 0 <= row < height]
        found = rows_inside(moved, tirx.IntImm("int32", y))
        assert int(found.number) == len(inside)
        if inside:
            assert int(found.first) == inside[0]
            assert int(found.above) == rows.index(inside[0])
        else:
            assert 0 <= int(found.first) < height
