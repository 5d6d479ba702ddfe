"""Quantized convolutions, against their definition in integers of any size."""

from __future__ import annotations

import numpy as np
import pytest

from support.relax_vm import computed, load_fixed_point_functions
from usmp.ops.quantized import OutputLimits, Quantization, Rescale, quantize_multiplier
from usmp.ops.quantized.convolution import conv2d, depthwise_conv2d
from usmp.ops.window import Layout, Window

pytestmark = pytest.mark.cc

generator = np.random.default_rng(0)
WINDOW = Window((4, 5), (3, 2), (2, 1), (1, 2), (1, 2), (2, 6))
INSIDE = Window((4, 5), (3, 2), (1, 1), (1, 2), (0, 0), (2, 3))
NHWC, NCHW = Layout("NHWC"), Layout("NCHW")
DATA = Quantization("int8", (0.02,), (-9,))
OUTPUT = Quantization("int8", (1.0,), (3,))
LIMITS = OutputLimits("int8", -100, 90)
FACTORS = (0.0101, 0.0153, 0.0207, 0.0253)


def rescale_of(*factors):
    return Rescale(tuple(map(quantize_multiplier, factors)), OUTPUT, LIMITS)


def image(*shape):
    return generator.integers(-128, 128, shape).astype(np.int8)


def parts(data, window):
    """Rows and columns of the output, and the data that each reads, less the zero point."""
    real = data.astype(np.int64) + 9
    padded = np.pad(real, ((0, 0), (window.padding[0], 4), (window.padding[1], 4), (0, 0)))
    (sy, sx), (dy, dx), (ky, kx) = window.strides, window.dilations, window.kernel
    for y, x in np.ndindex(window.output):
        yield y, x, padded[:, sy * y : sy * y + dy * ky : dy, sx * x : sx * x + dx * kx : dx]


def finished(sums, bias, factors):
    scaled = (sums + (0 if bias is None else bias)) * np.array(factors)
    return np.clip(np.floor(np.abs(scaled) + 0.5) * np.sign(scaled) + 3, -100, 90)


def check(function, data, expected, layout, out_layout):
    """Fixed-point factors are not exact: few results are off by one."""
    load_fixed_point_functions()
    order = {"NHWC": (0, 1, 2, 3), "NCHW": (0, 3, 1, 2)}
    given = np.ascontiguousarray(data.transpose(order[layout.axes]))
    (output,) = computed(function, given)
    expected = expected.transpose(order[(out_layout or layout).axes])
    assert output.dtype == np.int8
    assert output.shape == expected.shape
    difference = np.abs(output - expected)
    assert difference.max() <= 1
    assert (difference > 0).mean() < 0.03


CASES = [
    (4, WINDOW, 0, True, FACTORS[:1], NHWC, None),
    (2, WINDOW, 7, False, FACTORS, NHWC, NCHW),
    (1, INSIDE, -3, True, FACTORS, NCHW, None),
]


@pytest.mark.parametrize(
    ("depth", "window", "zero_point", "has_bias", "factors", "layout", "out_layout"), CASES
)
def test_convolutions(depth, window, zero_point, has_bias, factors, layout, out_layout):
    data, weight = image(2, 4, 5, 4), image(4, 3, 2, depth)
    bias = np.array([500, -700, 900, 40], np.int32) if has_bias else None
    real = weight.astype(np.int64) - zero_point
    sums = np.zeros((2, *window.output, 4))
    for y, x, part in parts(data, window):
        for c in range(4):
            begin = c // depth * depth
            sums[:, y, x, c] = (part[..., begin : begin + depth] * real[c]).sum((1, 2, 3))

    def function(builder, data):
        quantization = Quantization("int8", (0.5,), (zero_point,))
        arguments = (weight, bias, window, DATA, rescale_of(*factors), layout, quantization)
        return conv2d(builder, data, *arguments, out_layout)

    check(function, data, finished(sums, bias, factors), layout, out_layout)


@pytest.mark.parametrize(
    ("channels", "window", "zero_point", "has_bias", "factors", "layout", "out_layout"), CASES
)
def test_depthwise_convolutions(
    channels, window, zero_point, has_bias, factors, layout, out_layout
):
    data, weight = image(2, 4, 5, channels), image(3, 2, 4)
    bias = np.array([500, -700, 900, 40], np.int32) if has_bias else None
    real = weight.astype(np.int64) - zero_point
    sums = np.zeros((2, *window.output, 4))
    for y, x, part in parts(data, window):
        sums[:, y, x] = (part.repeat(4 // channels, axis=3) * real).sum((1, 2))

    def function(builder, data):
        quantization = Quantization("int8", (0.5,), (zero_point,))
        arguments = (weight, bias, window, DATA, rescale_of(*factors), layout, quantization)
        return depthwise_conv2d(builder, data, *arguments, out_layout)

    check(function, data, finished(sums, bias, factors), layout, out_layout)
