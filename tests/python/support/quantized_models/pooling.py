"""AVERAGE_POOL_2D, MAX_POOL_2D, MEAN, SUM and REDUCE_MAX."""

from __future__ import annotations

from dataclasses import dataclass, field

from support.tflite_builder import options

from .model import (
    ACTIVATIONS,
    PADDINGS,
    QuantizedModel,
    Spec,
    int32,
    models,
    one_operator,
    scalar,
)
from .windows import Window

_IMAGE, _FEATURES = Spec((1, 7, 9, 5), 0.05, -3), Spec((1, 6, 5, 7), 0.05, -3)


@dataclass(frozen=True)
class Pool:
    """A pooling; input and output have the same scale and zero point."""

    x: Spec = _IMAGE
    window: Window = field(default_factory=Window)
    activation: str = "NONE"


def pool(code: str, case: Pool) -> bytes:
    """One pooling operator."""
    batch, height, width, channels = case.x.shape
    y = case.x(batch, *case.window.output(height, width), channels)
    table = options(
        "Pool2DOptions",
        padding=PADDINGS[case.window.padding],
        stride_h=case.window.stride[0],
        stride_w=case.window.stride[1],
        filter_height=case.window.kernel[0],
        filter_width=case.window.kernel[1],
        fused_activation_function=ACTIVATIONS[case.activation],
    )
    return one_operator(code, [case.x], [y], table)


def _windows(**fields: object) -> Pool:
    return Pool(window=Window(**fields))


POOLS = {
    "same": Pool(),
    "valid": _windows(padding="VALID"),
    "window_2x2_stride_2": _windows(kernel=(2, 2), stride=(2, 2)),
    "window_2x2_stride_2_valid": _windows(kernel=(2, 2), stride=(2, 2), padding="VALID"),
    "window_3x3_stride_2": _windows(stride=(2, 2)),
    "window_1x4": _windows(kernel=(1, 4), stride=(1, 3)),
    "window_5x2_stride_1x2": _windows(kernel=(5, 2), stride=(1, 2)),
    "window_4x4_stride_3x2_valid": _windows(kernel=(4, 4), stride=(3, 2), padding="VALID"),
    "window_1x1_stride_2": _windows(kernel=(1, 1), stride=(2, 2)),
    "global": _windows(kernel=(7, 9), padding="VALID"),
    "global_same": _windows(kernel=(7, 9)),
    "window_larger_than_input": Pool(Spec((1, 3, 2, 4), 0.05, 9), Window((5, 5))),
    "two_batches": Pool(Spec((2, 5, 5, 3), 0.1, 0), Window((2, 3), (2, 1))),
    "one_channel": Pool(Spec((1, 8, 8, 1), 0.1, 0), Window((2, 2), (2, 2))),
    "lowest_zero_point": Pool(Spec((1, 6, 6, 3), 0.05, -128)),
    "highest_zero_point": Pool(Spec((1, 6, 6, 3), 0.05, 127)),
    "relu": Pool(activation="RELU", x=Spec((1, 6, 6, 3), 0.05, -20)),
    "relu6": Pool(activation="RELU6", x=Spec((1, 6, 6, 3), 0.04, -90), window=Window((2, 2))),
    "relu_n1_to_1": Pool(activation="RELU_N1_TO_1", x=Spec((1, 6, 6, 3), 0.015)),
    "int16": Pool(Spec((1, 6, 7, 3), 0.0003, 0, "int16")),
    "int16_stride_2_relu": Pool(
        Spec((1, 6, 7, 3), 0.0003, 0, "int16"), Window((2, 2), (2, 2)), "RELU"
    ),
}
UINT8_POOLS = {
    "uint8": Pool(Spec((1, 6, 7, 3), 0.05, 128, "uint8")),
    "uint8_stride_2_valid": Pool(
        Spec((1, 6, 7, 3), 0.05, 3, "uint8"), Window((2, 2), (2, 2), padding="VALID")
    ),
}


@dataclass(frozen=True)
class Reduction:
    """A reduction over `axes`; one axis may be given as a number without an axis."""

    x: Spec = _FEATURES
    axes: tuple[int, ...] | int = (1, 2)
    keep_dims: bool = False
    y_scale: float = 0.02
    y_zero_point: int = 5

    @property
    def y(self) -> Spec:
        rank = len(self.x.shape)
        axes = (self.axes,) if isinstance(self.axes, int) else self.axes
        reduced = {axis % rank for axis in axes}
        extents = enumerate(self.x.shape)
        if self.keep_dims:
            shape = [1 if axis in reduced else extent for axis, extent in extents]
        else:
            shape = [extent for axis, extent in extents if axis not in reduced]
        return Spec(tuple(shape), self.y_scale, self.y_zero_point, self.x.dtype)


