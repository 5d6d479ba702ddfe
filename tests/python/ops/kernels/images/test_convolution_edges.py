"""Convolutions whose windows reach beyond the data: their loops compute the operator."""

from __future__ import annotations

import numpy as np
import pytest

from support.kernel_loops import M4, check_loops, operator_call
from usmp.objects.target.cores import CORES, PORTABLE
from usmp.ops import quantized
from usmp.ops.kernels.images.weighted_conv2d import conv2d_kernel
from usmp.ops.quantized import Layout, OutputLimits, Quantization, Rescale, Window
from usmp.ops.quantized.rescaling.fixed_point import quantize_multiplier

pytestmark = pytest.mark.cc

DATA, OUTPUT, WEIGHT = (Quantization("int8", (0.1,), (z,)) for z in (-7, 5, 0))
LIMITS = OutputLimits("int8", -120, 110)
WINDOWS = {
    "padded": Window((4, 5), (3, 3), (1, 1), (1, 1), (1, 1), (4, 5)),
    "strided": Window((5, 6), (3, 2), (2, 2), (1, 1), (1, 1), (3, 4)),
    "far": Window((3, 2), (4, 5), (1, 1), (1, 1), (3, 4), (6, 6)),
    "dilated_rows": Window((5, 5), (3, 2), (1, 1), (2, 1), (2, 1), (5, 6)),
    "dilated": Window((5, 5), (2, 3), (1, 1), (2, 2), (1, 2), (5, 5)),
    "one_row": Window((1, 9), (1, 4), (1, 2), (1, 1), (0, 2), (1, 5)),
}


def operator(window, channels, outputs, layout="NHWC", batch=1):
    generator = np.random.default_rng(1)
    weight = generator.integers(-127, 128, (outputs, *window.kernel, channels)).astype(np.int8)
    bias = generator.integers(-900, 900, outputs).astype(np.int32)
    factors = tuple(quantize_multiplier(0.01 + 0.001 * c) for c in range(outputs))
    rescale = Rescale(factors, OUTPUT, LIMITS)
    planes = (batch, channels, *window.data)
    shape = (batch, *window.data, channels) if layout == "NHWC" else planes

    def make(builder, data):
        ends = (window, DATA, rescale, Layout(layout), WEIGHT, Layout("NHWC"))
        return quantized.conv2d(builder, data, weight, bias, *ends)

    return operator_call(make, shape)


@pytest.mark.parametrize("core", [M4, CORES["cortex-m3"], PORTABLE], ids=["m4", "m3", "portable"])
@pytest.mark.parametrize("window", WINDOWS)
def test_taps_outside_of_the_data_count_as_its_zero_point(window, core):
    call = operator(WINDOWS[window], 3, 5)
    check_loops(call, conv2d_kernel(call, core))


@pytest.mark.parametrize("window", ["padded", "far", "dilated", "strided"])
def test_data_with_its_channels_first(window):
    call = operator(WINDOWS[window], 3, 5, "NCHW", batch=2)
    check_loops(call, conv2d_kernel(call, M4))
