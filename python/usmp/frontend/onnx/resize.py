"""ONNX `Resize` and `Upsample`: where each output element lies in the input is known at compile
time, so each axis has a table of the elements that it reads and of their weights.

TVM's computes the positions from the extents only, while ONNX divides by the scales, which are not
always their quotient; it serves where both are exact.

Source: ONNX operators, Resize; onnxruntime 1.31, upsample_base.h, for the
types in which positions are computed (float32) and for what ONNX leaves open.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from tvm import relax, te, tirx
from tvm.ir import Expr

from usmp.frontend.onnx.node import NotSupported, OnnxNode, dtype_of
from usmp.ops.emit import call_operator, shape_of

_ZERO, _HALF, _ONE = np.float32(0), np.float32(0.5), np.float32(1)


@dataclass(frozen=True)
class _Axis:
    """An axis that is resized: extents, the scale, and the region of interest in parts of it."""

    before: int
    after: int
    scale: np.float32
    start: np.float32 = _ZERO
    end: np.float32 = _ONE


@dataclass(frozen=True)
class _Taps:
    """The elements that each output element reads, [after, taps], and what they weigh.

    Elements that are outside, where the model extrapolates, are -1.
    """

    indices: np.ndarray
    weights: np.ndarray


def resize(node: OnnxNode) -> Expr:
    """`Resize` of opset 10 and later."""
    data = node.required(0)
    axes = _resized_axes(node, shape_of(data))
    mode = node.text("mode", "nearest")
    if mode not in ("nearest", "linear", "cubic"):
        raise NotSupported(f'mode "{mode}" is not known')
    if node.attributes.get("antialias", 0) and mode != "nearest":
        raise NotSupported("antialias=1; leave it out, or use AveragePool")
    named = _transformation(node)
    roundings = {_rounding(node, axis) for axis in axes.values()}
    if len(roundings) == 1 and _is_exact(node, axes, mode, named):
        return _image(data, axes, mode, named, *roundings)
    taps = {number: _taps(node, mode, axis) for number, axis in axes.items()}
    return _interpolated(node, data, taps)


def upsample(node: OnnxNode) -> Expr:
    """`Upsample` of opset 7 to 9, which is a `Resize` by scales that rounds down."""
    data = node.required(0)
    scales = node.attributes.get("scales")
    if scales is None:
        scales = node.constant(1, "the scales")
    if scales is None:
        raise NotSupported("it has no scales")
    mode = node.text("mode", "nearest")
    axes = _axes_by_scales(shape_of(data), range(len(scales)), np.asarray(scales, np.float32))
    if mode == "nearest":
        if _is_exact(node, axes, mode, "asymmetric"):
            return _image(data, axes, mode, "asymmetric", "floor")
        taps = {n: _one_tap(np.floor(_asymmetric(axis)), axis) for n, axis in axes.items()}
    elif mode in ("linear", "bilinear"):
        taps = {n: _linear(_asymmetric(axis), axis) for n, axis in axes.items()}
    else:
        raise NotSupported(f'mode "{mode}" is not known')
    return _interpolated(node, data, taps)


def _transformation(node: OnnxNode) -> str:
    """What computes positions; opset 10 has but one way."""
    if node.opset < 11:
        return "asymmetric"
    return node.text("coordinate_transformation_mode", "half_pixel")


def _rounding(node: OnnxNode, axis: _Axis) -> str:
    """Which element is the nearest; opset 10 rounds towards what is larger where it makes the
    image smaller."""
    if node.opset < 11:
        return "ceil" if axis.scale < 1 else "floor"
    return node.text("nearest_mode", "round_prefer_floor")


def _is_exact(node: OnnxNode, axes: Mapping[int, _Axis], mode: str, named: str) -> bool:
    """Whether TVM's operator, which needs no tables, finds the same positions: all that it computes
    from the extents is exact in floats."""
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


def _image(data: Expr, axes: Mapping[int, _Axis], mode: str, named: str, rounding: str) -> Expr:
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


def _resized_axes(node: OnnxNode, shape: Sequence[int]) -> dict[int, _Axis]:
    """The axes whose elements change positions."""
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
    if _transformation(node) != "tf_crop_and_resize":
        return axes
    region = node.constant(1, "the region of interest")
    if region is None or region.size != 2 * len(numbers):
        raise NotSupported(f"its region of interest has not {2 * len(numbers)} numbers")
    starts, ends = np.split(region.astype(np.float32), 2)
    cut = dict(zip(numbers, zip(starts, ends, strict=True), strict=True))
    every = {n: axes.get(n, _Axis(shape[n], shape[n], _ONE)) for n in numbers}
    return {
        n: _Axis(axis.before, axis.after, axis.scale, *cut[n])
        for n, axis in every.items()
        if n in axes or cut[n] != (0, 1)
    }


def _axes_by_scales(
    shape: Sequence[int], numbers: Sequence[int], scales: np.ndarray
) -> dict[int, _Axis]:
    if len(scales) != len(numbers) or (scales <= 0).any():
        raise NotSupported(
            f"scales {scales.tolist()} are not one positive number for each of {len(numbers)} axes"
        )
    axes = {}
    for number, scale in zip(numbers, scales.astype(np.float32), strict=True):
        after = math.floor(np.float32(shape[number]) * scale)
        if after < 1:
            raise NotSupported(f"scale {scale} leaves nothing of {shape[number]} elements")
        if scale != 1:
            axes[number] = _Axis(shape[number], after, scale)
    return axes


def _axes_by_sizes(
    node: OnnxNode, shape: Sequence[int], numbers: Sequence[int], sizes: np.ndarray
) -> dict[int, _Axis]:
    if len(sizes) != len(numbers) or (sizes < 1).any():
        raise NotSupported(
            f"sizes {sizes.tolist()} are not one positive number for each of {len(numbers)} axes"
        )
    policy = node.text("keep_aspect_ratio_policy", "stretch")
    if policy != "stretch":
        raise NotSupported(f'keep_aspect_ratio_policy "{policy}"; give the sizes that it leads to')
    scales = [
        np.float32(size) / np.float32(shape[n]) for n, size in zip(numbers, sizes, strict=True)
    ]
    return {
        number: _Axis(shape[number], size, scale)
        for number, size, scale in zip(numbers, map(int, sizes), scales, strict=True)
        if shape[number] != size or scale != 1
    }


def _taps(node: OnnxNode, mode: str, axis: _Axis) -> _Taps:
    """What each output element reads along an axis."""
    named = _transformation(node)
    if named not in _POSITIONS:
        raise NotSupported(f'coordinate_transformation_mode "{named}" is not known')
    positions = _POSITIONS[named](axis)
    if mode == "nearest":
        rounding = _rounding(node, axis)
        if rounding not in _ROUNDINGS:
            raise NotSupported(f'nearest_mode "{rounding}" is not known')
        taps = _one_tap(_ROUNDINGS[rounding](positions), axis)
    elif mode == "linear":
        taps = _linear(positions, axis)
    else:
        taps = _cubic(node, positions, axis)
    if named == "tf_crop_and_resize":
        is_outside = (positions < 0) | (positions > axis.before - 1)
        taps = _Taps(np.where(is_outside[:, None], -1, taps.indices), taps.weights)
    return taps


def _positions(axis: _Axis) -> np.ndarray:
    return np.arange(axis.after, dtype=np.float32)


def _asymmetric(axis: _Axis) -> np.ndarray:
    return _positions(axis) / axis.scale


def _half_pixel(axis: _Axis) -> np.ndarray:
    return (_positions(axis) + _HALF) / axis.scale - _HALF


def _pytorch_half_pixel(axis: _Axis) -> np.ndarray:
    return _half_pixel(axis) if axis.after > 1 else np.zeros(1, np.float32)


def _align_corners(axis: _Axis) -> np.ndarray:
    if axis.after == 1:
        return np.zeros(1, np.float32)
    return _positions(axis) * np.float32(axis.before - 1) / np.float32(axis.after - 1)


def _half_pixel_symmetric(axis: _Axis) -> np.ndarray:
    exact = axis.scale * np.float32(axis.before)
    adjustment = np.float32(axis.after) / exact
    offset = np.float32(axis.before) / np.float32(2) * (_ONE - adjustment)
    return offset + _half_pixel(axis)


def _crop(axis: _Axis) -> np.ndarray:
    last = np.float32(axis.before - 1)
    if axis.after == 1:
        return np.array([_HALF * (axis.start + axis.end) * last], np.float32)
    step = (axis.end - axis.start) * last / np.float32(axis.after - 1)
    return axis.start * last + _positions(axis) * step


_POSITIONS: dict[str, Callable[[_Axis], np.ndarray]] = {
    "asymmetric": _asymmetric,
    "half_pixel": _half_pixel,
    "half_pixel_symmetric": _half_pixel_symmetric,
    "pytorch_half_pixel": _pytorch_half_pixel,
    "align_corners": _align_corners,
    "tf_crop_and_resize": _crop,
    "tf_half_pixel_for_nn": lambda axis: (_positions(axis) + _HALF) / axis.scale,
}
"""Where output elements lie in the input, in elements."""

_ROUNDINGS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "round_prefer_floor": lambda positions: np.ceil(positions - _HALF),
    "round_prefer_ceil": lambda positions: np.floor(positions + _HALF),
    "floor": np.floor,
    "ceil": np.ceil,
}


def _one_tap(positions: np.ndarray, axis: _Axis) -> _Taps:
    indices = np.clip(positions, 0, axis.before - 1).astype(np.int32)[:, None]
    return _Taps(indices, np.ones(indices.shape, np.float32))


def _linear(positions: np.ndarray, axis: _Axis) -> _Taps:
    inside = np.clip(positions, 0, axis.before - 1).astype(np.float32)
    first = np.floor(inside)
    second = np.minimum(first + 1, axis.before - 1)
    share = inside - first
    weights = np.stack([_ONE - share, share], 1)
    return _Taps(np.stack([first, second], 1).astype(np.int32), weights.astype(np.float32))


def _cubic(node: OnnxNode, positions: np.ndarray, axis: _Axis) -> _Taps:
    first = np.floor(positions)
    taken = first[:, None] + np.arange(-1, 3)
    weights = _cubic_curve(node, np.abs(positions[:, None] - taken))
    if node.attributes.get("exclude_outside", 0):
        weights = np.where((taken < 0) | (taken >= axis.before), 0, weights)
        weights = weights / weights.sum(1, keepdims=True)
    indices = np.clip(taken, 0, axis.before - 1).astype(np.int32)
    return _Taps(indices, weights.astype(np.float32))


def _cubic_curve(node: OnnxNode, distance: np.ndarray) -> np.ndarray:
    """Keys' kernel, which is 0 from a distance of 2 on."""
    a = float(node.attributes.get("cubic_coeff_a", -0.75))
    x = distance.astype(np.float64)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def _interpolated(node: OnnxNode, data: Expr, taps: dict[int, _Taps]) -> Expr:
    """Every output element as the sum of what it reads."""
    if not taps:
        return data
    is_copy = all(t.indices.shape[1] == 1 for t in taps.values())
    dtype = dtype_of(data)
    if not is_copy and dtype not in ("float32", "float64"):
        raise NotSupported(f"{dtype} elements can only be resized in mode nearest")
    fill = float(node.attributes.get("extrapolation_value", 0.0))
    if is_copy:
        return _copied(node, data, taps, fill)
    for number in sorted(taps, key=lambda n: len(taps[n].indices) / shape_of(data)[n]):
        data = node.builder.emit(_one_axis(node, data, number, taps[number]))
    return _filled(node, data, taps, fill)


