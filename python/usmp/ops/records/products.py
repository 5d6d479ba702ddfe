"""Records of operators that add up products."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

import numpy as np

from usmp.ops.records.base import QuantizedOp
from usmp.ops.records.windowed import WindowedOp
from usmp.ops.rounding import Rounding
from usmp.ops.window import Layout


@dataclass(frozen=True, kw_only=True)
class WeightedOp(QuantizedOp):
    """An operator with constant weights; its inputs are the data and the weight.

    Parameters
    ----------
    input_zero_point, weight_zero_point, output_zero_point
        zero points of the data, the weight and the output.
    clamp
        least and greatest integer of the output.
    rounding
        rounding of the product of an accumulator with its factor.
    """

    input_zero_point: int = field(init=False)
    weight_zero_point: int = field(init=False)
    output_zero_point: int = field(init=False)
    clamp: tuple[int, int]
    rounding: Rounding

    def __post_init__(self) -> None:
        """Set the zero points."""
        data, weight = self.inputs
        (output,) = self.outputs
        object.__setattr__(self, "input_zero_point", data.zero_point)
        object.__setattr__(self, "weight_zero_point", weight.zero_points[0])
        object.__setattr__(self, "output_zero_point", output.zero_point)

    def by_output(self, weight: np.ndarray) -> np.ndarray:
        """Return a weight as (outputs, kernel height, kernel width, depth)."""
        return weight

    def with_channels(self, channels: Collection[int]) -> WeightedOp:
        """Return the record of the operator on some of the output channels."""
        data, weight = self.inputs
        if len(weight.scales) <= 1:
            return self
        kept = replace(
            weight,
            scales=tuple(weight.scales[c] for c in channels),
            zero_points=tuple(weight.zero_points[c] for c in channels),
        )
        return replace(self, inputs=(data, kept))


@dataclass(frozen=True, kw_only=True)
class Conv2d(WeightedOp, WindowedOp, kind="conv2d"):
    """Convolution, grouped or not."""


@dataclass(frozen=True, kw_only=True)
class DepthwiseConv2d(WeightedOp, WindowedOp, kind="depthwise_conv2d"):
    """Convolution of each channel by itself."""

    def by_output(self, weight: np.ndarray) -> np.ndarray:
        """Return a weight of (kernel height, kernel width, outputs), with outputs first and a depth
        of 1."""
        return np.moveaxis(weight, 2, 0)[..., np.newaxis]


class FullyConnected(WeightedOp, kind="fully_connected"):
    """Product with a constant matrix."""

    def by_output(self, weight: np.ndarray) -> np.ndarray:
        """Return a weight of (outputs, depth), with a kernel of one element."""
        return weight[:, np.newaxis, np.newaxis]


@dataclass(frozen=True, kw_only=True)
class _TransposedWindow(QuantizedOp):
    describes_extents = True
    layout: Layout
    strides: tuple[int, int]
    padding: tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class TransposeConv2d(WeightedOp, _TransposedWindow, kind="transpose_conv2d"):
    """Transposed convolution."""


@dataclass(frozen=True, kw_only=True)
class BatchMatmul(QuantizedOp, kind="batch_matmul"):
    """Product of two computed matrices, batched.

    Parameters
    ----------
    transposed
        whether the first matrix is (..., depth, rows), and the second (..., columns, depth).
    clamp
        least and greatest integer of the output.
    rounding
        rounding of the product of a sum with the factor; None for TFLite's rounding for the type.
    """

    transposed: tuple[bool, bool]
    clamp: tuple[int, int]
    rounding: Rounding | None = None
