"""Converters of operators that resize images."""

from __future__ import annotations

import numpy as np
from tvm import relax
from tvm.ir import Expr

from usmp.frontend.pytorch.converters.operator import Operator, converts
from usmp.ops.emit import shape_of
from usmp.ops.real.resampling import AxisTaps, cubic_curve, linear_taps, sum_taps


@converts("upsample_nearest2d.vec")
def _nearest(operator: Operator) -> Expr:
    data = operator["input"]
    for axis, (before, after, scale) in enumerate(_sizes(operator), 2):
        positions = _nearest_positions(before, after, scale)
        data = operator.emit(relax.op.take(data, relax.const(positions), axis, mode="fast"))
    return data


def _nearest_positions(before: int, after: int, scale: float | None) -> np.ndarray:
    """Return the input position that each output pixel copies. If the size stays or doubles,
    PyTorch ignores the factor, which may differ from 1 and 2."""
    numbers = np.arange(after)
    if after in (before, 2 * before):
        whole: np.ndarray = numbers * before // after
        return whole
    step = np.float32(before / after) if scale is None else np.float32(1 / scale)
    steps = numbers.astype(np.float32) * step
    positions: np.ndarray = np.minimum(np.floor(steps).astype(np.int64), before - 1)
    return positions


@converts("upsample_linear1d.vec", "upsample_bilinear2d.vec", "upsample_trilinear3d.vec")
def _linear(operator: Operator) -> Expr:
    return _resampled(operator, [_linear_taps(operator, *size) for size in _sizes(operator)])


@converts("upsample_bicubic2d.vec")
def _bicubic(operator: Operator) -> Expr:
    return _resampled(operator, [_cubic_taps(operator, *size) for size in _sizes(operator)])


def _sizes(operator: Operator) -> list[tuple[int, int, float | None]]:
    """Return the extents before and after, and the optional factor, of each spatial axis."""
    before = shape_of(operator["input"])[2:]
    scales = operator["scale_factors"]
    if scales is None:
        return [(b, int(a), None) for b, a in zip(before, operator["output_size"], strict=True)]
    return [(b, int(b * scale), scale) for b, scale in zip(before, scales, strict=True)]


def _coordinates(operator: Operator, before: int, after: int, scale: float | None) -> np.ndarray:
    """Return the positions of the output pixels in the input, in pixels."""
    steps = np.arange(after, dtype=np.float32)
    if operator["align_corners"]:
        step = np.float32((before - 1) / (after - 1)) if after > 1 else np.float32(0)
        corners: np.ndarray = steps * step
        return corners
    half = np.float32(0.5)
    step = np.float32(before / after) if scale is None else np.float32(1 / scale)
    centers: np.ndarray = (steps + half) * step - half
    return centers


def _linear_taps(operator: Operator, before: int, after: int, scale: float | None) -> AxisTaps:
    if before == after:
        # PyTorch copies pixels if the extent stays, and ignores the factor.
        return linear_taps(np.arange(after, dtype=np.float32), before)
    return linear_taps(_coordinates(operator, before, after, scale), before)


_SHARPNESS = -0.75
"""The coefficient a of the cubic convolution kernel."""


def _cubic_taps(operator: Operator, before: int, after: int, scale: float | None) -> AxisTaps:
    at = _coordinates(operator, before, after, scale)
    first = np.floor(at)
    rest = (at - first).astype(np.float32)
    positions = first.astype(np.int32)[:, None] + np.arange(-1, 3, dtype=np.int32)
    distances = np.stack([rest + 1, rest, 1 - rest, 2 - rest], 1)
    return AxisTaps(np.clip(positions, 0, before - 1), cubic_curve(distances, _SHARPNESS))


def _resampled(operator: Operator, taps: list[AxisTaps]) -> Expr:
    """Return the weighted sums of the taps over all axes of the image."""
    if operator.dtype != "float32":
        raise operator.refusal(f"of {operator.dtype} is not supported; convert it to float32")
    axes = dict(enumerate(taps, 2))
    return sum_taps(operator.builder, operator["input"], axes, jointly=True)
