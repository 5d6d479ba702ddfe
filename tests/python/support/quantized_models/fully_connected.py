"""FULLY_CONNECTED and TRANSPOSE_CONV."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from support.tflite_builder import options, per_tensor

from .model import (
    ACTIVATIONS,
    PADDINGS,
    Constant,
    QuantizedModel,
    Spec,
    generator_of,
    int32,
    models,
    one_operator,
    random_constant,
)
from .weights import (
    INT4,
    INT16,
    INT16_BIAS32,
    INT16_NO_BIAS,
    NO_BIAS,
    UINT8,
    Weights,
    weights_and_bias,
)
from .windows import Window

PER_TENSOR = Weights(per_channel=False)


@dataclass(frozen=True)
class FullyConnected:
    """A matrix product; `channels` are those of the output."""

    shape: tuple[int, ...] = (1, 24)
    channels: int = 10
    depth: int | None = None
    keep_num_dims: bool = False
    activation: str = "NONE"
    zero_points: tuple[int, int] = (-1, 3)
    scales: tuple[float, float] = (0.05, 0.07)
    weights: Weights = PER_TENSOR


def fully_connected(case: FullyConnected) -> bytes:
    """One FULLY_CONNECTED."""
    depth = case.depth or case.shape[-1]
    rows = int(np.prod(case.shape)) // depth
    dtype = case.weights.scheme.activations
    x = Spec(case.shape, case.scales[0], case.zero_points[0], dtype)
    y_shape = (*case.shape[:-1], case.channels) if case.keep_num_dims else (rows, case.channels)
    y = Spec(y_shape, case.scales[1], case.zero_points[1], dtype)
    constants = weights_and_bias(
        generator_of(case), case.weights, (case.channels, depth), 0, depth, x, y
    )
    table = options(
        "FullyConnectedOptions",
        fused_activation_function=ACTIVATIONS[case.activation],
        keep_num_dims=case.keep_num_dims,
    )
    return one_operator("FULLY_CONNECTED", [x, *constants], [y], table)


def wide_bias() -> bytes:
    """One FULLY_CONNECTED on int16 with a bias that 32 bits do not hold."""
    x, y = Spec((1, 64), 1e-3, 0, "int16"), Spec((1, 3), 4.3, 0, "int16")
    weights = random_constant(Spec((3, 64), 1e-2))
    bias = Constant(np.array([2**33, -(2**33), 3 * 2**31]), per_tensor(1e-5))
    return one_operator(
        "FULLY_CONNECTED", [x, weights, bias], [y], options("FullyConnectedOptions")
    )


@dataclass(frozen=True)
class TransposeConv:
    """The gradient of a convolution; `output` is (height, width)."""

    shape: tuple[int, int, int, int] = (1, 4, 5, 3)
    channels: int = 4
    window: Window = field(default_factory=Window)
    output: tuple[int, int] | None = None
    activation: str = "NONE"
    zero_points: tuple[int, int] = (-1, 3)
    scales: tuple[float, float] = (0.05, 0.07)
    weights: Weights = field(default_factory=Weights)


def transpose_conv(case: TransposeConv) -> bytes:
    """One TRANSPOSE_CONV."""
    batch, height, width, depth = case.shape
    window, dtype = case.window, case.weights.scheme.activations
    extents = case.output or _largest_output(window, height, width)
    x = Spec(case.shape, case.scales[0], case.zero_points[0], dtype)
    y = Spec((batch, *extents, case.channels), case.scales[1], case.zero_points[1], dtype)
    shape = (case.channels, *window.kernel, depth)
    taps = depth * int(np.prod([-(-window.kernel[i] // window.stride[i]) for i in (0, 1)]))
    weights, bias = weights_and_bias(generator_of(case), case.weights, shape, 0, taps, x, y)
    table = options(
        "TransposeConvOptions",
        padding=PADDINGS[window.padding],
        stride_h=window.stride[0],
        stride_w=window.stride[1],
        fused_activation_function=ACTIVATIONS[case.activation],
    )
    inputs = [int32(*y.shape), weights, x, *([] if bias is None else [bias])]
    return one_operator("TRANSPOSE_CONV", inputs, [y], table)


def _largest_output(window: Window, height: int, width: int) -> tuple[int, int]:
    """What a convolution with the window makes `height` by `width` from."""
    extents = []
    for axis, extent in enumerate((height, width)):
        reach = max(window.kernel[axis] - window.stride[axis], 0)
        extents.append(extent * window.stride[axis] + (reach if window.padding == "VALID" else 0))
    return extents[0], extents[1]


def _int16(make: type, **fields: object) -> object:
    return make(**{"zero_points": (0, 0), "scales": (0.0003, 0.0005)} | fields)


FULLY_CONNECTED = {
    "one_row": FullyConnected(),
    "rows": FullyConnected(shape=(5, 24)),
    "one_channel": FullyConnected(channels=1),
    "one_weight": FullyConnected(shape=(3, 1), channels=1),
    "odd": FullyConnected(shape=(3, 37), channels=7),
    "long": FullyConnected(shape=(1, 640), channels=12),
    "wide": FullyConnected(shape=(1, 8), channels=128),
    "input_3d": FullyConnected(shape=(2, 3, 8)),
    "input_3d_kept": FullyConnected(shape=(2, 3, 8), keep_num_dims=True),
    "input_4d": FullyConnected(shape=(2, 2, 3, 8)),
    "input_4d_kept": FullyConnected(shape=(2, 2, 3, 8), keep_num_dims=True),
    "input_4d_flattened": FullyConnected(shape=(1, 3, 4, 5), depth=60),
    "input_3d_flattened": FullyConnected(shape=(2, 4, 6), depth=24),
    "input_1d": FullyConnected(shape=(16,), channels=5),
    "relu": FullyConnected(activation="RELU", zero_points=(-1, -90)),
    "relu6": FullyConnected(activation="RELU6", zero_points=(-1, -100), scales=(0.05, 0.04)),
    "relu_n1_to_1": FullyConnected(activation="RELU_N1_TO_1", scales=(0.05, 0.012)),
    "zero_points_lowest": FullyConnected(zero_points=(-128, -128)),
    "zero_points_highest": FullyConnected(zero_points=(127, 127)),
    "zero_points_mixed": FullyConnected(zero_points=(-128, 127), shape=(4, 17)),
    "no_bias": FullyConnected(weights=Weights(NO_BIAS, per_channel=False)),
    "no_bias_relu": FullyConnected(
        weights=Weights(NO_BIAS, per_channel=False), activation="RELU", zero_points=(5, -60)
    ),
    "per_channel": FullyConnected(weights=Weights()),
    "per_channel_rows": FullyConnected(weights=Weights(), shape=(3, 13), zero_points=(-128, 44)),
    "per_channel_no_bias": FullyConnected(weights=Weights(NO_BIAS)),
    "per_channel_kept": FullyConnected(weights=Weights(), shape=(2, 3, 8), keep_num_dims=True),
    "per_channel_relu6": FullyConnected(
        weights=Weights(), activation="RELU6", zero_points=(-1, -100), scales=(0.05, 0.04)
    ),
    "multiplier_above_one": FullyConnected(
        shape=(4, 2), weights=Weights(per_channel=False, limit=1, spread=2.5)
    ),
    "multiplier_far_above_one": FullyConnected(
        shape=(4, 2), weights=Weights(per_channel=False, limit=1, spread=20)
    ),
    "tiny_multiplier": FullyConnected(weights=Weights(per_channel=False, spread=0.05)),
    "saturating": FullyConnected(weights=Weights(per_channel=False, spread=8)),
    "int4": FullyConnected(weights=Weights(INT4, per_channel=False)),
    "int4_odd_count": FullyConnected(
        shape=(3, 7), channels=3, weights=Weights(INT4, per_channel=False)
    ),
    "int4_relu": FullyConnected(
        weights=Weights(INT4, per_channel=False), activation="RELU", zero_points=(-1, -90)
    ),
    "int16": _int16(FullyConnected, weights=Weights(INT16, per_channel=False)),
    "int16_rows": _int16(FullyConnected, shape=(4, 9), weights=Weights(INT16, per_channel=False)),
    "int16_per_channel": _int16(FullyConnected, weights=Weights(INT16)),
    "int16_bias32": _int16(FullyConnected, weights=Weights(INT16_BIAS32, per_channel=False)),
    "int16_bias32_per_channel": _int16(FullyConnected, weights=Weights(INT16_BIAS32)),
    "int16_no_bias": _int16(FullyConnected, weights=Weights(INT16_NO_BIAS, per_channel=False)),
    "int16_relu": _int16(
        FullyConnected, weights=Weights(INT16, per_channel=False), activation="RELU"
    ),
}

FULLY_CONNECTED_INT4_PER_CHANNEL = {
    "int4_per_channel": FullyConnected(shape=(32, 5), channels=6, weights=Weights(INT4)),
}
_UINT8 = Weights(UINT8, per_channel=False, zero_point=121)
FULLY_CONNECTED_UINT8 = {
    "uint8": FullyConnected(weights=_UINT8, zero_points=(131, 118)),
    "uint8_rows": FullyConnected(shape=(4, 31), weights=_UINT8, zero_points=(0, 255)),
    "uint8_relu": FullyConnected(weights=_UINT8, zero_points=(131, 30), activation="RELU"),
}

TRANSPOSE_CONV = {
    "stride_1": TransposeConv(),
    "stride_2": TransposeConv(window=Window(stride=(2, 2))),
    "stride_2_kernel_2": TransposeConv(window=Window((2, 2), (2, 2))),
    "stride_3_kernel_2": TransposeConv(window=Window((2, 2), (3, 3))),
    "stride_2x3": TransposeConv(window=Window((3, 4), (2, 3))),
    "valid": TransposeConv(window=Window(padding="VALID")),
    "valid_stride_2": TransposeConv(window=Window(stride=(2, 2), padding="VALID")),
    "valid_stride_1x2": TransposeConv(window=Window((4, 3), (1, 2), padding="VALID")),
    "odd_output": TransposeConv(window=Window(stride=(2, 2)), output=(7, 9)),
    "kernel_1x1": TransposeConv(window=Window((1, 1))),
    "kernel_5x5": TransposeConv(window=Window((5, 5), (2, 2))),
    "two_batches": TransposeConv(shape=(2, 3, 3, 2), window=Window(stride=(2, 2))),
    "one_channel": TransposeConv(shape=(1, 5, 4, 1), channels=1, window=Window((4, 4), (2, 2))),
    "zero_points": TransposeConv(zero_points=(-128, 127)),
    "no_bias": TransposeConv(weights=Weights(NO_BIAS), zero_points=(0, 5)),
    "per_tensor": TransposeConv(weights=PER_TENSOR),
    "relu": TransposeConv(activation="RELU", zero_points=(-1, -90)),
    "relu6_stride_2": TransposeConv(
        activation="RELU6",
        window=Window(stride=(2, 2)),
        zero_points=(-1, -100),
        scales=(0.05, 0.04),
    ),
    "saturating": TransposeConv(weights=Weights(spread=8)),
    "int16": _int16(TransposeConv, weights=Weights(INT16)),
    "int16_stride_2": _int16(TransposeConv, weights=Weights(INT16), window=Window(stride=(2, 2))),
    "int16_no_bias": _int16(TransposeConv, weights=Weights(INT16_NO_BIAS)),
}

MODELS: list[QuantizedModel] = [
    *models("fully_connected", fully_connected, FULLY_CONNECTED),
    QuantizedModel("fully_connected_int16_wide_bias", wide_bias),
    *models("fully_connected", fully_connected, FULLY_CONNECTED_INT4_PER_CHANNEL, "litert"),
    *models("fully_connected", fully_connected, FULLY_CONNECTED_UINT8, "litert"),
    *models("transpose_conv", transpose_conv, TRANSPOSE_CONV),
]
