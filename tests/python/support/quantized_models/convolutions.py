"""CONV_2D and DEPTHWISE_CONV_2D."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from support.tflite_builder import Options, options

from .model import ACTIVATIONS, PADDINGS, QuantizedModel, Spec, generator_of, models, one_operator
from .weights import (
    INT4,
    INT16,
    INT16_BIAS32,
    INT16_NO_BIAS,
    NO_BIAS,
    UINT8,
    Scheme,
    Weights,
    weights_and_bias,
)
from .windows import Window


@dataclass(frozen=True)
class Conv:
    """A convolution; `channels` are those of the output, or the multiplier if depthwise."""

    shape: tuple[int, int, int, int] = (1, 7, 9, 5)
    channels: int = 6
    window: Window = field(default_factory=Window)
    activation: str = "NONE"
    zero_points: tuple[int, int] = (-1, 3)
    scales: tuple[float, float] = (0.05, 0.07)
    groups: int = 1
    weights: Weights = field(default_factory=Weights)

    @property
    def x(self) -> Spec:
        dtype = self.weights.scheme.activations
        return Spec(self.shape, self.scales[0], self.zero_points[0], dtype)

    def y(self, channels: int) -> Spec:
        batch, height, width, _ = self.shape
        shape = (batch, *self.window.output(height, width), channels)
        dtype = self.weights.scheme.activations
        return Spec(shape, self.scales[1], self.zero_points[1], dtype)

    def options(self, table: str, **fields: int) -> Options:
        window = self.window
        return options(
            table,
            padding=PADDINGS[window.padding],
            stride_h=window.stride[0],
            stride_w=window.stride[1],
            dilation_h_factor=window.dilation[0],
            dilation_w_factor=window.dilation[1],
            fused_activation_function=ACTIVATIONS[self.activation],
            **fields,
        )


def conv_2d(case: Conv) -> bytes:
    """One CONV_2D."""
    depth = case.shape[3] // case.groups
    shape = (case.channels, *case.window.kernel, depth)
    taps = depth * case.window.kernel[0] * case.window.kernel[1]
    x, y = case.x, case.y(case.channels)
    weights = weights_and_bias(generator_of(case), case.weights, shape, 0, taps, x, y)
    return one_operator("CONV_2D", [x, *weights], [y], case.options("Conv2DOptions"))


def depthwise_conv_2d(case: Conv) -> bytes:
    """One DEPTHWISE_CONV_2D with the depth multiplier `case.channels`."""
    channels = case.shape[3] * case.channels
    shape = (1, *case.window.kernel, channels)
    taps = case.window.kernel[0] * case.window.kernel[1]
    x, y = case.x, case.y(channels)
    weights = weights_and_bias(generator_of(case), case.weights, shape, 3, taps, x, y)
    # Where there is no bias, tflite-micro wants two inputs: on a third that is absent it crashes.
    inputs = [x, *(constant for constant in weights if constant is not None)]
    table = case.options("DepthwiseConv2DOptions", depth_multiplier=case.channels)
    return one_operator("DEPTHWISE_CONV_2D", inputs, [y], table)


def random_conv(seed: int, depthwise: bool) -> Conv:
    """Anything that fits; the window is never larger than the input if nothing pads it."""
    generator = np.random.default_rng(seed)

    def draw(low: int, high: int) -> int:
        return int(generator.integers(low, high, endpoint=True))

    kernel, stride, dilation = (draw(1, 5), draw(1, 5)), (draw(1, 3), draw(1, 3)), (1, 1)
    if stride == (1, 1) or generator.random() < 0.3:
        dilation = (draw(1, 3), draw(1, 3))
    padding = str(generator.choice(["SAME", "VALID"]))
    reach = [(kernel[axis] - 1) * dilation[axis] if padding == "VALID" else 0 for axis in (0, 1)]
    activation = str(generator.choice(["NONE", *ACTIVATIONS]))
    y_scale, y_zero_points = {
        "NONE": ((0.01, 0.2), (-128, 127)),
        "RELU": ((0.01, 0.2), (-128, -60)),
        "RELU6": ((0.025, 0.05), (-128, -60)),
        "RELU_N1_TO_1": ((0.008, 0.012), (-20, 20)),
    }[activation]
    return Conv(
        shape=(draw(1, 2), reach[0] + draw(2, 9), reach[1] + draw(2, 9), draw(1, 9)),
        channels=draw(1, 4) if depthwise else draw(1, 9),
        window=Window(kernel, stride, dilation, padding),
        activation=activation,
        zero_points=(draw(-128, 127), draw(*y_zero_points)),
        scales=(float(generator.uniform(0.003, 0.3)), float(generator.uniform(*y_scale))),
        weights=Weights(
            per_channel=bool(generator.integers(2)), spread=float(generator.uniform(0.7, 1.5))
        ),
    )


def _windows(**fields: object) -> Conv:
    return Conv(window=Window(**fields))


def _typed(case: Conv, scheme: Scheme, **fields: object) -> Conv:
    """The case in other types; only 8 bits have zero points."""
    per_channel = scheme is not UINT8
    weights = replace(case.weights, scheme=scheme, per_channel=per_channel)
    if scheme is UINT8:
        weights = replace(weights, zero_point=121)
        return replace(case, weights=weights, zero_points=(131, 118), **fields)
    zero_points = (0, 0) if scheme.activations == "int16" else case.zero_points
    scales = (0.0003, 0.0005) if scheme.activations == "int16" else case.scales
    return replace(case, weights=weights, zero_points=zero_points, scales=scales, **fields)


SHARED = {
    "same": Conv(),
    "valid": _windows(padding="VALID"),
    "kernel_1x1": _windows(kernel=(1, 1)),
    "kernel_1x1_stride_2": _windows(kernel=(1, 1), stride=(2, 2)),
    "kernel_2x2": _windows(kernel=(2, 2)),
    "kernel_2x2_stride_2_valid": _windows(kernel=(2, 2), stride=(2, 2), padding="VALID"),
    "kernel_1x5": _windows(kernel=(1, 5)),
    "kernel_5x1": _windows(kernel=(5, 1)),
    "kernel_4x3_valid": _windows(kernel=(4, 3), padding="VALID"),
    "kernel_larger_than_input": Conv(shape=(1, 3, 2, 4), window=Window((5, 5))),
    "kernel_larger_than_input_stride_2": Conv(shape=(1, 3, 2, 4), window=Window((7, 5), (2, 2))),
    "kernel_as_large_as_input": Conv(window=Window((7, 9), padding="VALID")),
    "stride_2_same": _windows(stride=(2, 2)),
    "stride_2_valid": _windows(stride=(2, 2), padding="VALID"),
    "stride_3_same": _windows(stride=(3, 3)),
    "stride_1x2": _windows(stride=(1, 2)),
    "stride_2x1_valid": _windows(stride=(2, 1), padding="VALID"),
    "stride_3x2": _windows(stride=(3, 2), kernel=(2, 3)),
    "dilation_2_same": _windows(dilation=(2, 2)),
    "dilation_2_valid": _windows(dilation=(2, 2), padding="VALID"),
    "dilation_1x3": _windows(dilation=(1, 3)),
    "dilation_3x1_valid": _windows(dilation=(3, 1), kernel=(3, 2), padding="VALID"),
    "dilation_2_stride_2": _windows(dilation=(2, 2), stride=(2, 2)),
    "one_pixel": Conv(shape=(1, 1, 1, 5)),
    "one_row": Conv(shape=(1, 1, 11, 3)),
    "one_column": Conv(shape=(1, 11, 1, 3)),
    "one_input_channel": Conv(shape=(1, 9, 7, 1)),
    "two_batches": Conv(shape=(2, 5, 5, 3)),
    "many_channels": Conv(shape=(1, 4, 4, 33), channels=2),
    "prime_extents": Conv(shape=(1, 11, 13, 7), window=Window((3, 5), (2, 3))),
    "relu": Conv(activation="RELU", zero_points=(-1, -90)),
    "relu6": Conv(activation="RELU6", zero_points=(4, -100), scales=(0.05, 0.04)),
    "relu_n1_to_1": Conv(activation="RELU_N1_TO_1", scales=(0.05, 0.012)),
    "relu_lowest_zero_point": Conv(activation="RELU", zero_points=(-128, -128)),
    "relu6_whole_range": Conv(
        activation="RELU6", zero_points=(-128, -128), scales=(6 / 255, 6 / 255)
    ),
    "relu_high_zero_point": Conv(activation="RELU", zero_points=(0, 110)),
    "zero_points_lowest": Conv(zero_points=(-128, -128)),
    "zero_points_highest": Conv(zero_points=(127, 127)),
    "zero_points_lowest_highest": Conv(zero_points=(-128, 127)),
    "zero_points_highest_lowest": Conv(zero_points=(127, -128)),
    "zero_points_zero": Conv(zero_points=(0, 0)),
    "per_tensor": Conv(weights=Weights(per_channel=False)),
    "per_tensor_zero_points": Conv(weights=Weights(per_channel=False), zero_points=(127, -128)),
    "multiplier_above_one": Conv(
        shape=(1, 6, 6, 1), window=Window((1, 1)), weights=Weights(limit=1, spread=2.5)
    ),
    "multiplier_far_above_one": Conv(
        shape=(1, 6, 6, 1), window=Window((1, 1)), weights=Weights(limit=1, spread=20)
    ),
    "tiny_multiplier": Conv(weights=Weights(spread=0.05)),
    "vanishing_multiplier": Conv(weights=Weights(spread=1e-9)),
    "saturating": Conv(weights=Weights(spread=8)),
    "saturating_zero_points": Conv(weights=Weights(spread=8), zero_points=(-128, 90)),
}

ORDINARY = {
    "groups_2": Conv(shape=(1, 6, 6, 8), channels=6, groups=2),
    "groups_3_stride_2": Conv(
        shape=(1, 7, 6, 9), channels=6, groups=3, window=Window(stride=(2, 2))
    ),
    "groups_1x1": Conv(shape=(1, 5, 6, 40), channels=24, groups=2, window=Window((1, 1))),
    "groups_of_many_channels": Conv(shape=(1, 3, 4, 168), channels=8, groups=2),
    "groups_dilation_2x1": Conv(
        shape=(2, 7, 6, 8), channels=8, groups=2, window=Window(dilation=(2, 1))
    ),
    "groups_dilation_2": Conv(
        shape=(2, 7, 6, 8), channels=8, groups=2, window=Window(dilation=(2, 2))
    ),
    "groups_dilation_3_kernel_2x1": Conv(
        shape=(1, 5, 6, 8), channels=8, groups=2, window=Window((2, 1), dilation=(3, 3))
    ),
    "groups_dilation_1x3_three_outputs": Conv(
        shape=(1, 5, 9, 6), channels=6, groups=2, window=Window(stride=(2, 1), dilation=(1, 3))
    ),
    "groups_of_very_many_channels": Conv(shape=(1, 4, 3, 246), channels=8, groups=2),
    "groups_of_very_many_channels_dilation": Conv(
        shape=(1, 5, 6, 250), channels=6, groups=2, window=Window(dilation=(1, 2))
    ),
    "groups_as_channels": Conv(shape=(1, 5, 6, 4), channels=4, groups=4),
    "groups_per_tensor": Conv(
        shape=(1, 5, 6, 8), channels=4, groups=4, weights=Weights(per_channel=False)
    ),
    "dilation_of_many_channels": Conv(
        shape=(1, 6, 5, 61), channels=8, window=Window(dilation=(2, 2))
    ),
    "dilation_of_very_many_channels": Conv(
        shape=(1, 5, 4, 123), channels=6, window=Window(dilation=(2, 2))
    ),
    "very_many_channels_valid": Conv(
        shape=(1, 4, 4, 500), channels=9, window=Window((2, 2), padding="VALID")
    ),
    "one_output_channel": Conv(channels=1),
    "kernel_1x1_one_output": Conv((2, 7, 9, 20), channels=1, window=Window((1, 1))),
    "kernel_1x1_three_outputs": Conv(channels=3, window=Window((1, 1))),
    "kernel_1x1_more_outputs": Conv((2, 7, 9, 1), channels=2, window=Window((1, 1))),
    "one_output_of_many_inputs": Conv((2, 6, 9, 133), channels=1),
    "two_outputs_stride_2": Conv((1, 6, 18, 24), channels=2, window=Window(stride=(2, 2))),
    "two_outputs_of_a_row": Conv((1, 4, 16, 64), channels=2, window=Window((1, 3))),
    "two_outputs_dilation_2x1": Conv(
        (1, 9, 8, 24), channels=2, window=Window((2, 5), dilation=(2, 1), padding="VALID")
    ),
    "first_layer": Conv(
        shape=(1, 16, 16, 3), channels=8, window=Window(stride=(2, 2)), zero_points=(-128, -128)
    ),
}

MULTIPLIERS = {
    "multiplier_2": Conv(channels=2),
    "multiplier_3_stride_2": Conv(channels=3, window=Window(stride=(2, 2))),
    "multiplier_8_one_channel": Conv(
        shape=(1, 10, 8, 1), channels=8, window=Window((5, 4), (2, 2))
    ),
    "multiplier_2_dilation": Conv(channels=2, window=Window(dilation=(2, 1), padding="VALID")),
    "multiplier_3_per_tensor": Conv(channels=3, weights=Weights(per_channel=False)),
}
HIGH_WINDOWS = {
    "more_rows_than_data": Conv((1, 2, 9, 32), channels=1, window=Window((4, 1), (2, 1)))
}

NO_BIAS_CASES = {
    "no_bias": Conv(weights=Weights(NO_BIAS)),
    "no_bias_relu6": Conv(weights=Weights(NO_BIAS), activation="RELU6", zero_points=(20, -60)),
    "no_bias_per_tensor": Conv(weights=Weights(NO_BIAS, per_channel=False), zero_points=(0, 9)),
}

_STRIDED = Conv(shape=(1, 6, 7, 4), window=Window((3, 2), (2, 1)))
INT4_CASES = {
    "int4": _typed(Conv(), INT4),
    "int4_odd_count": _typed(Conv(shape=(1, 5, 5, 1), channels=1), INT4),
    "int4_stride_relu6": _typed(_STRIDED, INT4, activation="RELU6"),
}
INT16_CASES = {
    "int16": _typed(Conv(), INT16),
    "int16_no_bias": _typed(Conv(), INT16_NO_BIAS),
    "int16_stride_relu": _typed(_STRIDED, INT16, activation="RELU"),
    "int16_dilation": _typed(_windows(dilation=(2, 2)), INT16),
    "int16_saturating": _typed(Conv(weights=Weights(spread=6)), INT16, activation="RELU6"),
}
# Depthwise, tflite-micro takes any bias for one of 64 bits.
INT16_ORDINARY = {"int16_bias32": _typed(Conv(), INT16_BIAS32)}
UINT8_CASES = {
    "uint8": _typed(Conv(), UINT8),
    "uint8_valid": _typed(_windows(padding="VALID"), UINT8),
    "uint8_stride_relu6": _typed(_STRIDED, UINT8, activation="RELU6"),
}


def _catalog() -> list[QuantizedModel]:
    # A depth multiplier of one is what makes a separable network.
    separable = {label: replace(case, channels=1) for label, case in SHARED.items()}
    seeds = range(24)
    random_conv_2d = {f"random_{seed}": random_conv(50 + seed, False) for seed in seeds}
    random_depthwise = {f"random_{seed}": random_conv(100 + seed, True) for seed in seeds}
    wide = INT4_CASES | INT16_CASES
    thin = {label: replace(case, channels=2) for label, case in wide.items()}
    legacy = {label: replace(case, channels=2) for label, case in UINT8_CASES.items()}
    ordinary = SHARED | ORDINARY | NO_BIAS_CASES | random_conv_2d | wide | INT16_ORDINARY
    return [
        *models("conv_2d", conv_2d, ordinary),
        *models("depthwise_conv_2d", depthwise_conv_2d, separable | MULTIPLIERS | HIGH_WINDOWS),
        *models("depthwise_conv_2d", depthwise_conv_2d, random_depthwise | thin),
        *models("depthwise_conv_2d", depthwise_conv_2d, NO_BIAS_CASES),
        *models("conv_2d", conv_2d, UINT8_CASES, "litert"),
        *models("depthwise_conv_2d", depthwise_conv_2d, legacy, "litert"),
    ]


MODELS = _catalog()
