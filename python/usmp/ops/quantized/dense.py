"""Quantized matrix products with constant weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from tvm import relax, te, tirx

from usmp.ops.emit import call_operator, shape_of
from usmp.ops.quantized.rescaling.fixed_point import centered
from usmp.ops.quantized.rescaling.parameters import Quantization
from usmp.ops.quantized.rescaling.rescale import Rescale
from usmp.ops.quantized.rescaling.weighted_constants import weighted_constants
from usmp.ops.records.products import FullyConnected


def fully_connected(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    weight: np.ndarray,
    bias: np.ndarray | None,
    quantization: Quantization,
    weight_quantization: Quantization,
    rescale: Rescale,
) -> relax.Expr:
    """Multiply each row of the data by each row of the weight.

    Parameters
    ----------
    data
        (rows, depth) of int8, uint8 or int16.
    weight
        (outputs, depth).
    bias
        (outputs) of int32 or int64, or None.
    quantization
        quantization of the data.
    weight_quantization
        quantization of the weight, with a single zero point.
    """
    rows, depth = shape_of(data)
    weight_zero_point = weight_quantization.zero_points[0]
    used_weight, ending = weighted_constants(weight, weight_zero_point, bias, quantization, rescale)

    def compute(data: te.Tensor, weight: te.Tensor, *constants: te.Tensor) -> te.Tensor:
        k = te.reduce_axis((0, depth), "k")

        def product(row: tirx.Var, c: tirx.Var) -> tirx.Expr:
            left = centered(data[row, k], quantization.zero_point)
            term = left * centered(weight[c, k], weight_zero_point)
            return term.astype(rescale.rounding.accumulator)

        shape = (rows, weight.shape[0])
        accumulator = te.compute(shape, lambda r, c: te.sum(product(r, c), k), "accumulator")

        def output(row: tirx.Var, c: tirx.Var) -> tirx.Expr:
            return rescale.apply(accumulator[row, c], c, constants)

        return te.compute(shape, output, "output")

    arguments = [data, used_weight, *ending]
    record = FullyConnected(
        (quantization, replace(weight_quantization, axis=0)),
        (rescale.output,),
        clamp=rescale.limits.ends,
        rounding=rescale.rounding,
    )
    return call_operator(builder, "fully_connected", compute, arguments, True, record=record)
