"""Logarithm of the softmax of int8."""

from __future__ import annotations

import numpy as np
import pytest

from support.relax_vm import computed, load_fixed_point_functions
from usmp.ops.quantized import Quantization, log_softmax
from usmp.support.errors import UnsupportedModelError

AFTER = Quantization("int8", (16 / 256,), (127,))


def before(scale):
    return Quantization("int8", (scale,), (5,))


@pytest.mark.cc
@pytest.mark.parametrize("scale", [0.01, 0.1, 0.5])
def test_results_are_those_of_real_numbers(scale):
    """Of 16 steps for each, down to -16; what is lower is -16."""
    load_fixed_point_functions()
    generator = np.random.default_rng(0)
    data = generator.integers(-128, 128, (6, 9)).astype(np.int8)
    data[0], data[1] = -3, [127, *[-128] * 8]
    (output,) = computed(
        lambda builder, data: log_softmax(builder, data, before(scale), AFTER), data
    )
    real = data.astype(np.float64) * scale
    exact = real - np.log(np.exp(real).sum(axis=1, keepdims=True))
    expected = np.maximum(np.floor(np.abs(exact) * 16 + 0.5) * -1 + 127, -128)
    assert output.dtype == np.int8
    difference = np.abs(output - expected)
    assert difference.max() <= 1
    assert (difference > 0).mean() < 0.05


def test_other_outputs_and_long_rows_are_refused():
    def data(depth):
        return np.zeros((1, depth), np.int8)

    for after in (Quantization("int8", (0.1,), (127,)), Quantization("int8", (16 / 256,), (0,))):
        with pytest.raises(UnsupportedModelError, match=r"required: 0\.0625 and 127"):
            log_softmax(None, data(4), before(0.1), after)
    with pytest.raises(UnsupportedModelError, match="4096"):
        log_softmax(None, data(4096), before(0.1), AFTER)
