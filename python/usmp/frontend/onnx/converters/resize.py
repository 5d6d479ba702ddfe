"""Converters of ONNX `Resize` and `Upsample`.

The position of each output element in the input is known at compile time, so each axis gets a table
of the elements to read and their weights. TVM's operator derives positions from the extents, while
ONNX divides by the scales; TVM's operator is used where both give the same positions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from tvm import relax
from tvm.ir import Expr

from usmp.frontend.onnx.converters.resize_taps import (
    Axis,
    most_taps,
    rounding_of,
    taps_of,
    transformation,
    upsample_taps,
)
from usmp.frontend.onnx.graph.node import NotSupported, OnnxNode
from usmp.ops.emit import dtype_of, shape_of
from usmp.ops.real.resampling import AxisTaps, copy_elements, fill_outside, sum_taps


def resize(node: OnnxNode) -> Expr:
    """Convert `Resize` of opset 10 and later."""
    data = node.required(0)
    axes = _resized_axes(node, shape_of(data))
    mode = node.text("mode", "nearest")
    named = transformation(node)
    roundings = {rounding_of(node, axis) for axis in axes.values()}
    if len(roundings) == 1 and _is_exact(node, axes, mode, named):
        return _image(data, axes, mode, named, *roundings)
    shape = [axes[n].after if n in axes else e for n, e in enumerate(shape_of(data))]
    limits = node.builder.limits
    limits.check_tensor("its result", shape, np.dtype(dtype_of(data)).itemsize)
    for axis in axes.values():
        table = (axis.after, most_taps(node, mode, axis))
        limits.check_tensor("a table of an axis", table, np.dtype(np.float64).itemsize)
    taps = {number: taps_of(node, mode, axis) for number, axis in axes.items()}
    return _interpolated(node, data, taps)


def upsample(node: OnnxNode) -> Expr:
    """Convert `Upsample` of opset 7 to 9, a `Resize` by scales that rounds down."""
    data = node.required(0)
    scales = node.attributes.get("scales")
    if scales is None:
        scales = node.constant(1, "the scales")
    if scales is None:
        raise NotSupported("it has no scales")
    mode = node.text("mode", "nearest")
    axes = _axes_by_scales(shape_of(data), range(len(scales)), np.asarray(scales, np.float32))
    if mode == "nearest" and _is_exact(node, axes, mode, "asymmetric"):
        return _image(data, axes, mode, "asymmetric", "floor")
    taps = {n: upsample_taps(mode == "nearest", axis) for n, axis in axes.items()}
    return _interpolated(node, data, taps)


def _is_exact(node: OnnxNode, axes: Mapping[int, Axis], mode: str, named: str) -> bool:
    """Return whether the positions of TVM's operator, which needs no tables, equal ONNX's."""
    data = node.required(0)
    is_known = mode in ("nearest", "linear") and named in ("half_pixel", "asymmetric")
    if not is_known or not axes or dtype_of(data) != "float32" or len(shape_of(data)) != 4:
        return False
    ratios = [float(axis.scale) for axis in axes.values()]
    is_power_of_two = all(math.frexp(ratio)[0] == 0.5 for ratio in ratios)
    return (
        is_power_of_two
        and min(axes) >= 2
        and all(axis.after == axis.before * axis.scale for axis in axes.values())
    )


def _image(data: Expr, axes: Mapping[int, Axis], mode: str, named: str, rounding: str) -> Expr:
    shape = shape_of(data)
    sizes = [axes[n].after if n in axes else shape[n] for n in (2, 3)]
    return relax.op.image.resize2d(
        data,
        size=relax.ShapeExpr(sizes),
        roi=[0.0] * 4,
        layout="NCHW",
        method="nearest_neighbor" if mode == "nearest" else mode,
        coordinate_transformation_mode=named,
        rounding_method=rounding,
    )


def _resized_axes(node: OnnxNode, shape: Sequence[int]) -> dict[int, Axis]:
    """Return the axes whose elements change position."""
    rank = len(shape)
    if node.opset < 11:
        scales = node.constant(1, "the scales")
        if scales is None:
            raise NotSupported("it has no scales")
        return _axes_by_scales(shape, range(rank), scales)
    numbers = [int(axis) % rank for axis in node.attributes.get("axes", range(rank))]
    scales = node.constant(2, "the scales")
    sizes = node.constant(3, "the sizes")
    if scales is not None and scales.size:
        axes = _axes_by_scales(shape, numbers, scales)
    elif sizes is not None and sizes.size:
        axes = _axes_by_sizes(node, shape, numbers, sizes)
    else:
        raise NotSupported("it has neither scales nor sizes")
    if transformation(node) != "tf_crop_and_resize":
        return axes
    region = node.constant(1, "the region of interest")
    if region is None or region.size != 2 * len(numbers):
        raise NotSupported(f"its region of interest has not {2 * len(numbers)} numbers")
    if not np.isfinite(region).all():
        raise NotSupported(f"its region of interest is {region.tolist()}")
    starts, ends = np.split(region.astype(np.float32), 2)
    cut = dict(zip(numbers, zip(starts, ends, strict=True), strict=True))
    every = {n: axes.get(n, Axis(shape[n], shape[n], np.float32(1))) for n in numbers}
    return {
        n: Axis(axis.before, axis.after, axis.scale, *cut[n])
        for n, axis in every.items()
        if n in axes or cut[n] != (0, 1)
    }


def _axes_by_scales(
    shape: Sequence[int], numbers: Sequence[int], scales: np.ndarray
) -> dict[int, Axis]:
    is_positive = np.isfinite(scales).all() and (np.asarray(scales) > 0).all()
    if len(scales) != len(numbers) or not is_positive:
        raise NotSupported(
            f"scales {scales.tolist()} are not one positive number for each of {len(numbers)} axes"
        )
    axes = {}
    for number, scale in zip(numbers, scales.astype(np.float32), strict=True):
        size = np.float32(shape[number]) * scale
        if not size < _MOST_ELEMENTS:
            raise NotSupported(f"scale {scale} makes {size} of {shape[number]} elements")
        after = math.floor(size)
        if after < 1:
            raise NotSupported(f"scale {scale} leaves nothing of {shape[number]} elements")
        if scale != 1:
            axes[number] = Axis(shape[number], after, scale)
    return axes


_POLICIES: dict[str, Callable[[Sequence[np.float32]], np.float32]] = {
    "not_larger": min,
    "not_smaller": max,
}
"""Policy -> function that chooses one scale for all axes from the scales of the single axes."""
_HALF = np.float32(0.5)
_MOST_ELEMENTS = 1 << 31
"""The limit of an axis: indices have 32 bits."""


def _axes_by_sizes(
    node: OnnxNode, shape: Sequence[int], numbers: Sequence[int], sizes: np.ndarray
) -> dict[int, Axis]:
    if len(sizes) != len(numbers) or (sizes < 1).any():
        raise NotSupported(
            f"sizes {sizes.tolist()} are not one positive number for each of {len(numbers)} axes"
        )
    scales = [
        np.float32(size) / np.float32(shape[n]) for n, size in zip(numbers, sizes, strict=True)
    ]
    policy = node.text("keep_aspect_ratio_policy", "stretch")
    if policy != "stretch":
        scales = [_POLICIES[policy](scales)] * len(numbers)
        sizes = np.array([math.floor(shape[n] * scales[0] + _HALF) for n in numbers])
        if (sizes < 1).any():
            raise NotSupported(f"scale {scales[0]} of all axes leaves nothing of one")
    return {
        number: Axis(shape[number], size, scale)
        for number, size, scale in zip(numbers, map(int, sizes), scales, strict=True)
        if shape[number] != size or scale != 1
    }


def _interpolated(node: OnnxNode, data: Expr, taps: dict[int, AxisTaps]) -> Expr:
    """Emit the output, whose elements are weighted sums of their taps."""
    if not taps:
        return data
    is_copy = all(axis.positions.shape[1] == 1 for axis in taps.values())
    dtype = dtype_of(data)
    if not is_copy and dtype not in ("float32", "float64"):
        raise NotSupported(f"{dtype} elements can only be resized in mode nearest")
    fill = float(node.attributes.get("extrapolation_value", 0.0))
    if is_copy:
        return copy_elements(node.builder, data, taps, fill)
    return fill_outside(sum_taps(node.builder, data, taps, jointly=False), taps, fill)
