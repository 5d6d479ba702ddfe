"""Which taps of a window lie in the data."""

from __future__ import annotations

import pytest
from tvm import tirx

from usmp.ops.kernels.mve.windows import taps_inside
from usmp.ops.window import Window


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize(
    ("extent", "taps", "stride", "dilation", "padding", "outputs"),
    [
        (8, 3, 1, 1, 0, 6),
        (8, 3, 1, 1, 1, 8),
        (9, 3, 2, 1, 0, 4),
        (8, 3, 2, 1, 0, 4),
        (9, 3, 2, 2, 2, 5),
        (4, 4, 1, 3, 5, 6),
        (1, 2, 1, 2, 1, 1),
        (2, 3, 1, 1, 4, 9),
    ],
)
def test_taps_inside(side, extent, taps, stride, dilation, padding, outputs):
    def pair(value: int, other: int) -> tuple[int, int]:
        return (other, value) if side else (value, other)

    window = Window(
        pair(extent, 1),
        pair(taps, 1),
        pair(stride, 1),
        pair(dilation, 1),
        pair(padding, 0),
        pair(outputs, 1),
    )
    for output in range(outputs):
        places = [output * stride - padding + tap * dilation for tap in range(taps)]
        inside = [place for place in places if 0 <= place < extent]
        found = taps_inside(window, side, tirx.IntImm("int32", output))
        assert int(found.number) == len(inside)
        if inside:
            assert int(found.first) == inside[0]
            assert int(found.before) == places.index(inside[0])
        else:
            assert 0 <= int(found.first) < extent
