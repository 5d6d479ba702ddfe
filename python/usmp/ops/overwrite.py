"""Updates of tensors in place, so that states are not copied."""

from __future__ import annotations

import numpy as np
from tvm import relax, tirx

from usmp.ops.emit import shape_of
from usmp.ops.statements import call_in_place, fill, loops


def overwritten_slice(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    updates: relax.Expr,
    axis: int,
    begin: int,
    step: int = 1,
) -> relax.Expr:
    """Append a call of a PrimFunc that writes `updates` into `data`.

    Parameters
    ----------
    updates
        a tensor of the shape of `data`, except for the extent of `axis`.
    begin, step
        along `axis`, the first of the updates goes to `begin`, the next to `begin + step`.

    Returns
    -------
    relax.Expr
        The updated `data`.

    Raises
    ------
    ValueError
        the updates do not fit.
    """
    expected, shape = list(shape_of(data)), list(shape_of(updates))
    last = begin + (shape[axis] - 1) * step
    expected[axis] = shape[axis]
    if shape != expected or begin < 0 or step < 1 or last >= shape_of(data)[axis]:
        raise ValueError(
            f"updates of shape {shape} do not fit into a tensor of shape {list(shape_of(data))} "
            f"from {begin} on, with step {step} along axis {axis}"
        )
    if 0 in shape:
        return data

    def body(data: tirx.Buffer, updates: tirx.Buffer) -> tirx.Stmt:
        def store(place: tuple[tirx.Var, ...]) -> tirx.Stmt:
            target = [begin + i * step if n == axis else i for n, i in enumerate(place)]
            return tirx.BufferStore(data, updates[place], target)

        return loops(shape, store)

    arguments = [("data", data), ("updates", updates)]
    (result,) = call_in_place(builder, "overwrite", body, arguments, [0])
    return result


def filled(builder: relax.BlockBuilder, data: relax.Expr, value: np.generic) -> relax.Expr:
    """Append a call of a PrimFunc that sets all elements of `data` to a number of its type.

    Returns
    -------
    relax.Expr
        The updated `data`.
    """
    number = tirx.const(value.item(), str(data.ty.dtype))
    (result,) = call_in_place(
        builder, "fill", lambda buffer: fill(buffer, number), [("data", data)], [0]
    )
    return result
