"""Padding that a convolution takes over, and padding that stays an operator."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import usmp
from support.micro import assert_equals_micro
from support.tflite_builder import Graph, options, per_channel, per_tensor, write_model
from usmp.frontend.tflite.importer import import_tflite

pytestmark = pytest.mark.slow

SHAPE = (1, 7, 6, 4)
SIDES = ((0, 0), (1, 1), (1, 1), (0, 0))
UNEVEN = ((0, 0), (2, 0), (0, 3), (0, 0))
ZERO_POINT = 5


def padded_model(
    code: str = "CONV_2D",
    paddings: Sequence[tuple[int, int]] = SIDES,
    value: int | None = None,
    padding: int = 1,
    stride: int = 1,
    dilation: int = 1,
    returned: bool = False,
) -> bytes:
    """PAD or PADV2 before an operator with a 3 x 3 kernel, whose `padding` is SAME or VALID."""
    graph, generator = Graph(), np.random.default_rng(0)
    quantization = per_tensor(0.05, ZERO_POINT)
    x = graph.input(SHAPE, "int8", quantization)
    extents = [e + sum(pair) for e, pair in zip(SHAPE, paddings, strict=True)]
    y = graph.tensor(extents, "int8", quantization)
    amounts = graph.constant(np.array(paddings, np.int32))
    if value is None:
        graph.operator("PAD", [x, amounts], [y])
    else:
        constant = graph.constant(np.array(value, np.int8), quantization)
        graph.operator("PADV2", [x, amounts, constant], [y])
    reach = 2 * dilation if padding == 1 else 0
    shape = (1, *(-(-(extent - reach) // stride) for extent in extents[1:3]), extents[3])
    window = {"padding": padding, "stride_h": stride, "stride_w": stride}
    if code == "MAX_POOL_2D":
        z = graph.tensor(shape, "int8", quantization)
        table = options("Pool2DOptions", filter_height=3, filter_width=3, **window)
        graph.operator(code, [y], [z], table)
    else:
        depthwise = code == "DEPTHWISE_CONV_2D"
        form = (1, 3, 3, extents[3]) if depthwise else (extents[3], 3, 3, extents[3])
        weight = generator.integers(-127, 128, form).astype(np.int8)
        scales = per_channel(generator.uniform(0.005, 0.01, extents[3]), 3 if depthwise else 0)
        window |= {"dilation_h_factor": dilation, "dilation_w_factor": dilation}
        z = graph.tensor(shape, "int8", per_tensor(0.1, -3))
        extra = {"depth_multiplier": 1} if depthwise else {}
        table = "DepthwiseConv2DOptions" if depthwise else "Conv2DOptions"
        bias = graph.constant(np.arange(extents[3], dtype=np.int32))
        inputs = [y, graph.constant(weight, scales), bias]
        graph.operator(code, inputs, [z], options(table, **window, **extra))
    graph.output(z, *[y] * returned)
    return write_model(graph)


FOLDED = {
    "convolution": padded_model(),
    "depthwise": padded_model("DEPTHWISE_CONV_2D"),
    "uneven_stride_2": padded_model(paddings=UNEVEN, stride=2),
    "same_besides": padded_model(paddings=UNEVEN, padding=0),
    "dilated": padded_model("DEPTHWISE_CONV_2D", dilation=2),
    "more_than_the_kernel": padded_model(paddings=((0, 0), (5, 4), (4, 6), (0, 0))),
    "value_is_zero_point": padded_model(value=ZERO_POINT),
}
LEFT = {
    "channels": padded_model(paddings=((0, 0), (1, 1), (1, 1), (0, 2))),
    "another_value": padded_model(value=ZERO_POINT + 1),
    "read_twice": padded_model(returned=True),
    "pooling": padded_model("MAX_POOL_2D"),
}


@pytest.mark.models
@pytest.mark.parametrize("name", FOLDED)
def test_padding_becomes_part_of_the_convolution(name):
    factory = usmp.build(import_tflite(FOLDED[name]))
    assert "_pad(" not in factory.source
    assert [b for b in factory.memory_plan.buffers if "pad" in str(b.name)] == []
    assert_equals_micro(factory, FOLDED[name], runs=10)


@pytest.mark.models
@pytest.mark.parametrize("name", LEFT)
def test_padding_stays(name):
    factory = usmp.build(import_tflite(LEFT[name]))
    assert "_pad(" in factory.source
    assert_equals_micro(factory, LEFT[name], runs=10)
