"""Models of a few operators: what compilers join, and what must not be joined."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from support.tflite_builder import Options, Quantization, options

from .chain import Chain
from .model import (
    Constant,
    QuantizedModel,
    Spec,
    add_input,
    add_tensor,
    int32,
    models,
    random_constant,
)
from .windows import Window

IMAGE = Spec((1, 8, 8, 4), 0.05, -7)
VALID_3 = Window(padding="VALID")
VALID_3_STRIDE_2 = Window(stride=(2, 2), padding="VALID")
POINT = Window((1, 1))


def pad_then_conv(code: str, window: Window, *amounts: tuple[int, int]) -> bytes:
    chain = Chain()
    x = chain.input(IMAGE)
    return chain.finish(chain.conv(chain.pad(x, *amounts), 2, window, code=code))


def pad_used_twice() -> bytes:
    """The padded image is an output, too."""
    chain = Chain()
    padded = chain.pad(chain.input(IMAGE), (1, 1), (1, 1))
    return chain.finish(chain.conv(padded, 3, VALID_3), padded)


def padded_after(made: Callable[[Chain, int], int], *amounts: tuple[int, int]) -> bytes:
    """Zero points behind the batch, rows, columns and channels of what was computed."""
    chain = Chain()
    return chain.finish(chain.pad_all(made(chain, chain.input(IMAGE)), *amounts))


def residual(activation: str, swapped: bool) -> bytes:
    """Two convolutions, and the input of the first added to the result of the second."""
    chain = Chain()
    x = chain.input(IMAGE)
    hidden = chain.conv(x, 6, Window(), 0.05, -128, "RELU")
    branch = chain.conv(hidden, 4, Window())
    operands = (branch, x) if swapped else (x, branch)
    return chain.finish(chain.add(*operands, Spec(IMAGE.shape, 0.07, -20), activation))


def residual_of_itself() -> bytes:
    """x + x, then a convolution added to its own input."""
    chain = Chain()
    x = chain.input(IMAGE)
    double = chain.add(x, x, Spec(IMAGE.shape, 0.1, -7))
    return chain.finish(
        chain.add(chain.conv(double, 4, Window()), double, Spec(IMAGE.shape, 0.12, -7))
    )


def separable() -> bytes:
    """Depthwise and pointwise convolutions, as MobileNet has them."""
    chain = Chain()
    x = chain.conv(chain.input(IMAGE), 6, Window(stride=(2, 2)), 6 / 255, -128, "RELU6")
    x = chain.conv(x, 1, Window(), 6 / 255, -128, "RELU6", "DEPTHWISE_CONV_2D")
    return chain.finish(chain.conv(x, 8, POINT, 6 / 255, -128, "RELU6"))


def inverted_bottleneck() -> bytes:
    """Expand, filter, project, add: a block of MobileNetV2."""
    chain = Chain()
    x = chain.input(IMAGE)
    wide = chain.conv(x, 10, POINT, 6 / 255, -128, "RELU6")
    wide = chain.conv(wide, 1, Window(), 6 / 255, -128, "RELU6", "DEPTHWISE_CONV_2D")
    return chain.finish(chain.add(chain.conv(wide, 4, POINT), x, Spec(IMAGE.shape, 0.08, 5)))


def classifier() -> bytes:
    """Convolution, pools, reshape, matrix product, softmax."""
    chain = Chain()
    x = chain.conv(chain.input(IMAGE), 5, Window(), 0.05, -128, "RELU")
    x = chain.pool("MAX_POOL_2D", x, Window((2, 2), (2, 2)))
    x = chain.pool("AVERAGE_POOL_2D", x, Window((4, 4), padding="VALID"))
    return chain.finish(chain.softmax(chain.fully_connected(chain.reshape(x, 1, 5), 7)))


def global_mean() -> bytes:
    """MEAN instead of a pool, with another scale."""
    chain = Chain()
    x = chain.conv(chain.input(IMAGE), 6, Window(), 0.05, 0)
    table = options("ReducerOptions", keep_dims=False)
    x = chain.apply("MEAN", [x, int32(1, 2)], Spec((1, 6), 0.01, 4), table)
    return chain.finish(chain.fully_connected(x, 3))


def inception() -> bytes:
    """Branches of one input, joined along channels."""
    chain = Chain()
    x = chain.input(IMAGE)
    branches = [
        chain.conv(x, 3, POINT),
        chain.conv(x, 2, Window()),
        chain.conv(x, 4, Window((1, 5))),
    ]
    y = Spec((1, 8, 8, 9), 0.06, 3)
    table = options("ConcatenationOptions", axis=3)
    joined = chain.apply("CONCATENATION", branches, y, table)
    return chain.finish(chain.conv(joined, 2, POINT))


def joined_twice() -> bytes:
    """One tensor in two concatenations, and beside itself."""
    chain = Chain()
    x = chain.input(IMAGE(1, 2, 3, 4))
    table = options("ConcatenationOptions", axis=3)
    once = chain.apply("CONCATENATION", [x, x], IMAGE(1, 2, 3, 8), table)
    return chain.finish(chain.apply("CONCATENATION", [once, x], IMAGE(1, 2, 3, 12), table))


def split_and_join() -> bytes:
    """Halves of the channels take different ways and change places."""
    chain = Chain()
    x = chain.input(IMAGE)
    halves = [add_tensor(chain.graph, IMAGE(1, 8, 8, 2)) for _ in range(2)]
    chain.specs.update(dict.fromkeys(halves, IMAGE(1, 8, 8, 2)))
    axis = add_input(chain.graph, int32(3))
    chain.graph.operator("SPLIT", [axis, x], halves, options("SplitOptions", num_splits=2))
    left = chain.conv(halves[0], 2, Window(), IMAGE.scale, IMAGE.zero_point)
    table = options("ConcatenationOptions", axis=3)
    return chain.finish(chain.apply("CONCATENATION", [halves[1], left], IMAGE, table))


def requantized_residual() -> bytes:
    """QUANTIZE between a convolution and what adds it."""
    chain = Chain()
    x = chain.input(IMAGE)
    branch = chain.conv(x, 4, POINT, 0.09, 20)
    branch = chain.apply("QUANTIZE", [branch], Spec(IMAGE.shape, 0.05, -5), None)
    return chain.finish(chain.add(branch, x, Spec(IMAGE.shape, 0.08, 5), "RELU"))


def from_float_to_float() -> bytes:
    """QUANTIZE at the input, DEQUANTIZE at the output."""
    chain = Chain()
    x = chain.input(Spec(IMAGE.shape, 0, 0, "float32"))
    x = chain.conv(chain.apply("QUANTIZE", [x], Spec(IMAGE.shape, 0.03, 3)), 3, VALID_3)
    y = Spec(chain.specs[x].shape, 0, 0, "float32")
    return chain.finish(chain.apply("DEQUANTIZE", [x], y))


def activation_after_conv(
    code: str,
    y: Spec,
    table: Options | None,
    conv: str = "CONV_2D",
    window: Window | None = None,
) -> bytes:
    """An activation that the convolution does not have."""
    chain = Chain()
    channels = 1 if conv == "DEPTHWISE_CONV_2D" else 4
    x = chain.conv(chain.input(IMAGE), channels, window or Window(), 0.05, 0, code=conv)
    return chain.finish(chain.apply(code, [x], y, table))


def activation_after_groups(channels: int) -> bytes:
    chain = Chain()
    x = chain.input(Spec((1, 7, 6, channels), 0.05, -1))
    weights = random_constant(Spec((8, 3, 3, channels // 2), 0.01, 0))
    bias = Constant(np.arange(-400, 400, 100, dtype=np.int32), Quantization((0.05 * 0.01,), (0,)))
    table = options("Conv2DOptions", stride_h=1, stride_w=1)
    made = chain.apply("CONV_2D", [x, weights, bias], Spec((1, 7, 6, 8), 0.05, 3), table)
    return chain.finish(chain.apply("LEAKY_RELU", [made], Spec((1, 7, 6, 8), 0.04, -90), SLOPE))


def activation_after_dense() -> bytes:
    chain = Chain()
    made = chain.fully_connected(chain.input(Spec((3, 20), 0.05, -1)), 24)
    return chain.finish(chain.apply("LEAKY_RELU", [made], Spec((3, 24), 0.07, -90), SLOPE))


def swish() -> bytes:
    """x * sigmoid(x) of what a convolution computes, read by a convolution and by a mean."""
    chain = Chain()
    x = chain.conv(chain.input(IMAGE), 6, Window(), 0.05, 10)
    spec = chain.specs[x]
    gate = chain.apply("LOGISTIC", [x], Spec(spec.shape, 1 / 256, -128))
    y = chain.apply("MUL", [x, gate], Spec(spec.shape, 0.03, -110), options("MulOptions"))
    table = options("ReducerOptions", keep_dims=True)
    mean = chain.apply("MEAN", [y, int32(1, 2)], Spec((1, 1, 1, 6), 0.02, -100), table)
    return chain.finish(chain.conv(y, 3, POINT), mean)


def gated() -> bytes:
    """x * sigmoid(conv(x)): squeeze and excite without the squeeze."""
    chain = Chain()
    x = chain.input(IMAGE)
    gate = chain.conv(x, 4, POINT)
    gate = chain.apply("LOGISTIC", [gate], Spec(IMAGE.shape, 1 / 256, -128))
    table = options("MulOptions")
    return chain.finish(chain.apply("MUL", [x, gate], Spec(IMAGE.shape, 0.04, -7), table))


def turned() -> bytes:
    """Transpose, reshape, matrix product: channels first, then flat."""
    chain = Chain()
    x = chain.input(IMAGE(1, 3, 4, 5))
    x = chain.apply("TRANSPOSE", [x, int32(0, 3, 1, 2)], IMAGE(1, 5, 3, 4))
    return chain.finish(chain.fully_connected(chain.reshape(x, 1, 60), 6))


def reshaped_input_and_output() -> bytes:
    """Views at both ends of a model, and the input itself as an output."""
    chain = Chain()
    x = chain.input(IMAGE(1, 4, 6))
    y = chain.conv(chain.reshape(x, 1, 4, 6, 1), 3, Window())
    return chain.finish(chain.reshape(y, 72), y)


def detection_head() -> bytes:
    """Boxes and scores from two scales of one image, joined, as floats."""
    chain = Chain()
    fine = chain.conv(chain.input(IMAGE), 6, Window(), 0.05, -128, "RELU")
    coarse = chain.conv(fine, 6, Window(stride=(2, 2)), 0.05, -128, "RELU")
    outputs = []
    for columns in (4, 3):
        parts = []
        for features, anchors in ((fine, 2), (coarse, 3)):
            x = chain.conv(features, anchors * columns, Window(), 0.07, 5)
            count = chain.specs[features].shape[1] * chain.specs[features].shape[2] * anchors
            parts.append(chain.reshape(x, 1, count, columns))
        rows = sum(chain.specs[part].shape[1] for part in parts)
        spec = Spec((1, rows, columns), 0.07, 5)
        table = options("ConcatenationOptions", axis=1)
        joined = chain.apply("CONCATENATION", parts, spec, table)
        if columns == 3:
            joined = chain.apply("LOGISTIC", [joined], Spec(spec.shape, 1 / 256, -128))
        y = Spec(spec.shape, 0, 0, "float32")
        outputs.append(chain.apply("DEQUANTIZE", [joined], y))
    return chain.finish(*outputs)


def attention() -> bytes:
    """Softmax of the products of rows, times the rows."""
    chain = Chain()
    x = chain.input(Spec((2, 5, 8), 0.05, -7))
    table = options("BatchMatMulOptions", adj_y=True)
    scores = chain.apply("BATCH_MATMUL", [x, x], Spec((2, 5, 5), 0.9, -50), table)
    weights = chain.softmax(scores)
    table = options("BatchMatMulOptions")
    return chain.finish(
        chain.apply("BATCH_MATMUL", [weights, x], Spec((2, 5, 8), 0.045, -7), table)
    )


def product_of_activations() -> bytes:
    """A FULLY_CONNECTED whose weights are computed."""
    chain = Chain()
    x, weights = chain.input(Spec((3, 8), 0.05, -7)), chain.input(Spec((5, 8), 0.02, 0))
    table = options("FullyConnectedOptions")
    return chain.finish(
        chain.apply("FULLY_CONNECTED", [x, weights, None], Spec((3, 5), 0.25, 3), table)
    )


def chosen_row() -> bytes:
    """ARG_MAX, then a GATHER at a position that is computed."""
    chain = Chain()
    x = chain.input(Spec((6,), 0.05, -7))
    table = options("ArgMaxOptions", output_type=2)
    best = chain.apply("ARG_MAX", [x, int32(0)], Spec((), 0, 0, "int32"), table)
    rows = random_constant(Spec((6, 5), 0.1, 4))
    return chain.finish(
        chain.apply("GATHER", [rows, best], Spec((5,), 0.1, 4), options("GatherOptions", axis=0))
    )


SLOPE = options("LeakyReluOptions", alpha=0.1)
SUM_OPTIONS = options("ReducerOptions", keep_dims=True)
COMPUTED: dict[str, Callable[[Chain, int], int]] = {
    "conv": lambda chain, x: chain.conv(x, 6, Window()),
    "conv_1x1": lambda chain, x: chain.conv(x, 8, POINT),
    "conv_valid": lambda chain, x: chain.conv(x, 5, VALID_3),
    "depthwise": lambda chain, x: chain.conv(x, 1, VALID_3, code="DEPTHWISE_CONV_2D"),
    "multiplier_2": lambda chain, x: chain.conv(x, 2, Window(), code="DEPTHWISE_CONV_2D"),
    "max_pool": lambda chain, x: chain.pool("MAX_POOL_2D", x, Window((2, 2), (2, 2))),
    "average_pool": lambda chain, x: chain.pool("AVERAGE_POOL_2D", x, Window((3, 3), (2, 2))),
    "mean": lambda chain, x: chain.apply(
        "MEAN", [x, int32(1, 2)], Spec((1, 1, 1, 4), 0.01, 4), SUM_OPTIONS
    ),
    "fully_connected": lambda chain, x: chain.fully_connected(chain.reshape(x, 1, 256), 9),
}
"""What is padded in `PADDED`."""

_EACH_AXIS = ((0, 1), (0, 2), (0, 1), (0, 4))
_CHANNELS = ((0, 0), (0, 0), (0, 0), (0, 3))
PADDED = {
    **{
        f"{name}_padded": (padded_after, (made, *_EACH_AXIS))
        for name, made in COMPUTED.items()
        if name != "fully_connected"
    },
    "conv_padded_pixels": (padded_after, (COMPUTED["conv"], (0, 0), (0, 1), (0, 2), (0, 0))),
    "conv_padded_channels": (padded_after, (COMPUTED["conv"], *_CHANNELS)),
    "max_pool_padded_channels": (padded_after, (COMPUTED["max_pool"], *_CHANNELS)),
    "fully_connected_padded": (padded_after, (COMPUTED["fully_connected"], (0, 2), (0, 3))),
}
"""Padding behind what it pads can be computed with it: its elements have no sum of their own."""

CALLS = {
    **PADDED,
    "pad_conv": (pad_then_conv, ("CONV_2D", VALID_3, (1, 1), (1, 1))),
    "pad_conv_stride_2": (pad_then_conv, ("CONV_2D", VALID_3_STRIDE_2, (0, 1), (0, 1))),
    "pad_conv_same": (pad_then_conv, ("CONV_2D", Window(), (1, 0), (2, 1))),
    "pad_conv_far": (pad_then_conv, ("CONV_2D", VALID_3, (5, 4), (0, 6))),
    "pad_depthwise": (pad_then_conv, ("DEPTHWISE_CONV_2D", VALID_3, (1, 1), (1, 1))),
    "pad_depthwise_stride_2": (
        pad_then_conv,
        ("DEPTHWISE_CONV_2D", VALID_3_STRIDE_2, (0, 1), (0, 1)),
    ),
    "pad_used_twice": (pad_used_twice, ()),
    "residual": (residual, ("NONE", False)),
    "residual_swapped_relu": (residual, ("RELU", True)),
    "residual_of_itself": (residual_of_itself, ()),
    "separable": (separable, ()),
    "inverted_bottleneck": (inverted_bottleneck, ()),
    "classifier": (classifier, ()),
    "global_mean": (global_mean, ()),
    "inception": (inception, ()),
    "joined_twice": (joined_twice, ()),
    "split_and_join": (split_and_join, ()),
    "requantized_residual": (requantized_residual, ()),
    "from_float_to_float": (from_float_to_float, ()),
    "conv_leaky_relu": (
        activation_after_conv,
        ("LEAKY_RELU", Spec(IMAGE.shape, 0.04, -90), SLOPE),
    ),
    "conv_dilation_leaky_relu": (
        activation_after_conv,
        (
            "LEAKY_RELU",
            Spec(IMAGE.shape, 0.04, -90),
            SLOPE,
            "CONV_2D",
            Window(dilation=(1, 2)),
        ),
    ),
    "conv_hard_swish": (
        activation_after_conv,
        ("HARD_SWISH", Spec(IMAGE.shape, 0.03, -110), options("HardSwishOptions")),
    ),
    "depthwise_hard_swish": (
        activation_after_conv,
        (
            "HARD_SWISH",
            Spec(IMAGE.shape, 0.03, -110),
            options("HardSwishOptions"),
            "DEPTHWISE_CONV_2D",
        ),
    ),
    "conv_1x1_quantize": (
        activation_after_conv,
        ("QUANTIZE", Spec(IMAGE.shape, 0.04, 7), None, "CONV_2D", POINT),
    ),
    "groups_leaky_relu": (activation_after_groups, (12,)),
    "wide_groups_leaky_relu": (activation_after_groups, (240,)),
    "dense_leaky_relu": (activation_after_dense, ()),
    "conv_tanh": (activation_after_conv, ("TANH", Spec(IMAGE.shape, 1 / 128, 0), None)),
    "detection_head": (detection_head, ()),
    "attention": (attention, ()),
    "product_of_activations": (product_of_activations, ()),
    "chosen_row": (chosen_row, ()),
    "gated": (gated, ()),
    "swish": (swish, ()),
    "turned": (turned, ()),
    "reshaped_input_and_output": (reshaped_input_and_output, ()),
}


def _made(make: Callable[..., bytes], arguments: tuple) -> bytes:
    return make(*arguments)


MODELS: list[QuantizedModel] = models("sequence", _made, CALLS)
