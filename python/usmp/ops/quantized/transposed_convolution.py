"""Quantized transposed convolutions, in which each output element gathers its products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from tvm import relax, te, tirx

from usmp.ops.emit import call_operator, shape_of
from usmp.ops.quantized.convolution import sum_and_rescale
from usmp.ops.quantized.rescaling.fixed_point import centered
from usmp.ops.quantized.rescaling.parameters import Quantization
from usmp.ops.quantized.rescaling.rescale import Rescale
from usmp.ops.quantized.rescaling.weighted_constants import weighted_constants
from usmp.ops.records.products import TransposeConv2d
from usmp.ops.window import Layout


@dataclass(frozen=True)
class TransposedSide:
    """Rows, or columns, of a transposed convolution.

    Element i of the data times tap t of the kernel is added to element i * stride + t - padding of
    the output, if it exists.
    """

    data: int
    kernel: int
    stride: int
    padding: int
    output: int

    def steps(self, name: str) -> tirx.IterVar:
        """Return a reduction axis over the data elements that may reach an output element."""
        return te.reduce_axis((0, -(-self.kernel // self.stride)), name)

    def position(self, output: tirx.Var, step: tirx.IterVar) -> tirx.Expr:
        """Return the data element `step` elements before the last one that reaches `output`."""
        return tirx.floordiv(output + self.padding, self.stride) - step

    def tap(self, output: tirx.Var, step: tirx.IterVar) -> tirx.Expr:
        """Return the tap of the kernel that leads from `position` to `output`."""
        return tirx.floormod(output + self.padding, self.stride) + step * self.stride

    def conditions(
        self, position: tirx.Expr, tap: tirx.Expr, step: tirx.IterVar
    ) -> list[tirx.Expr]:
        """Return the conditions that the position is in the data and the tap in the kernel."""
        conditions = []
        if self.kernel % self.stride:
            conditions.append(tap < self.kernel)
        if self.padding // self.stride < int(step.dom.extent) - 1:
            conditions.append(position >= 0)
        if (self.output - 1 + self.padding) // self.stride >= self.data:
            conditions.append(position < self.data)
        return conditions


def reached(
    sides: tuple[TransposedSide, TransposedSide],
    output: tuple[tirx.Var, tirx.Var],
    steps: Sequence[tirx.IterVar],
    *,
    ascending: bool = False,
) -> tuple[list[tirx.Expr], list[tirx.Expr], tirx.Expr | None]:
    """Return data positions, taps, and the condition that both exist, or None if they always do.

    Parameters
    ----------
    output
        row and column in the output.
    ascending
        whether the steps go through the data forwards, instead of backwards.
    """
    positions, taps, conditions = [], [], []
    for side, index, step in zip(sides, output, steps, strict=True):
        back = int(step.dom.extent) - 1 - step if ascending else step
        positions.append(side.position(index, back))
        taps.append(side.tap(index, back))
        conditions += side.conditions(positions[-1], taps[-1], step)
    return positions, taps, tirx.all(*conditions) if conditions else None


def transpose_conv2d(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    weight: np.ndarray,
    bias: np.ndarray | None,
    sides: tuple[TransposedSide, TransposedSide],
    quantization: Quantization,
    rescale: Rescale,
    layout: Layout,
    weight_quantization: Quantization,
) -> relax.Expr:
    """Return the call of a transposed convolution.

    Parameters
    ----------
    data
        an image in `layout`, of int8, uint8 or int16.
    weight
        (output channels, kernel height, kernel width, channels).
    bias
        (output channels) of int32 or int64, or None.
    sides
        rows and columns.
    quantization
        quantization of the data.
    weight_quantization
        quantization of the weight, with a single zero point.
    """
    outputs, _, _, channels = weight.shape
    weight_zero_point = weight_quantization.zero_points[0]
    batch, *_ = layout.named(shape_of(data))
    used_weight, ending = weighted_constants(
        weight.reshape(outputs, -1), weight_zero_point, bias, quantization, rescale
    )

    def compute(data: te.Tensor, weight: te.Tensor, *constants: te.Tensor) -> te.Tensor:
        steps = [side.steps(name) for side, name in zip(sides, ("sy", "sx"), strict=True)]
        inner = te.reduce_axis((0, channels), "ic")

        def product(b: tirx.Var, y: tirx.Var, x: tirx.Var, c: tirx.Var) -> tirx.Expr:
            positions, taps, condition = reached(sides, (y, x), steps)
            value = data[layout.order(b, positions[0], positions[1], inner)]
            centered_value = centered(value, quantization.zero_point)
            # Guard both reads, because the data element and the tap may both be out of bounds.
            added = centered_value * centered(weight[(c, *taps, inner)], weight_zero_point)
            if condition is None:
                return added
            return tirx.if_then_else(condition, added, tirx.IntImm(str(added.ty.dtype), 0))

        shape = (batch, sides[0].output, sides[1].output, outputs)
        axes = [*steps, inner]
        return sum_and_rescale(shape, product, axes, rescale, constants, layout)

    arguments = [data, used_weight.reshape(weight.shape), *ending]
    rows, columns = sides
    record = TransposeConv2d(
        (quantization, replace(weight_quantization, axis=0)),
        (rescale.output,),
        layout=layout,
        strides=(rows.stride, columns.stride),
        padding=(rows.padding, columns.padding),
        clamp=rescale.limits.ends,
        rounding=rescale.rounding,
    )
    return call_operator(builder, "transpose_conv2d", compute, arguments, True, record=record)
