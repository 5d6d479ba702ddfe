"""Real numbers as int8, at scales that each run finds."""

from __future__ import annotations

import numpy as np

from support.relax_vm import computed
from usmp.ops.dynamic_quantization import quantize_slices


def quantized(data, asymmetric):
    def function(builder, data):
        slices = quantize_slices(builder, data, asymmetric=asymmetric)
        assert (slices.offsets is not None) == asymmetric
        return [
            each for each in (slices.integers, slices.scales, slices.offsets) if each is not None
        ]

    return computed(function, np.array(data, np.float32))


def test_slices_are_scaled_to_their_greatest_magnitude():
    """Ties are rounded away from zero."""
    data = [[[63.5, -127], [0.4, 0.5]], [[-5, 0], [10, -10]], [[0, 0], [0, 0]]]
    integers, scales = quantized(data, False)
    assert integers.dtype == np.int8
    assert integers.tolist() == [[[64, -127], [0, 1]], [[-64, 0], [127, -127]], [[0, 0], [0, 0]]]
    assert scales.tolist() == [1, np.float32(10) / np.float32(127), 1]


def test_slices_are_scaled_from_their_least_to_their_greatest_element():
    """The range has zero in it, and zero is an integer."""
    data = [
        [0, 255, 127, 0.5],
        [-255, 0, -1, -1.5],
        [-1, 1, 0, 0.5],
        [0, 0, 0, 0],
        [-100, 155, 0, 1],
    ]
    integers, scales, offsets = quantized(data, True)
    assert offsets.dtype == np.int32
    assert offsets.tolist() == [-128, 127, -1, 0, -28]
    assert integers.tolist() == [
        [-128, 127, -1, -127],
        [-128, 127, 126, 125],
        [-128, 126, -1, 63],
        [0, 0, 0, 0],
        [-128, 127, -28, -27],
    ]
    np.testing.assert_array_equal(scales, np.float32([1, 1, 2 / 255, 1, 1]))


def test_the_offset_is_that_of_the_nearer_end():
    """From -128, 1.5 steps are rounded to -126.5 and away from zero; from 127, as many to 126."""
    _, _, offsets = quantized([[-1.5, 253.5], [-253.5, 1.5]], True)
    assert offsets.tolist() == [-127, 126]


def test_subnormal_numbers_are_zero():
    tiny = np.float32(1e-45)
    integers, scales, offsets = quantized([[tiny, 0]], True)
    assert scales.tolist() == [0]
    assert (integers == offsets).all()
