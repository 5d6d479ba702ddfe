"""Zeros around images as padding of the convolutions that read them."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax

from support.qdq_models import calls_of, inputs_of, qdq_module, raw_calls_of
from usmp.relax.transform import ConvertQDQToIntegers, FoldPadding


def padding_of(mod):
    """The padding of each convolution in `main`."""
    calls = [call for call in raw_calls_of(mod) if call.op.name.startswith("relax.nn.conv")]
    return [[int(width) for width in call.attrs.padding] for call in calls]


def pad_widths(layout, widths):
    """What R.nn.pad takes for (before, after) of axes by their letters."""
    return [width for axis in layout for width in widths.get(axis, (0, 0))]


@pytest.mark.parametrize(
    ("layout", "kernel_layout", "own", "folded"),
    [
        ("NCHW", "OIHW", [1, 0, 0, 1], [2, 1, 2, 1]),
        ("NHWC", "HWIO", [0, 0, 1, 0], [1, 1, 3, 0]),
    ],
)
def test_padding_is_added_to_that_of_the_convolution(
    model, expected, random_array, layout, kernel_layout, own, folded
):
    extents = {"N": 1, "C": 3, "H": 6, "W": 5, "O": 4, "I": 3}
    extents_of_weight = {**extents, "H": 4, "W": 3}
    shape = [extents[axis] for axis in layout]
    weight_shape = [extents_of_weight[axis] for axis in kernel_layout]

    def body(builder, x, w):
        padded = builder.emit(relax.op.nn.pad(x, pad_widths(layout, {"H": (1, 2), "W": (1, 0)})))
        return relax.op.nn.conv2d(
            padded, w, 1, own, data_layout=layout, kernel_layout=kernel_layout
        )

    before = model(body, ("x", shape, "float32"), ("w", weight_shape, "float32"))
    after = FoldPadding()(before)
    assert (calls_of(after), padding_of(after)) == (["conv2d"], [folded])
    arrays = random_array(*shape), random_array(*weight_shape)
    # Both add up in the same order.
    np.testing.assert_array_equal(expected(after, *arrays), expected(before, *arrays), strict=True)


def test_images_that_were_padded_twice_and_are_read_twice(model):
    def body(builder, x, w):
        for widths in ([0, 0, 0, 0, 1, 0], [0, 0, 0, 0, 1, 2]):
            x = builder.emit(relax.op.nn.pad(x, widths))
        first = builder.emit(relax.op.nn.conv1d(x, w))
        second = builder.emit(relax.op.nn.conv1d(x, w, dilation=2))
        return relax.op.concat([first, second], 2)

    after = FoldPadding()(model(body, ("x", (1, 2, 9), "float32"), ("w", (3, 2, 4), "float32")))
    assert calls_of(after) == ["conv1d", "conv1d", "concat"]
    assert padding_of(after) == [[2, 2], [2, 2]]


STAY = {
    "other numbers": lambda x: relax.op.nn.pad(x, [0, 0, 0, 0, 1, 1], "constant", 1.0),
    "mirrored": lambda x: relax.op.nn.pad(x, [0, 0, 0, 0, 1, 1], "reflect"),
    "channels": lambda x: relax.op.nn.pad(x, [0, 0, 0, 1, 1, 1]),
    "more than the kernel covers": lambda x: relax.op.nn.pad(x, [0, 0, 0, 0, 0, 4]),
}


@pytest.mark.parametrize("name", STAY)
def test_other_padding_stays(model, name):
    channels = 3 if name == "channels" else 2
    before = model(
        lambda builder, x, w: relax.op.nn.conv1d(builder.emit(STAY[name](x)), w),
        ("x", (1, 2, 9), "float32"),
        ("w", (3, channels, 4), "float32"),
    )
    assert FoldPadding()(before).same_as(before)


@pytest.mark.parametrize("reader", ["output", "weight", "another operator"])
def test_what_others_read_stays(model, reader):
    def body(builder, x, w):
        padded = builder.emit(relax.op.nn.pad(x, [0, 0, 0, 0, 1, 1]))
        data = x if reader == "weight" else padded
        y = builder.emit(relax.op.nn.conv1d(data, padded if reader == "weight" else w))
        if reader == "another operator":
            padded = builder.emit(relax.op.nn.relu(padded))
        return relax.Tuple([y, padded] if reader != "weight" else [y, x])

    before = model(body, ("x", (4, 2, 5), "float32"), ("w", (3, 2, 4), "float32"))
    assert FoldPadding()(before).same_as(before)


def quantized_module(zero_point, out_dtype="int8"):
    """A padded image that is quantized again, and a convolution of it."""
    weight = np.arange(-12, 12, dtype="int8").reshape(3, 2, 4)

    def body(graph, x):
        image = graph.dequantize(x, 0.1, -3)
        padded = graph.emit(relax.op.nn.pad(image, [0, 0, 0, 0, 3, 1]))
        integers = graph.quantize(padded, 0.1, zero_point, out_dtype)
        again = graph.dequantize(integers, 0.1, zero_point, out_dtype)
        return graph.quantize(
            graph.emit(relax.op.nn.conv1d(again, graph.dequantize(weight, 0.01, 0)))
        )

    return qdq_module(body, ((1, 2, 9), "int8"))


@pytest.mark.slow
def test_quantized_padding_at_the_scale_of_its_image(expected):
    before = quantized_module(-3)
    after = FoldPadding()(before)
    assert calls_of(after) == ["dequantize", "dequantize", "conv1d", "quantize"]
    assert padding_of(after) == [[3, 1]]
    inputs = inputs_of(before).values()
    np.testing.assert_array_equal(expected(after, *inputs), expected(before, *inputs), strict=True)
    assert "pad" not in calls_of(ConvertQDQToIntegers()(after))


@pytest.mark.parametrize(("zero_point", "dtype"), [(-4, "int8"), (3, "uint8")])
def test_quantized_padding_at_another_scale_stays(zero_point, dtype):
    before = quantized_module(zero_point, dtype)
    assert FoldPadding()(before).same_as(before)
