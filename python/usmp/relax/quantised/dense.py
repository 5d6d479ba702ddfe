"""Quantised matrix products with constant weights."""

from __future__ import annotations

import numpy as np
from tvm import relax, te, tirx

from usmp.relax.quantised.emit import call_operator, shape_of
from usmp.relax.quantised.epilogue import make_epilogue
from usmp.relax.quantised.parameters import Quantisation
from usmp.relax.quantised.rescale import Rescale


def fully_connected(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    weight: np.ndarray,
    bias: np.ndarray | None,
    quantisation: Quantisation,
    weight_zero_point: int,
    rescale: Rescale,
) -> relax.Expr:
    """Each row of the data times each row of the weight.

    Parameters
    ----------
    data: (rows, depth) of int8, uint8 or int16.
    weight: (outputs, depth).
    bias: (outputs) of int32 (int64 for accumulators of 64 bits), or None.
    quantisation: of the data.
    weight_zero_point: of the weight.
    """
    rows, depth = shape_of(data)
    centred = weight.astype(np.int32) - weight_zero_point if weight_zero_point else weight
    kept, epilogue = make_epilogue(centred, bias, quantisation, rescale)
    kept = (kept + weight_zero_point).astype(weight.dtype)

    def compute(data: te.Tensor, weight: te.Tensor, *constants: te.Tensor) -> te.Tensor:
        k = te.reduce_axis((0, depth), "k")

        def product(row: tirx.Var, c: tirx.Var) -> tirx.Expr:
            left = data[row, k].astype("int32") - tirx.IntImm("int32", quantisation.zero_point)
            right = weight[c, k].astype("int32")
            if weight_zero_point:
                right = right - tirx.IntImm("int32", weight_zero_point)
            return (left * right).astype(epilogue.dtype)

        shape = (rows, weight.shape[0])
        accumulator = te.compute(shape, lambda r, c: te.sum(product(r, c), k), "accumulator")

        def output(row: tirx.Var, c: tirx.Var) -> tirx.Expr:
            return epilogue.apply(accumulator[row, c], c, constants)

        return te.compute(shape, output, "output")

    arguments = [data, kept, *epilogue.constants]
    return call_operator(builder, "fully_connected", compute, arguments, takes_epilogue=True)
