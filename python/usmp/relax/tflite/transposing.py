"""TRANSPOSE and operators that are one: axes in another order."""

from __future__ import annotations

from collections.abc import Sequence

from tvm import relax

from usmp.relax.tflite.context import Context, converts, reshaped
from usmp.relax.tflite.model import TfliteOperator


@converts("TRANSPOSE", moves=True)
def convert_transpose(context: Context, operator: TfliteOperator) -> None:
    """Inputs: data, and the axis of it that each axis of the output is."""
    data = operator.input(0)
    order = [int(axis) for axis in operator.constant(1).reshape(-1)]
    if sorted(order) != list(range(len(data.shape))):
        raise operator.unsupported(
            f"{order} is not an order of the axes of data of shape {list(data.shape)}"
        )
    context.set_moved(operator, transposed(context, context.value(data), order))


def transposed(context: Context, value: relax.Expr, order: Sequence[int]) -> relax.Expr:
    """The axes in another order; a reshape if only axes of one element change their place."""
    extents = [int(extent) for extent in value.ty.shape]
    long_axes = [axis for axis in order if extents[axis] != 1]
    if long_axes == sorted(long_axes):
        return reshaped(context, value, [extents[axis] for axis in order])
    return relax.op.permute_dims(value, list(order))
