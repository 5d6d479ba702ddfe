"""Convolutions and matrix products of real data with weights that are stored as integers.

The data is float32, multiplied by each weight as a float and scaled after the sum; or it is
quantized by `quantize_slices`, and products are summed in int32, like in TFLite's hybrid kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from tvm import relax, te, tirx

from usmp.ops.dynamic_quantization import QuantizedSlices
from usmp.ops.emit import call_operator, shape_of
from usmp.ops.quantized.rescaling.fixed_point import centered, or_zero
from usmp.ops.quantized.transposed_convolution import TransposedSide, reached
from usmp.ops.window import Window
from usmp.support.errors import UnsupportedModelError

RealData: TypeAlias = "relax.Expr | QuantizedSlices"
_FARTHEST = 255
"""The greatest distance of an integer of `QuantizedSlices` from the offset."""


@dataclass(frozen=True)
class StoredWeight:
    """A weight, `value = (stored - zero point) * scale`.

    Parameters
    ----------
    stored
        integers of 8 bits, or float16.
    scales
        scales of float32: one, or one for each output channel; None if all are 1.
    zero_point
        zero point of the whole weight; 0 with `QuantizedSlices`.
    """

    stored: np.ndarray
    scales: np.ndarray | None
    zero_point: int = 0

    def in_shape(self, stored: np.ndarray) -> StoredWeight:
        """Return a weight of the same scales and zero point, with other stored numbers."""
        return StoredWeight(stored, self.scales, self.zero_point)


def conv2d(
    builder: relax.BlockBuilder,
    data: RealData,
    weight: StoredWeight,
    bias: np.ndarray | None,
    window: Window,
    *,
    channel_first: bool = False,
) -> relax.Expr:
    """Return the call of a convolution, grouped if the weight has fewer channels than the data.

    Parameters
    ----------
    data
        (batch, height, width, channels); if quantized, image by image.
    weight
        (output channels, kernel height, kernel width, channels / groups).
    bias
        (output channels) of float32, or None.
    channel_first
        whether a sum is multiplied by the scale of its channel, then by the scale of the data;
        else by the product of both.
    """
    terms = _Terms(data, weight, bias, channel_first)
    outputs, _, _, depth = weight.stored.shape
    batch, _, _, channels = terms.shape
    per_group = outputs // (channels // depth)
    terms.check_sums(weight.stored.reshape(outputs, -1))

    def compute(*tensors: te.Tensor) -> te.Tensor:
        taps = window.taps()
        inner = te.reduce_axis((0, depth), "ic")

        def product(b: tirx.Var, y: tirx.Var, x: tirx.Var, c: tirx.Var) -> tirx.Expr:
            channel = inner if depth == channels else c // per_group * depth + inner
            position = window.position((y, x), taps)
            factor = (c, *taps, inner)
            return terms.product(tensors, (b, *position, channel), factor, window.inside(position))

        return terms.sums((batch, *window.output, outputs), product, [*taps, inner], tensors)

    return terms.call(builder, "conv2d", compute)


def depthwise_conv2d(
    builder: relax.BlockBuilder,
    data: RealData,
    weight: StoredWeight,
    bias: np.ndarray | None,
    window: Window,
) -> relax.Expr:
    """Return the call of a depthwise convolution.

    Parameters
    ----------
    weight
        (kernel height, kernel width, output channels); output channel c reads channel
        c // (output channels / channels). See `conv2d` for the other parameters.
    """
    terms = _Terms(data, weight, bias)
    outputs = weight.stored.shape[2]
    batch, _, _, channels = terms.shape
    multiplier = outputs // channels
    terms.check_sums(weight.stored.reshape(-1, outputs).T)

    def compute(*tensors: te.Tensor) -> te.Tensor:
        taps = window.taps()

        def product(b: tirx.Var, y: tirx.Var, x: tirx.Var, c: tirx.Var) -> tirx.Expr:
            position = window.position((y, x), taps)
            indices = (b, *position, c // multiplier)
            return terms.product(tensors, indices, (*taps, c), window.inside(position))

        return terms.sums((batch, *window.output, outputs), product, [*taps], tensors)

    return terms.call(builder, "depthwise_conv2d", compute)


def transpose_conv2d(
    builder: relax.BlockBuilder,
    data: RealData,
    weight: StoredWeight,
    bias: np.ndarray | None,
    sides: tuple[TransposedSide, TransposedSide],
) -> relax.Expr:
    """Return the call of a transposed convolution.

    Parameters
    ----------
    weight
        (output channels, kernel height, kernel width, channels).
    sides
        rows and columns. See `conv2d` for the other parameters.
    """
    terms = _Terms(data, weight, bias, channel_first=True)
    outputs, _, _, channels = weight.stored.shape
    terms.check_sums(weight.stored.reshape(outputs, -1))

    def compute(*tensors: te.Tensor) -> te.Tensor:
        steps = [side.steps(name) for side, name in zip(sides, ("sy", "sx"), strict=True)]
        inner = te.reduce_axis((0, channels), "ic")

        def product(b: tirx.Var, y: tirx.Var, x: tirx.Var, c: tirx.Var) -> tirx.Expr:
            positions, taps, condition = reached(sides, (y, x), steps, ascending=True)
            indices, factor = (b, *positions, inner), (c, *taps, inner)
            return terms.product(tensors, indices, factor, None, condition)

        shape = (terms.shape[0], sides[0].output, sides[1].output, outputs)
        return terms.sums(shape, product, [*steps, inner], tensors)

    return terms.call(builder, "transpose_conv2d", compute)


def fully_connected(
    builder: relax.BlockBuilder, data: RealData, weight: StoredWeight, bias: np.ndarray | None
) -> relax.Expr:
    """Multiply each row of the data by each row of the weight.

    Parameters
    ----------
    data
        (rows, depth); if quantized, row by row.
    weight
        (outputs, depth).
    bias
        (outputs) of float32, or None.
    """
    terms = _Terms(data, weight, bias)
    rows, depth = terms.shape
    terms.check_sums(weight.stored)

    def compute(*tensors: te.Tensor) -> te.Tensor:
        k = te.reduce_axis((0, depth), "k")

        def product(row: tirx.Var, c: tirx.Var) -> tirx.Expr:
            return terms.product(tensors, (row, k), (c, k), None)

        return terms.sums((rows, weight.stored.shape[0]), product, [k], tensors)

    return terms.call(builder, "fully_connected", compute)


@dataclass(frozen=True)
class _Terms:
    """The operands of an operator's sums; `tensors` are the tensors of `arguments`, in order."""

    data: RealData
    weight: StoredWeight
    bias: np.ndarray | None
    channel_first: bool = False

    @property
    def slices(self) -> QuantizedSlices | None:
        """The data, if it is quantized."""
        return self.data if isinstance(self.data, QuantizedSlices) else None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the data."""
        return shape_of(self.data if self.slices is None else self.slices.integers)

    @property
    def arguments(self) -> dict[str, relax.Expr | np.ndarray]:
        """The tensors that exist, by name."""
        slices, scales = self.slices, self.weight.scales
        named = {
            "data": self.data if slices is None else slices.integers,
            "weight": self.weight.stored,
            "scales": None if slices is None else slices.scales,
            "offsets": None if slices is None else slices.offsets,
            "weight_scales": None if scales is None or scales.size == 1 else scales,
            "bias": self.bias,
        }
        return {name: tensor for name, tensor in named.items() if tensor is not None}

    def call(
        self, builder: relax.BlockBuilder, kind: str, compute: Callable[..., te.Tensor]
    ) -> relax.Expr:
        """Return a call of the PrimFunc of `compute` on the tensors."""
        name = kind if self.slices is None else f"hybrid_{kind}"
        return call_operator(
            builder, name, compute, list(self.arguments.values()), takes_epilogue=True
        )

    def check_sums(self, weight: np.ndarray) -> None:
        """Check that sums of products with a weight, (outputs, ...), fit into int32.

        Raises
        ------
        UnsupportedModelError
            a sum may not fit.
        """
        if self.slices is None:
            return
        largest = np.abs(weight.astype(np.int64)).sum(axis=1).max(initial=0) * _FARTHEST
        if largest >= 2**31:
            raise UnsupportedModelError(
                f"its accumulators could reach {largest}, more than 32 bits hold"
            )

    def product(
        self,
        tensors: Sequence[te.Tensor],
        indices: Sequence[tirx.Expr],
        factor: Sequence[tirx.Expr],
        condition: tirx.Expr | None,
        has_factor: tirx.Expr | None = None,
    ) -> tirx.Expr:
        """Return the product of an element of the data and an element of the weight.

        Parameters
        ----------
        condition
            whether the element of the data exists; else it counts as 0.
        has_factor
            whether data and weight have their elements; if not, neither is read.
        """
        named = self._named(tensors)
        value, stored = named["data"](*indices), named["weight"](*factor)
        if self.slices is not None:
            value = value.astype("int32")
            if "offsets" in named:
                value = value - named["offsets"][indices[0]]
            weight = stored.astype("int32")
        elif str(stored.ty.dtype) == "float16":
            weight = stored.astype("float32")
        else:
            weight = centered(stored, self.weight.zero_point).astype("float32")
        return or_zero(has_factor, or_zero(condition, value) * weight)

    def sums(
        self,
        shape: Sequence[int],
        product: Callable[..., tirx.Expr],
        axes: list[tirx.IterVar],
        tensors: Sequence[te.Tensor],
    ) -> te.Tensor:
        """Return sums over the axes as real numbers; slices are on their first axis, channels on
        the last."""
        total = te.compute(shape, lambda *i: te.sum(product(*i), axes), "accumulator")
        if len(self.arguments) == 2 and self.weight.scales is None:
            return total
        named = self._named(tensors)

        def output(*indices: tirx.Var) -> tirx.Expr:
            value = total[indices].astype("float32")
            factors = [
                *([named["scales"][indices[0]]] if "scales" in named else []),
                *self._weight_scale(named, indices[-1]),
            ]
            if self.channel_first or len(factors) < 2:
                for scale in reversed(factors):
                    value = value * scale
            else:
                value = value * (factors[0] * factors[1])
            return value + named["bias"][indices[-1]] if "bias" in named else value

        return te.compute(shape, output, "output")

    def _weight_scale(self, named: dict[str, te.Tensor], channel: tirx.Var) -> list[tirx.Expr]:
        if self.weight.scales is None:
            return []
        if "weight_scales" in named:
            return [named["weight_scales"][channel]]
        return [tirx.FloatImm("float32", float(self.weight.scales[0]))]

    def _named(self, tensors: Sequence[te.Tensor]) -> dict[str, te.Tensor]:
        return dict(zip(self.arguments, tensors, strict=True))
