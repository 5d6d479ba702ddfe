"""Sizes of the results of ONNX operators that can make large tensors of small inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from math import ceil
from typing import Any, TypeAlias

import numpy as np

from usmp.frontend.onnx.graph.operands import Operand

Size: TypeAlias = tuple[list[int], int]
"""Shape, and bytes per element."""

_LARGEST_ITEM = 8
_NOTHING: Size = ([0], 1)


def asked_size(
    operator: str, operands: Sequence[Operand], attributes: Mapping[str, Any] | None = None
) -> Size:
    """Return the size of the result of an operator that can make a large tensor of small inputs.

    For other operators, and for unknown inputs, the result is a lower bound. Python's integers do
    not overflow, unlike those of TVM.
    """
    try:
        if operator in _ASKED:
            return _ASKED[operator](operands, attributes or {})
        values = [operand.value for operand in operands]
        constants = [value for value in values if value is not None]
        if values and len(constants) == len(values):
            return list(np.broadcast_shapes(*(v.shape for v in constants))), _LARGEST_ITEM
    except (ValueError, IndexError, TypeError, AttributeError, OverflowError, ZeroDivisionError):
        # The operator's converter reports inconsistent inputs.
        pass
    return _NOTHING


def _integers(operand: Operand) -> list[int]:
    """Return the elements of a constant.

    Raises
    ------
    ValueError
        the operand is no constant of integers.
    """
    if operand.integers is None:
        raise ValueError("not a constant of integers")
    return operand.integers


def _numbers(operand: Operand) -> np.ndarray:
    if operand.value is None:
        raise ValueError("not a constant")
    return operand.value


def _shape(operand: Operand) -> list[int]:
    if operand.extents is None:
        raise ValueError("not a known shape")
    return operand.extents


def _gather(operands: Sequence[Operand], attributes: Mapping[str, Any]) -> Size:
    data, indices = operands
    if data.value is None or indices.value is None:
        return _NOTHING
    axis = int(attributes.get("axis", 0))
    return [indices.value.size, data.value.size // data.value.shape[axis]], data.item_bytes


def _constant_of_shape(operands: Sequence[Operand], attributes: Mapping[str, Any]) -> Size:
    return _integers(operands[0]), _LARGEST_ITEM


def _expand(operands: Sequence[Operand], attributes: Mapping[str, Any]) -> Size:
    shape = operands[0].extents or []
    pairs = zip_longest(_integers(operands[1])[::-1], shape[::-1], fillvalue=1)
    return [_broadcast(*pair) for pair in pairs][::-1], operands[0].item_bytes


def _broadcast(a: int, b: int) -> int:
    return b if a == 1 else a


def _tile(operands: Sequence[Operand], attributes: Mapping[str, Any]) -> Size:
    repeats, shape = _integers(operands[1]), operands[0].extents
    if shape is None or len(shape) != len(repeats):
        return repeats, operands[0].item_bytes
    return [a * b for a, b in zip(shape, repeats, strict=True)], operands[0].item_bytes


def _pad(operands: Sequence[Operand], attributes: Mapping[str, Any]) -> Size:
    shape = _shape(operands[0])
    widths = attributes["pads"] if "pads" in attributes else _integers(operands[1])
    axes = list(range(len(shape)))
    if len(operands) > 3 and operands[3].shape is not None:
        axes = [axis % len(shape) for axis in _integers(operands[3])]
    padded, half = list(shape), len(axes)
    for axis, before, after in zip(axes, widths[:half], widths[half:], strict=True):
        padded[axis] += int(before) + int(after)
    return padded, operands[0].item_bytes


def _range(operands: Sequence[Operand], attributes: Mapping[str, Any]) -> Size:
    start, limit, step = (_numbers(operand).reshape(-1)[0].item() for operand in operands)
    if isinstance(step, int):
        return [max(-((start - limit) // step), 0)], operands[0].item_bytes
    return [max(ceil((limit - start) / step), 0)], operands[0].item_bytes


def _one_hot(operands: Sequence[Operand], attributes: Mapping[str, Any]) -> Size:
    (depth,) = _numbers(operands[1]).reshape(-1)
    return [*_shape(operands[0]), int(depth)], operands[2].item_bytes


def _reshape(operands: Sequence[Operand], attributes: Mapping[str, Any]) -> Size:
    """Return the result's size without the extents that follow from the input."""
    extents = _integers(operands[1])
    return [extent for extent in extents if extent not in (0, -1)], operands[0].item_bytes


