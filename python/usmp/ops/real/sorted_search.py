"""Searches of values among sorted boundaries."""

from __future__ import annotations

from tvm import relax, te, tirx
from tvm.ir import Expr

from usmp.ops.emit import call_operator, shape_of
from usmp.tir.dtypes import is_float


def count_before(
    builder: relax.BlockBuilder, boundaries: Expr, values: Expr, *, includes_equal: bool
) -> Expr:
    """Return the number of boundaries before each value, int64; all are before NaN.

    Parameters
    ----------
    boundaries
        sorted, [n], or [*rows, n] with a sorted row for each row of the values.
    values
        the values to search for, of the type of the boundaries.
    includes_equal
        whether a boundary that is equal to a value comes before it.
    """
    row = shape_of(boundaries)

    def compute(boundaries: te.Tensor, values: te.Tensor) -> te.Tensor:
        step = te.reduce_axis((0, row[-1]), "step")

        def element(*at: tirx.Var) -> tirx.Expr:
            boundary = boundaries[(*(at[:-1] if len(row) > 1 else ()), step)]
            value = values[tuple(at)]
            is_before = boundary <= value if includes_equal else boundary < value
            if is_float(str(values.dtype)):
                is_before = tirx.Or(is_before, tirx.isnan(value))
            return te.sum(tirx.Cast("int64", is_before), step)

        return te.compute(values.shape, element, "output")

    return call_operator(builder, "count_before", compute, [boundaries, values])
