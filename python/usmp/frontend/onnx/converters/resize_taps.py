"""Taps of ONNX `Resize`: the elements that each output element reads along an axis, with weights.

Source: ONNX operators, Resize, and its evaluator for `antialias`; upsample_base.h of onnxruntime
1.31 for the types of positions (float32), and where ONNX is unspecific.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from usmp.frontend.onnx.graph.node import NotSupported, OnnxNode
from usmp.ops.real.resampling import AxisTaps, cubic_curve, linear_taps, nearest_taps

_ZERO, _HALF, _ONE = np.float32(0), np.float32(0.5), np.float32(1)


@dataclass(frozen=True)
class Axis:
    """A resized axis: its extents, scale, and region of interest as fractions of the axis."""

    before: int
    after: int
    scale: np.float32
    start: np.float32 = _ZERO
    end: np.float32 = _ONE


def transformation(node: OnnxNode) -> str:
    """Return the coordinate transformation mode; opset 10 has only one."""
    if node.opset < 11:
        return "asymmetric"
    return node.text("coordinate_transformation_mode", "half_pixel")


def rounding_of(node: OnnxNode, axis: Axis) -> str:
    """Return the rounding of positions to elements; opset 10 rounds up where it downsamples."""
    if node.opset < 11:
        return "ceil" if axis.scale < 1 else "floor"
    return node.text("nearest_mode", "round_prefer_floor")


def most_taps(node: OnnxNode, mode: str, axis: Axis) -> int:
    """Return the number of elements that an output element reads along an axis."""
    if mode == "nearest":
        return 1
    if not node.attributes.get("antialias", 0):
        return 2 if mode == "linear" else 4
    return 2 - 2 * _first_of_antialias(mode, axis)


def taps_of(node: OnnxNode, mode: str, axis: Axis) -> AxisTaps:
    """Return the taps of each output element of `Resize` along an axis."""
    named = transformation(node)
    if named not in _POSITIONS:
        raise NotSupported(f'coordinate_transformation_mode "{named}" is not known')
    positions = _POSITIONS[named](axis)
    if mode == "nearest":
        rounding = rounding_of(node, axis)
        if rounding not in _ROUNDINGS:
            raise NotSupported(f'nearest_mode "{rounding}" is not known')
        taps = nearest_taps(_ROUNDINGS[rounding](positions), axis.before)
    elif node.attributes.get("antialias", 0):
        taps = _antialiased(node, mode, positions, axis)
    elif mode == "linear":
        taps = linear_taps(positions, axis.before)
    else:
        taps = _cubic(node, positions, axis)
    if named == "tf_crop_and_resize":
        is_outside = (positions < 0) | (positions > axis.before - 1)
        taps = AxisTaps(np.where(is_outside[:, None], -1, taps.positions), taps.weights)
    return taps


def upsample_taps(is_nearest: bool, axis: Axis) -> AxisTaps:
    """Return the taps of each output element of `Upsample` along an axis; it rounds down."""
    positions = _asymmetric(axis)
    if is_nearest:
        return nearest_taps(np.floor(positions), axis.before)
    return linear_taps(positions, axis.before)


def _positions(axis: Axis) -> np.ndarray:
    return np.arange(axis.after, dtype=np.float32)


def _asymmetric(axis: Axis) -> np.ndarray:
    return _positions(axis) / axis.scale


def _half_pixel(axis: Axis) -> np.ndarray:
    return (_positions(axis) + _HALF) / axis.scale - _HALF


def _pytorch_half_pixel(axis: Axis) -> np.ndarray:
    return _half_pixel(axis) if axis.after > 1 else np.zeros(1, np.float32)


def _align_corners(axis: Axis) -> np.ndarray:
    if axis.after == 1:
        return np.zeros(1, np.float32)
    return _positions(axis) * np.float32(axis.before - 1) / np.float32(axis.after - 1)


def _half_pixel_symmetric(axis: Axis) -> np.ndarray:
    exact = axis.scale * np.float32(axis.before)
    adjustment = np.float32(axis.after) / exact
    offset = np.float32(axis.before) / np.float32(2) * (_ONE - adjustment)
    return offset + _half_pixel(axis)


def _crop(axis: Axis) -> np.ndarray:
    last = np.float32(axis.before - 1)
    if axis.after == 1:
        return np.array([_HALF * (axis.start + axis.end) * last], np.float32)
    step = (axis.end - axis.start) * last / np.float32(axis.after - 1)
    return axis.start * last + _positions(axis) * step


_POSITIONS: dict[str, Callable[[Axis], np.ndarray]] = {
    "asymmetric": _asymmetric,
    "half_pixel": _half_pixel,
    "half_pixel_symmetric": _half_pixel_symmetric,
    "pytorch_half_pixel": _pytorch_half_pixel,
    "align_corners": _align_corners,
    "tf_crop_and_resize": _crop,
    "tf_half_pixel_for_nn": lambda axis: (_positions(axis) + _HALF) / axis.scale,
}
"""Mode -> positions of the output elements in the input, in elements."""

_ROUNDINGS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "round_prefer_floor": lambda positions: np.ceil(positions - _HALF),
    "round_prefer_ceil": lambda positions: np.floor(positions + _HALF),
    "floor": np.floor,
    "ceil": np.ceil,
}


def _first_of_antialias(mode: str, axis: Axis) -> int:
    """Return the offset of the first tap from the position."""
    return math.floor((-1 if mode == "linear" else -2) / min(float(axis.scale), 1.0)) + 1


def _antialiased(node: OnnxNode, mode: str, positions: np.ndarray, axis: Axis) -> AxisTaps:
    """Return antialiased taps: the curve is stretched as far as the image shrinks."""
    scale = min(float(axis.scale), 1.0)
    start = _first_of_antialias(mode, axis)
    elements = np.floor(positions)[:, None] + np.arange(start, 2 - start)
    distance = np.abs(positions[:, None] - elements) * scale
    if mode == "linear":
        weights = np.clip(1 - distance.astype(np.float64), 0, 1)
    else:
        weights = _cubic_curve(node, distance)
    return _weighted(node, elements, weights, axis, is_normalized=True)


def _cubic(node: OnnxNode, positions: np.ndarray, axis: Axis) -> AxisTaps:
    first = np.floor(positions)
    elements = first[:, None] + np.arange(-1, 3)
    weights = _cubic_curve(node, np.abs(positions[:, None] - elements))
    return _weighted(node, elements, weights, axis, is_normalized=False)


def _weighted(
    node: OnnxNode, elements: np.ndarray, weights: np.ndarray, axis: Axis, is_normalized: bool
) -> AxisTaps:
    """Return taps clamped to the axis; `exclude_outside` gives outer taps the weight 0."""
    if node.attributes.get("exclude_outside", 0):
        weights = np.where((elements < 0) | (elements >= axis.before), 0, weights)
        is_normalized = True
    if is_normalized:
        # Far outside of the axis, all weights are 0. `extrapolation_value` replaces 0 / 0 (NaN).
        with np.errstate(invalid="ignore", divide="ignore"):
            weights = weights / weights.sum(1, keepdims=True)
    indices = np.clip(elements, 0, axis.before - 1).astype(np.int32)
    return AxisTaps(indices, weights.astype(np.float32))


def _cubic_curve(node: OnnxNode, distance: np.ndarray) -> np.ndarray:
    """Return the weights of the cubic curve at distances in elements."""
    coefficient = float(node.attributes.get("cubic_coeff_a", -0.75))
    return cubic_curve(distance.astype(np.float64), coefficient)
