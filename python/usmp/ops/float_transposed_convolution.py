"""Transposed convolutions of floats, added up in the order of TFLite's reference kernels."""

from __future__ import annotations

import numpy as np
from tvm import relax, te, tirx

from usmp.ops.emit import call_operator, shape_of
from usmp.ops.quantized.transposed_convolution import TransposedSide, reached


def float_transpose_conv2d(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    weight: np.ndarray,
    bias: np.ndarray | None,
    sides: tuple[TransposedSide, TransposedSide],
) -> relax.Expr:
    """Return the call of a transposed convolution of float32.

    The reference kernels scatter each element of the data in order. Each sum thus adds rows,
    columns and channels in ascending order, and the bias last.

    Parameters
    ----------
    data
        an image (batch, height, width, channels).
    weight
        (output channels, kernel height, kernel width, channels).
    bias
        (output channels), or None.
    sides
        rows and columns.
    """
    outputs, _, _, channels = weight.shape
    batch = shape_of(data)[0]

    def compute(data: te.Tensor, weight: te.Tensor, *biases: te.Tensor) -> te.Tensor:
        steps = [side.steps(name) for side, name in zip(sides, ("sy", "sx"), strict=True)]
        inner = te.reduce_axis((0, channels), "ic")

        def product(b: tirx.Var, y: tirx.Var, x: tirx.Var, c: tirx.Var) -> tirx.Expr:
            positions, taps, condition = reached(sides, (y, x), steps, ascending=True)
            product = data[(b, *positions, inner)] * weight[(c, *taps, inner)]
            if condition is None:
                return product
            return tirx.if_then_else(condition, product, tirx.FloatImm("float32", 0))

        shape = (batch, sides[0].output, sides[1].output, outputs)
        total = te.compute(
            shape, lambda *i: te.sum(product(*i), [*steps, inner]), name="accumulator"
        )
        if not biases:
            return total
        return te.compute(shape, lambda b, y, x, c: total[b, y, x, c] + biases[0][c], "output")

    arguments = [data, weight] if bias is None else [data, weight, bias]
    return call_operator(builder, "transpose_conv2d", compute, arguments, takes_epilogue=True)
