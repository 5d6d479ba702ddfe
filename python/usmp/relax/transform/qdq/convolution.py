"""Convolutions with constant weights."""

from __future__ import annotations

import numpy as np
from tvm import relax
from tvm.ir import Call

from usmp.ops import quantized
from usmp.ops.emit import shape_of
from usmp.ops.quantized import TransposedSide, Window
from usmp.relax.transform.qdq.graph import Graph, Output
from usmp.relax.transform.qdq.images import (
    CHANNELS_FIRST,
    CHANNELS_LAST,
    image_layout,
    image_shape,
    padding_before,
    pair,
    reshaped,
    to_channels_last,
)
from usmp.relax.transform.qdq.operands import (
    IntegerConstant,
    IntegerTensor,
    integer_constant,
    integers,
)
from usmp.relax.transform.qdq.weights import is_supported, rescale_and_bias, with_bias

_FORWARD, _TRANSPOSED = (
    ("relax.nn.conv1d", "relax.nn.conv2d"),
    ("relax.nn.conv1d_transpose", "relax.nn.conv2d_transpose"),
)


def match_convolution(graph: Graph, expr: relax.Expr, output: Output) -> relax.Expr | None:
    """Match R.nn.conv1d, R.nn.conv2d and transposed ones, with or without an added bias."""
    call, bias = with_bias(graph, expr, *_FORWARD, *_TRANSPOSED)
    if call is None or str(call.attrs.out_dtype or "void") not in ("void", "float32", ""):
        return None
    is_transposed = call.op.name in _TRANSPOSED
    data, weight = integers(graph, call.args[0]), _weight(graph, call)
    layout = image_layout(call.attrs.data_layout, call.attrs.out_layout)
    if data is None or weight is None or layout is None:
        return None
    if not is_supported(weight, data.quantization):
        return None
    axis = str(call.attrs.data_layout).index("C")
    if is_transposed and (int(call.attrs.groups) != 1 or pair(call.attrs.dilation) != (1, 1)):
        return None
    rescale, stored = rescale_and_bias(
        weight, bias, axis, shape_of(call), data.quantization, output
    )
    data_layout = layout
    if layout == CHANNELS_LAST and _are_put_last(data) and not is_transposed:
        data_layout, data = CHANNELS_FIRST, data.without_last_move()
    value = data.emit(graph)
    shape = image_shape(shape_of(value), data_layout)
    out_shape = image_shape(shape_of(call), layout)
    image = reshaped(graph.builder, value, shape)
    values = weight.values
    ends = (data.quantization, rescale, data_layout, weight.quantization)
    if is_transposed:
        sides = _sides(call, values, layout.named(shape), layout.named(out_shape))
        result = quantized.transpose_conv2d(
            graph.builder, image, np.ascontiguousarray(values), stored, sides, *ends
        )
        return reshaped(graph.builder, result, shape_of(call))
    window = _window(call, values, data_layout.named(shape), layout.named(out_shape))
    function = quantized.conv2d
    if values.shape[3] == 1 and int(call.attrs.groups) == data_layout.named(shape)[3]:
        values, function = values[..., 0].transpose(1, 2, 0), quantized.depthwise_conv2d
    stored_weight = np.ascontiguousarray(values)
    result = function(graph.builder, image, stored_weight, stored, window, *ends, layout)
    return reshaped(graph.builder, result, shape_of(call))


def _are_put_last(data: IntegerTensor) -> bool:
    """Return whether the last move of an image puts channels last. A convolution can read the image
    before this move instead."""
    return data.order is not None and list(data.order) == to_channels_last(len(data.order))


def _weight(graph: Graph, call: Call) -> IntegerConstant | None:
    """Return the weights in layout OHWI, with a height of 1 for 1-D convolutions."""
    weight, layout = integer_constant(graph, call.args[1]), str(call.attrs.kernel_layout)
    if weight is None or sorted(layout.replace("H", "")) != ["I", "O", "W"]:
        return None
    ordered = weight.transposed([layout.index(axis) for axis in "OHWI" if axis in layout])
    if "H" in layout:
        return ordered
    # The new axis comes second, so scales along axis 0, the only supported ones, stay valid.
    quantization = ordered.quantization
    return IntegerConstant(ordered.values[:, None], quantization)


def _window(
    call: Call,
    weight: np.ndarray,
    data: tuple[int, int, int, int],
    output: tuple[int, int, int, int],
) -> Window:
    """Return the kernel window; data and output are NHWC extents."""
    _, height, width, _ = weight.shape
    return Window(
        data[1:3],
        (height, width),
        pair(call.attrs.strides),
        pair(call.attrs.dilation),
        padding_before(call.attrs.padding),
        output[1:3],
    )


def _sides(
    call: Call,
    weight: np.ndarray,
    data: tuple[int, int, int, int],
    output: tuple[int, int, int, int],
) -> tuple[TransposedSide, TransposedSide]:
    """Return the geometry of a transposed convolution along rows and along columns.

    `data` and `output` are NHWC extents.
    """
    strides, padding = pair(call.attrs.strides), padding_before(call.attrs.padding)
    rows, columns = (
        TransposedSide(
            data[side + 1], weight.shape[side + 1], strides[side], padding[side], output[side + 1]
        )
        for side in (0, 1)
    )
    return rows, columns
