"""Products of real data with weights that stay integers, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax

from support.relax_vm import computed
from usmp.ops.dynamic_quantization import QuantizedSlices
from usmp.ops.quantized.transposed_convolution import TransposedSide
from usmp.ops.stored_weights import (
    StoredWeight,
    conv2d,
    depthwise_conv2d,
    fully_connected,
    transpose_conv2d,
)
from usmp.ops.window import Window
from usmp.support.errors import UnsupportedModelError

generator = np.random.default_rng(0)
WINDOW = Window((4, 5), (3, 2), (2, 1), (1, 2), (1, 2), (2, 6))
SIDES = (TransposedSide(2, 3, 2, 1, 4), TransposedSide(3, 2, 1, 0, 4))


def data_of(*shape, dtype="float32"):
    if dtype == "int8":
        return generator.integers(-128, 128, shape).astype(dtype)
    return generator.normal(size=shape).astype(dtype)


def weight_of(shape, kind, outputs):
    """Stored numbers, one scale or one a channel, and zero points."""
    if kind == "float16":
        return StoredWeight(data_of(*shape, dtype="float16"), None)
    scales = np.linspace(0.1, 0.5, outputs, dtype=np.float32)
    if kind == "one_scale":
        return StoredWeight(data_of(*shape, dtype="int8"), scales[-1:], 3)
    if kind == "unsigned":
        unsigned = data_of(*shape, dtype="int8").view(np.uint8)
        return StoredWeight(unsigned, None, 130)
    return StoredWeight(data_of(*shape, dtype="int8"), scales)


def values(weight, channel_axis):
    real = weight.stored.astype(np.float64) - weight.zero_point
    if weight.scales is None:
        return real
    shape = [-1 if axis == channel_axis else 1 for axis in range(real.ndim)]
    return real * weight.scales.reshape(shape)


def check(function, data, expected_of, weight, bias, channel_axis=0):
    (output,) = computed(lambda builder, data: function(builder, data, weight, bias), data)
    expected = expected_of(data.astype(np.float64), values(weight, channel_axis))
    expected = expected + (0 if bias is None else bias)
    np.testing.assert_allclose(output, expected, rtol=1e-4, atol=1e-4)


def check_hybrid(function, shape, expected_of, weight, bias, channel_axis=0):
    """With the integers and scales of each slice, and with or without offsets."""
    integers = data_of(*shape, dtype="int8")
    scales = np.linspace(0.01, 0.02, shape[0], dtype=np.float32)
    offsets = np.arange(shape[0], dtype=np.int32) * 7 - 5
    for given in ([integers, scales, offsets], [integers, scales]):

        def built(builder, integers, scales, offsets=None):
            return function(builder, QuantizedSlices(integers, scales, offsets), weight, bias)

        (output,) = computed(built, *given)
        each = (-1, *[1] * (len(shape) - 1))
        real = integers.astype(np.float64) - (offsets.reshape(each) if len(given) == 3 else 0)
        expected = expected_of(real * scales.reshape(each), values(weight, channel_axis))
        expected = expected + (0 if bias is None else bias)
        np.testing.assert_allclose(output, expected, rtol=1e-4, atol=1e-3)


def windows(data):
    """Parts of the data in the window, and where they are."""
    padded = np.pad(data, ((0, 0), (1, 1), (2, 3), (0, 0)))
    for y, x in np.ndindex(WINDOW.output):
        yield y, x, padded[:, 2 * y : 2 * y + 3, x : x + 3 : 2]


def convolved(data, weight):
    outputs, _, _, depth = weight.shape
    per_group = outputs * depth // data.shape[3]
    result = np.zeros((data.shape[0], *WINDOW.output, outputs))
    for y, x, part in windows(data):
        for c in range(outputs):
            begin = c // per_group * depth
            result[:, y, x, c] = (part[..., begin : begin + depth] * weight[c]).sum((1, 2, 3))
    return result


def convolved_by_channel(data, weight):
    by = weight.shape[2] // data.shape[3]
    result = np.zeros((data.shape[0], *WINDOW.output, weight.shape[2]))
    for y, x, part in windows(data):
        result[:, y, x] = (part.repeat(by, axis=3) * weight).sum((1, 2))
    return result


def transposed(data, weight):
    rows, columns = SIDES
    result = np.zeros((data.shape[0], rows.output, columns.output, weight.shape[0]))
    for y, x, ty, tx in np.ndindex(rows.data, columns.data, rows.kernel, columns.kernel):
        to_y, to_x = y * rows.stride + ty - rows.padding, x * columns.stride + tx - columns.padding
        if 0 <= to_y < rows.output and 0 <= to_x < columns.output:
            result[:, to_y, to_x] += data[:, y, x] @ weight[:, ty, tx].T
    return result


KINDS = ["float16", "one_scale", "unsigned", "scales"]
BIAS = np.array([10, -20, 30, 40], np.float32)


@pytest.mark.parametrize("depth", [4, 2, 1], ids="depth_{}".format)
@pytest.mark.parametrize("channel_first", [False, True])
def test_convolutions(depth, channel_first):
    kind = KINDS[depth - 1]

    def function(builder, *arguments):
        return conv2d(builder, *arguments, WINDOW, channel_first=channel_first)

    weight = weight_of((4, 3, 2, depth), kind, 4)
    check(function, data_of(2, 4, 5, 4), convolved, weight, BIAS if depth > 1 else None)
    if depth > 1:
        weight = weight_of((4, 3, 2, depth), ["scales", "one_scale"][depth // 4], 4)
        weight = StoredWeight(weight.stored, weight.scales)
        check_hybrid(function, (2, 4, 5, 4), convolved, weight, BIAS if depth == 2 else None)


def test_depthwise_convolutions():
    def function(builder, *arguments):
        return depthwise_conv2d(builder, *arguments, WINDOW)

    weight = weight_of((3, 2, 4), "scales", 4)
    check(function, data_of(2, 4, 5, 2), convolved_by_channel, weight, None, 2)
    check_hybrid(function, (2, 4, 5, 4), convolved_by_channel, weight, BIAS, 2)


def test_transposed_convolutions():
    def function(builder, *arguments):
        return transpose_conv2d(builder, *arguments, SIDES)

    weight = weight_of((4, 3, 2, 3), "one_scale", 4)
    check(function, data_of(2, 2, 3, 3), transposed, weight, BIAS)
    check_hybrid(function, (2, 2, 3, 3), transposed, weight_of((4, 3, 2, 3), "scales", 4), None)


@pytest.mark.parametrize("kind", KINDS)
def test_matrices(kind):
    def product(data, weight):
        return data @ weight.T

    weight = weight_of((4, 5), kind, 4)
    check(fully_connected, data_of(3, 5), product, weight, BIAS)
    check(fully_connected, data_of(3, 5), product, weight, None)
    if kind == "scales":
        check_hybrid(fully_connected, (3, 5), product, weight, BIAS)


@pytest.mark.parametrize(
    ("channel_first", "scale", "weight_scale", "expected"),
    [
        (False, 1e-30, 1e-20, 0),
        (False, 1e-30, 3e38, 3e12),
        (True, 1e-30, 3e38, np.inf),
        (True, 1e30, 1e-40, 1e-6),
    ],
)
def test_scales_are_multiplied_in_the_order_of_the_reference(
    channel_first, scale, weight_scale, expected
):
    """The product of both, or the scale of the channel first, may leave the range of float32."""
    window = Window((1, 1), (1, 1), (1, 1), (1, 1), (0, 0), (1, 1))
    stored = np.full((1, 1, 1, 1), 100, np.int8)
    weight = StoredWeight(stored, np.array([weight_scale], np.float32))

    def function(builder, integers, scales):
        slices = QuantizedSlices(integers, scales, None)
        return conv2d(builder, slices, weight, None, window, channel_first=channel_first)

    (output,) = computed(function, stored, np.array([scale], np.float32))
    assert output.item() == pytest.approx(expected, rel=1e-3)


def test_sums_that_do_not_fit_are_refused():
    """Each product is 127 * 255 at most."""
    most = (2**31 - 1) // (127 * 255)

    def build(count):
        types = [relax.TensorType((1, count), "int8"), relax.TensorType((1,), "float32")]
        slices = QuantizedSlices(*(relax.Var("x", ty) for ty in types), None)
        stored = np.full((2, count), 127, np.int8)
        stored[:, ::2] = -127
        builder = relax.BlockBuilder()
        with builder.function("main", [slices.integers, slices.scales]):
            result = fully_connected(builder, slices, StoredWeight(stored, None), None)
            builder.emit_func_output(result)
        return result

    assert [int(extent) for extent in build(most).ty.shape] == [1, 2]
    with pytest.raises(UnsupportedModelError) as caught:
        build(most + 1)
    reached = (most + 1) * 127 * 255
    message = f"its accumulators could reach {reached}, more than 32 bits hold"
    assert str(caught.value) == message