def _affine_grid(operands: Sequence[Operand], attributes: Mapping[str, Any]) -> Size:
    batch, _, *image = _integers(operands[1])
    return [batch, *image, len(image)], operands[0].item_bytes


def _roi_align(operands: Sequence[Operand], attributes: Mapping[str, Any]) -> Size:
    sides = (int(attributes.get(f"output_{side}", 1)) for side in ("height", "width"))
    return [_shape(operands[1])[0], _shape(operands[0])[1], *sides], operands[0].item_bytes


def _window(operands: Sequence[Operand], attributes: Mapping[str, Any]) -> Size:
    """Return the size of the result of a convolution or pooling with checked attributes."""
    batch, channels, *image = _shape(operands[0])
    kernel = attributes.get("kernel_shape", [])
    if len(operands) > 1:
        channels, _, *kernel = _shape(operands[1])
    ones = [1] * len(image)
    strides, dilations = (attributes.get(n, ones) for n in ("strides", "dilations"))
    pads = attributes.get("pads", [0] * 2 * len(image))
    sides = [
        (extent + before + after - (taps - 1) * dilation - 1) // stride + 1
        for extent, before, after, taps, dilation, stride in zip(
            image, pads, pads[len(image) :], kernel, dilations, strides, strict=True
        )
    ]
    return [batch, channels, *sides], operands[0].item_bytes


def _transposed(operands: Sequence[Operand], attributes: Mapping[str, Any]) -> Size:
    batch, _, *image = _shape(operands[0])
    _, channels, *kernel = _shape(operands[1])
    channels *= int(attributes.get("group", 1))
    ones, zeros = [1] * len(image), [0] * len(image)
    strides, dilations = (attributes.get(n, ones) for n in ("strides", "dilations"))
    pads, added = attributes.get("pads", zeros + zeros), attributes.get("output_padding", zeros)
    sides = [
        (extent - 1) * stride + more + (taps - 1) * dilation + 1 - before - after
        for extent, stride, more, taps, dilation, before, after in zip(
            image, strides, added, kernel, dilations, pads, pads[len(image) :], strict=True
        )
    ]
    sides = [int(side) for side in attributes.get("output_shape", sides)]
    return [batch, channels, *sides], operands[0].item_bytes


def _stacked(operands: Sequence[Operand], attributes: Mapping[str, Any]) -> Size:
    if any(operand.value is None for operand in operands):
        return _NOTHING
    shapes = [_shape(operand) for operand in operands]
    return [len(shapes), *np.broadcast_shapes(*map(tuple, shapes))], _LARGEST_ITEM


def _scatter(operands: Sequence[Operand], attributes: Mapping[str, Any]) -> Size:
    """Return the size of the importer's table, which has the position of each element."""
    indices = operands[1]
    if indices.value is None:
        return _NOTHING
    return [indices.value.size, max(indices.value.ndim, 1)], _LARGEST_ITEM


_ASKED: dict[str, Callable[[Sequence[Operand], Mapping[str, Any]], Size]] = {
    "AffineGrid": _affine_grid,
    "ConstantOfShape": _constant_of_shape,
    "ConvTranspose": _transposed,
    "Expand": _expand,
    "Gather": _gather,
    "OneHot": _one_hot,
    "Pad": _pad,
    "Range": _range,
    "Reshape": _reshape,
    "RoiAlign": _roi_align,
    "Scatter": _scatter,
    "ScatterElements": _scatter,
    "Tile": _tile,
    **dict.fromkeys(("AveragePool", "Conv", "ConvInteger", "LpPool", "MaxPool"), _window),
    **dict.fromkeys(("Min", "Max", "Mean", "Sum"), _stacked),
}
