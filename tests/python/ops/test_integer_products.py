"""Products of integers less zero points, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from support.relax_vm import computed
from usmp.ops.integer_products import Slide, convolution, matmul

generator = np.random.default_rng(0)


def integers(*shape, dtype="int8"):
    limits = np.iinfo(dtype)
    return generator.integers(limits.min, limits.max + 1, shape).astype(dtype)


@pytest.mark.parametrize(
    ("left", "right", "points"),
    [
        ((2, 3), (3, 4), ([5], [-7])),
        ((2, 1, 2, 3), (3, 3, 4), ([5], [1, 2, 3, -128])),
        ((2, 3), (2, 3, 4), ([5], [1])),
    ],
)
def test_matrices_are_multiplied_and_their_outer_axes_broadcast(left, right, points):
    a, b = integers(*left), integers(*right, dtype="uint8")
    first, second = (
        np.array(p, np.int16).astype(t) for p, t in zip(points, ("int8", "uint8"), strict=True)
    )
    (output,) = computed(matmul, a, b, first, second)
    assert output.dtype == np.int32
    expected = (a.astype(np.int32) - first) @ (b.astype(np.int32) - second)
    np.testing.assert_array_equal(output, expected)


@pytest.mark.parametrize("channels", [1, 2, 4], ids="groups_of_{}".format)
@pytest.mark.parametrize("weight_points", [[3], [3, -4, 5, 100]])
def test_convolutions_have_strides_dilations_padding_and_groups(channels, weight_points):
    """Padding adds nothing, whatever the zero points."""
    slide = Slide((2, 1), (1, 2), (1, 2), (3, 5))
    data, weight = integers(2, 4, 5, 4), integers(4, channels, 3, 2)
    points = np.array([-9], np.int8), np.array(weight_points, np.int8)
    (output,) = computed(
        lambda builder, *inputs: convolution(builder, *inputs, slide), data, weight, *points
    )
    padded = np.pad(data.astype(np.int32) + 9, ((0, 0), (0, 0), (1, 2), (2, 3)))
    factors = weight.astype(np.int32) - points[1].astype(np.int32).reshape(-1, 1, 1, 1)
    expected = np.zeros((2, 4, 3, 5), np.int32)
    for c in range(4):
        begin = c // channels * channels
        group = padded[:, begin : begin + channels]
        for y, x in np.ndindex(3, 5):
            part = group[:, :, 2 * y : 2 * y + 3, x : x + 3 : 2]
            expected[:, c, y, x] = (part * factors[c]).sum((1, 2, 3))
    np.testing.assert_array_equal(output, expected)
