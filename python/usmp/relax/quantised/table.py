"""Unary operators on 8-bit integers: a table of 256 results, filled at compile time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from tvm import relax, te, tirx

from usmp.relax.quantised.emit import call_operator, shape_of
from usmp.relax.quantised.parameters import integer_limits


def tabulated(
    builder: relax.BlockBuilder,
    name: str,
    data: relax.Expr,
    function: Callable[[int], int],
    dtype: str,
) -> relax.Expr:
    """`function` of each element of `data` (int8 or uint8), as elements of type `dtype`."""
    least, greatest = integer_limits(str(data.ty.dtype))
    table = np.array([function(value) for value in range(least, greatest + 1)], dtype)

    def compute(data: te.Tensor, table: te.Tensor) -> te.Tensor:
        def element(*indices: tirx.Var) -> tirx.Expr:
            return table[data[indices].astype("int32") - tirx.IntImm("int32", least)]

        return te.compute(shape_of(source), element, "output")

    source = data
    return call_operator(builder, name, compute, [data, table])
