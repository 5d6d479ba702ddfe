"""Operators with windows and matrices: convolutions, pooling, products, resizing."""

from __future__ import annotations

import math

import numpy as np

from support.operator_trials.tflite.draw import QUANTIZED, Draft, Draw, Model
from support.operator_trials.tflite.elementwise import activation
from support.operator_trials.trial import Tolerance
from support.quantized_models.fully_connected import _largest_output
from support.quantized_models.model import PADDINGS, Constant, Spec, int32
from support.quantized_models.weights import (
    INT4,
    INT8,
    INT16,
    INT16_BIAS32,
    INT16_NO_BIAS,
    NO_BIAS,
    UINT8,
    Weights,
    weights_and_bias,
)
from support.quantized_models.windows import Window
from support.tflite_builder import Options, options

_SUMS = Tolerance(1e-5, 1e-5)
_SCHEMES = {
    "int8": (INT8, NO_BIAS, INT4),
    "int16": (INT16, INT16_BIAS32, INT16_NO_BIAS),
    "uint8": (UINT8,),
}


def window(draw: Draw, most: int = 4) -> Window:
    kernel, stride = (
        (draw.number(1, most), draw.number(1, most)),
        (draw.number(1, 3), draw.number(1, 3)),
    )
    dilation = (1, 1)
    if draw.flag(0.3):
        dilation = (draw.number(1, 3), draw.number(1, 3))
    return Window(kernel, stride, dilation, draw.choice(("SAME", "VALID")))


def sliding(table: str, at: Window, activation: int, **fields: int) -> Options:
    """The options of an operator with a window."""
    return options(
        table,
        padding=PADDINGS[at.padding],
        stride_h=at.stride[0],
        stride_w=at.stride[1],
        fused_activation_function=activation,
        **fields,
    )


def dilations(at: Window) -> dict[str, int]:
    """More options of a convolution."""
    return {"dilation_h_factor": at.dilation[0], "dilation_w_factor": at.dilation[1]}


def image(draw: Draw, of: Window, channels: int) -> tuple[int, int, int, int]:
    """The shape of an image that is at least as large as the window where nothing pads it."""
    reach = [(of.kernel[axis] - 1) * of.dilation[axis] for axis in (0, 1)]
    low = reach if of.padding == "VALID" else [0, 0]
    return (
        draw.number(1, 2),
        low[0] + draw.number(1, 6),
        low[1] + draw.number(1, 6),
        channels,
    )


def weights(
    draw: Draw, shape: tuple[int, ...], axis: int, taps: int, x: Spec, y: Spec
) -> list[Constant | None]:
    """Weights, and a bias or nothing, that go with the data."""
    if x.dtype == "float32":
        data = draw.generator.standard_normal(shape).astype(np.float32)
        bias = draw.generator.standard_normal(shape[axis]).astype(np.float32)
        return [Constant(data), Constant(bias) if draw.flag(0.7) else None]
    scheme = draw.choice(_SCHEMES[x.dtype])
    how = Weights(scheme, per_channel=x.dtype != "uint8" and draw.flag(0.7))
    return list(weights_and_bias(draw.generator, how, shape, axis, taps, x, y))


def of_data(draw: Draw) -> str:
    return draw.dtype(("float32", *QUANTIZED))


def conv_2d(draw: Draw) -> Model:
    at, dtype = window(draw), of_data(draw)
    groups, depth, channels = draw.choice((1, 1, 1, 2)), draw.number(1, 4), draw.number(1, 4)
    x = draw.spec(image(draw, at, depth * groups), dtype)
    y = draw.spec((x.shape[0], *at.output(*x.shape[1:3]), channels * groups), dtype)
    taps = depth * math.prod(at.kernel)
    constants = weights(draw, (channels * groups, *at.kernel, depth), 0, taps, x, y)
    table = sliding("Conv2DOptions", at, activation(draw), **dilations(at))
    return Model([x, *(c for c in constants if c)], [y], table, tolerance=_SUMS)


