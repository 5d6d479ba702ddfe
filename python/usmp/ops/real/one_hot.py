"""One-hot vectors."""

from __future__ import annotations

from tvm import relax, te, tirx
from tvm.ir import Expr

from usmp.ops.emit import call_operator, shape_of


def one_hot(
    builder: relax.BlockBuilder, indices: Expr, values: Expr, depth: int, axis: int
) -> Expr:
    """Return a tensor with a new axis: the "on" value at each index, the "off" value elsewhere.

    A negative index counts from the end. An index outside of the axis sets no element, as in ONNX.

    Parameters
    ----------
    values
        [2]: the "off" value, and the "on" value.
    depth
        extent of the new axis.
    axis
        position of the new axis in the result, counted from the start.
    """
    shape = [*shape_of(indices)[:axis], depth, *shape_of(indices)[axis:]]

    def compute(indices: te.Tensor, values: te.Tensor) -> te.Tensor:
        def element(*at: tirx.Var) -> tirx.Expr:
            index = indices(*at[:axis], *at[axis + 1 :]).astype("int64")
            position = at[axis].astype("int64")
            is_on = tirx.any(index == position, index == position - depth)
            return tirx.Select(is_on, values[1], values[0])

        return te.compute(shape, element, name="one_hot")

    return call_operator(builder, "one_hot", compute, [indices, values])