def _copied(node: OnnxNode, data: Expr, taps: dict[int, _Taps], fill: float) -> Expr:
    """One element each, all axes at once."""
    numbers = sorted(taps)
    shape = [len(taps[n].indices) if n in taps else e for n, e in enumerate(shape_of(data))]
    tables = [taps[n].indices[:, 0].copy() for n in numbers]
    extrapolates = any((table < 0).any() for table in tables)

    def compute(data: te.Tensor, *tables: te.Tensor) -> te.Tensor:
        def element(*at: tirx.Var) -> tirx.Expr:
            read = {n: table(at[n]) for n, table in zip(numbers, tables, strict=True)}
            positions = [read.get(n, index) for n, index in enumerate(at)]
            if not extrapolates:
                return data(*positions)
            is_outside = tirx.any(*(position < 0 for position in read.values()))
            constant = tirx.const(fill, data.dtype)
            return tirx.if_then_else(is_outside, constant, data(*positions))

        return te.compute(shape, element, name="resize")

    return call_operator(node.builder, "resize", compute, [data, *tables])


def _one_axis(node: OnnxNode, data: Expr, number: int, taps: _Taps) -> Expr:
    """Sums along one axis; an element that is outside counts as the first one."""
    shape = list(shape_of(data))
    count = taps.indices.shape[1]
    shape[number] = len(taps.indices)
    weights = taps.weights.astype(dtype_of(data))

    def compute(data: te.Tensor, indices: te.Tensor, weights: te.Tensor) -> te.Tensor:
        tap = te.reduce_axis((0, count), "tap")

        def element(*at: tirx.Var) -> tirx.Expr:
            positions = list(at)
            positions[number] = indices(at[number], tap)
            return te.sum(data(*positions) * weights(at[number], tap), axis=tap)

        return te.compute(shape, element, name="resize")

    indices = np.maximum(taps.indices, 0)
    return call_operator(node.builder, "resize", compute, [data, indices, weights])


def _filled(node: OnnxNode, data: Expr, taps: dict[int, _Taps], fill: float) -> Expr:
    """With one value where an axis lies outside of the input."""
    inside = np.ones(shape_of(data), bool)
    for number, axis in taps.items():
        view = [1] * inside.ndim
        view[number] = -1
        inside &= (axis.indices >= 0).all(1).reshape(view)
    if inside.all():
        return data
    constant = relax.const(fill, dtype_of(data))
    return relax.op.where(relax.const(inside), data, constant)