def depthwise_conv_2d(draw: Draw) -> Model:
    at, dtype = window(draw), of_data(draw)
    depth, multiplier = draw.number(1, 4), draw.number(1, 3)
    x = draw.spec(image(draw, at, depth), dtype)
    y = draw.spec((x.shape[0], *at.output(*x.shape[1:3]), depth * multiplier), dtype)
    shape = (1, *at.kernel, depth * multiplier)
    constants = weights(draw, shape, 3, math.prod(at.kernel), x, y)
    table = sliding(
        "DepthwiseConv2DOptions", at, activation(draw), **dilations(at), depth_multiplier=multiplier
    )
    return Model([x, *(c for c in constants if c)], [y], table, tolerance=_SUMS)


def transpose_conv(draw: Draw) -> Model:
    at, dtype = window(draw), of_data(draw)
    at = Window(at.kernel, at.stride, (1, 1), at.padding)
    depth, channels = draw.number(1, 4), draw.number(1, 4)
    x = draw.spec((1, draw.number(1, 5), draw.number(1, 5), depth), dtype)
    y = draw.spec((1, *_largest_output(at, *x.shape[1:3]), channels), dtype)
    taps = depth * math.prod(-(-at.kernel[i] // at.stride[i]) for i in (0, 1))
    constants = weights(draw, (channels, *at.kernel, depth), 0, taps, x, y)
    table = sliding("TransposeConvOptions", at, activation(draw))
    inputs = [int32(*y.shape), constants[0], x, *([constants[1]] if constants[1] else [])]
    return Model(inputs, [y], table, tolerance=_SUMS)


def conv_3d(draw: Draw) -> Model:
    kernel = tuple(draw.number(1, 3) for _ in range(3))
    stride = tuple(draw.number(1, 2) for _ in range(3))
    dilation = tuple(draw.number(1, 2) if draw.flag(0.3) else 1 for _ in range(3))
    padding = draw.choice(("SAME", "VALID"))
    depth, channels = draw.number(1, 3), draw.number(1, 3)
    reach = [(k - 1) * d for k, d in zip(kernel, dilation, strict=True)]
    extents = [(r if padding == "VALID" else 0) + draw.number(1, 4) for r in reach]
    rooms = [e - (r if padding == "VALID" else 0) for e, r in zip(extents, reach, strict=True)]
    batch = draw.number(1, 2)
    x = Spec((batch, *extents, depth), 0, 0, "float32")
    sizes = [-(-room // s) for room, s in zip(rooms, stride, strict=True)]
    y = Spec((batch, *sizes, channels), 0, 0, "float32")
    data = draw.generator.standard_normal((*kernel, depth, channels)).astype(np.float32)
    inputs: list[Spec | Constant] = [x, Constant(data)]
    if draw.flag():
        inputs.append(Constant(draw.generator.standard_normal(channels).astype(np.float32)))
    table = options(
        "Conv3DOptions",
        padding=PADDINGS[padding],
        stride_d=stride[0],
        stride_h=stride[1],
        stride_w=stride[2],
        dilation_d_factor=dilation[0],
        dilation_h_factor=dilation[1],
        dilation_w_factor=dilation[2],
        fused_activation_function=activation(draw),
    )
    return Model(inputs, [y], table, tolerance=_SUMS)


def pool(code: str) -> Draft:
    def draft(draw: Draw) -> Model:
        at, dtype = window(draw), draw.dtype()
        at = Window(at.kernel, at.stride, (1, 1), at.padding)
        x = draw.spec(image(draw, at, draw.number(1, 4)), dtype)
        y = x(x.shape[0], *at.output(*x.shape[1:3]), x.shape[3])
        kernel = {"filter_height": at.kernel[0], "filter_width": at.kernel[1]}
        table = sliding("Pool2DOptions", at, activation(draw), **kernel)
        return Model([x], [y], table, tolerance=_SUMS)

    return draft


def fully_connected(draw: Draw) -> Model:
    dtype = of_data(draw)
    shape, channels = draw.shape(1, 4, 5), draw.number(1, 6)
    depth = shape[-1]
    if draw.flag(0.3):
        depth = math.prod(shape[draw.number(0, len(shape) - 1) :])
    keep = depth == shape[-1] and draw.flag()
    x = draw.spec(shape, dtype)
    rows = math.prod(shape) // depth
    before = shape[:-1] if keep else (rows,)
    if dtype in ("float32", "int16") and draw.flag(0.3):
        # tflite-micro takes the shape from the file, also with more or fewer axes.
        before = draw.choice(((1, rows), (rows, 1, 1), () if rows == 1 else (rows,)))
    y = draw.spec((*before, channels), dtype)
    constants = weights(draw, (channels, depth), 0, depth, x, y)
    inputs = [x, *constants]
    if dtype == "float32" and draw.flag(0.2):
        inputs[1] = Spec((channels, depth), 0, 0, dtype)
    if inputs[2] is None and draw.flag():
        inputs.pop()
    table = options(
        "FullyConnectedOptions",
        fused_activation_function=activation(draw),
        keep_num_dims=keep,
    )
    return Model(inputs, [y], table, tolerance=_SUMS)


def batch_matmul(draw: Draw) -> Model:
    dtype = draw.dtype(("float32", "int8", "int16", "int32"))
    batches = draw.broadcast((0, 3)) if draw.flag(0.7) else [()] * 2
    rows, inner, columns = (draw.number(1, 5) for _ in range(3))
    adjoint = draw.flag(), draw.flag()
    a = (*batches[0], *((inner, rows) if adjoint[0] else (rows, inner)))
    b = (*batches[1], *((columns, inner) if adjoint[1] else (inner, columns)))
    y = draw.spec((*np.broadcast_shapes(*batches), rows, columns), dtype)
    second = draw.spec(b, dtype)
    if dtype == "int16" and draw.flag(0.4):
        second = Spec(b, second.scale, 0, "int8")
    given = draw.constant(second) if draw.flag(0.3) else second
    table = options("BatchMatMulOptions", adj_x=adjoint[0], adj_y=adjoint[1])
    return Model([draw.spec(a, dtype), given], [y], table, tolerance=_SUMS)


def resize(code: str) -> Draft:
    def draft(draw: Draw) -> Model:
        x = draw.spec(tuple(draw.number(1, 5) for _ in range(4)), draw.dtype())
        size = (draw.number(1, 9), draw.number(1, 9))
        tables = {
            "RESIZE_BILINEAR": "ResizeBilinearOptions",
            "RESIZE_NEAREST_NEIGHBOR": "ResizeNearestNeighborOptions",
        }
        corners = draw.flag()
        centers = not corners and draw.flag()
        table = options(tables[code], align_corners=corners, half_pixel_centers=centers)
        return Model([x, int32(*size)], [x(x.shape[0], *size, x.shape[3])], table)

    return draft


DRAFTS: dict[str, Draft] = {
    "AVERAGE_POOL_2D": pool("AVERAGE_POOL_2D"),
    "BATCH_MATMUL": batch_matmul,
    "CONV_2D": conv_2d,
    "CONV_3D": conv_3d,
    "DEPTHWISE_CONV_2D": depthwise_conv_2d,
    "FULLY_CONNECTED": fully_connected,
    "L2_POOL_2D": pool("L2_POOL_2D"),
    "MAX_POOL_2D": pool("MAX_POOL_2D"),
    "RESIZE_BILINEAR": resize("RESIZE_BILINEAR"),
    "RESIZE_NEAREST_NEIGHBOR": resize("RESIZE_NEAREST_NEIGHBOR"),
    "TRANSPOSE_CONV": transpose_conv,
}
