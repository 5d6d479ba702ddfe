"""Images of another size: each pixel is a sum of pixels of the input, with weights.

Which ones, and their weights, depends on the sizes alone: tables, one an axis, which are computed
here in float32, as PyTorch does.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from operator import mul

import numpy as np
from tvm import relax, te, tirx
from tvm.ir import Expr

from usmp.frontend.pytorch.converters.operator import Operator, converts
from usmp.ops.emit import call_operator, shape_of


@dataclass(frozen=True)
class ResamplingTaps:
    """What the pixels along one axis are made of.

    Parameters
    ----------
    positions
        (extent of the output, taps) where each tap reads.
    weights
        of the same shape.
    """

    positions: np.ndarray
    weights: np.ndarray


@converts("upsample_nearest2d.vec")
def _nearest(operator: Operator) -> Expr:
    data = operator["input"]
    for axis, (before, after, scale) in enumerate(_sizes(operator), 2):
        positions = _nearest_positions(before, after, scale)
        data = operator.emit(relax.op.take(data, relax.const(positions), axis, mode="fast"))
    return data


def _nearest_positions(before: int, after: int, scale: float | None) -> np.ndarray:
    """What each pixel is a copy of. Where the size is the same or twice as large, PyTorch leaves
    the factor out, which need not be exactly that."""
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
    """Extent before and after, and the factor if one is given, of each axis of the image."""
    before = shape_of(operator["input"])[2:]
    scales = operator["scale_factors"]
    if scales is None:
        return [(b, int(a), None) for b, a in zip(before, operator["output_size"], strict=True)]
    return [(b, int(b * scale), scale) for b, scale in zip(before, scales, strict=True)]


def _coordinates(operator: Operator, before: int, after: int, scale: float | None) -> np.ndarray:
    """Where the pixels of the output lie in the input."""
    steps = np.arange(after, dtype=np.float32)
    if operator["align_corners"]:
        step = np.float32((before - 1) / (after - 1)) if after > 1 else np.float32(0)
        corners: np.ndarray = steps * step
        return corners
    half = np.float32(0.5)
    step = np.float32(before / after) if scale is None else np.float32(1 / scale)
    centers: np.ndarray = (steps + half) * step - half
    return centers


def _linear_taps(
    operator: Operator, before: int, after: int, scale: float | None
) -> ResamplingTaps:
    if before == after:
        # Copies, whatever the factor is.
        at = np.arange(after, dtype=np.float32)
    else:
        at = np.maximum(_coordinates(operator, before, after, scale), np.float32(0))
    first = np.minimum(np.floor(at).astype(np.int32), before - 1)
    second = np.minimum(first + 1, before - 1)
    rest = np.clip(at - first, 0, 1).astype(np.float32)
    return ResamplingTaps(np.stack([first, second], 1), np.stack([1 - rest, rest], 1))


_SHARPNESS = np.float32(-0.75)
"""The coefficient of the cubic kernel."""


def _cubic_taps(operator: Operator, before: int, after: int, scale: float | None) -> ResamplingTaps:
    at = _coordinates(operator, before, after, scale)
    first = np.floor(at)
    rest = (at - first).astype(np.float32)
    positions = first.astype(np.int32)[:, None] + np.arange(-1, 3, dtype=np.int32)
    weights = [_far(rest + 1), _near(rest), _near(1 - rest), _far(2 - rest)]
    return ResamplingTaps(
        np.clip(positions, 0, before - 1), np.stack(weights, 1).astype(np.float32)
    )


def _near(x: np.ndarray) -> np.ndarray:
    """The cubic kernel up to a distance of 1."""
    weight: np.ndarray = ((_SHARPNESS + 2) * x - (_SHARPNESS + 3)) * x * x + 1
    return weight


def _far(x: np.ndarray) -> np.ndarray:
    """The cubic kernel between the distances 1 and 2."""
    a = _SHARPNESS
    weight: np.ndarray = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return weight


def _resampled(operator: Operator, taps: list[ResamplingTaps]) -> Expr:
    """The weighted sums over all axes of the image."""
    data = operator["input"]
    if operator.dtype != "float32":
        raise operator.refusal(f"of {operator.dtype} is not supported; convert it to float32")
    batch, channels = shape_of(data)[:2]
    tables = [table for axis in taps for table in (axis.positions, axis.weights)]

    def compute(data: te.Tensor, *tables: te.Tensor) -> te.Tensor:
        axes = [te.reduce_axis((0, axis.positions.shape[1])) for axis in taps]

        def element(n: tirx.Var, c: tirx.Var, *place: tirx.Var) -> tirx.Expr:
            chosen = list(zip(place, axes, strict=True))
            where = [positions[at] for positions, at in zip(tables[::2], chosen, strict=True)]
            weights = [weights[at] for weights, at in zip(tables[1::2], chosen, strict=True)]
            return te.sum(data[(n, c, *where)] * functools.reduce(mul, weights), axes)

        shape = (batch, channels, *(len(axis.positions) for axis in taps))
        return te.compute(shape, element, "output")

    return call_operator(operator.builder, "resample", compute, [data, *tables])