def reduction(code: str, case: Reduction) -> bytes:
    """One reduction."""
    axes = scalar(case.axes) if isinstance(case.axes, int) else int32(*case.axes)
    table = options("ReducerOptions", keep_dims=case.keep_dims)
    return one_operator(code, [case.x, axes], [case.y], table)


_X16 = Spec((1, 6, 5, 7), 0.0003, 0, "int16")
MEANS = {
    "height_width": Reduction(),
    "height_width_kept": Reduction(keep_dims=True),
    "width_height": Reduction(axes=(2, 1), keep_dims=True),
    "negative_axes": Reduction(axes=(-3, -2)),
    "height": Reduction(axes=(1,)),
    "width_kept": Reduction(axes=(2,), keep_dims=True),
    "channels": Reduction(axes=(3,)),
    "channels_of_number": Reduction(axes=-1, keep_dims=True),
    "height_channels": Reduction(axes=(1, 3)),
    "everything": Reduction(axes=(0, 1, 2, 3), y_scale=0.004),
    "everything_kept": Reduction(axes=(0, 1, 2, 3), keep_dims=True, y_scale=0.004),
    "repeated_axes": Reduction(axes=(1, 2, 1)),
    "matrix": Reduction(Spec((5, 9), 0.05, 11), axes=(1,)),
    "three_axes": Reduction(Spec((4, 5, 6), 0.05, 11), axes=(0, 2)),
    "same_quantization": Reduction(y_scale=0.05, y_zero_point=-3),
    "same_quantization_kept": Reduction(keep_dims=True, y_scale=0.05, y_zero_point=-3),
    "lowest_zero_points": Reduction(
        Spec((1, 6, 5, 7), 0.05, -128), y_zero_point=-128, y_scale=0.05
    ),
    "highest_zero_point": Reduction(Spec((1, 6, 5, 7), 0.05, 127), y_zero_point=100, y_scale=0.05),
    "two_batches": Reduction(Spec((3, 4, 3, 2), 0.05, -8), keep_dims=True),
    "multiplier_above_one": Reduction(y_scale=0.011),
    "saturating": Reduction(y_scale=0.002),
    "many_channels": Reduction(Spec((2, 6, 5, 43), 0.05, -3)),
    "many_pixels": Reduction(Spec((1, 20, 27, 24), 0.05, 100), y_scale=0.02),
    "int16": Reduction(_X16, y_scale=0.0001, y_zero_point=0),
    "int16_kept": Reduction(_X16, keep_dims=True, y_scale=0.0003, y_zero_point=0),
}
SUMS = {
    "height_width": Reduction(y_scale=0.7),
    "channels_kept": Reduction(axes=(3,), keep_dims=True, y_scale=0.3),
    "everything": Reduction(axes=(0, 1, 2, 3), y_scale=1.5),
    "int16": Reduction(_X16, y_scale=0.003, y_zero_point=0),
}
MAXIMA = {
    "height_width": Reduction(y_scale=0.05, y_zero_point=-3, axes=(1,)),
    "channels_kept": Reduction(axes=(3,), keep_dims=True, y_scale=0.05, y_zero_point=-3),
    "everything": Reduction(Spec((2, 3), 0.1, 8), axes=(0, 1), y_scale=0.1, y_zero_point=8),
}


def _models(code: str, cases: dict[str, Reduction]) -> list[QuantizedModel]:
    return models(code.lower(), reduction, {label: (code, case) for label, case in cases.items()})


def _pools(code: str, cases: dict[str, Pool], oracle: str = "micro") -> list[QuantizedModel]:
    return models(
        code.lower(), pool, {label: (code, case) for label, case in cases.items()}, oracle
    )


MODELS: list[QuantizedModel] = [
    *_pools("AVERAGE_POOL_2D", POOLS),
    *_pools("MAX_POOL_2D", POOLS),
    *_pools("AVERAGE_POOL_2D", UINT8_POOLS, "litert"),
    *_pools("MAX_POOL_2D", UINT8_POOLS, "litert"),
    *_models("MEAN", MEANS),
    *_models("SUM", SUMS),
    *_models("REDUCE_MAX", MAXIMA),
    *_models("REDUCE_MIN", MAXIMA),
]
