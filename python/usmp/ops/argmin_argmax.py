"""Where the greatest or least element of an axis is: always the place of an element."""

from __future__ import annotations

from typing import Any

from tvm import relax, te, tirx
from tvm.ir import Call

from usmp.ops.emit import shape_of


def legalize_argmin_argmax(builder: relax.BlockBuilder, call: Call) -> relax.Expr:
    """`R.argmax` and `R.argmin` as `argmin_argmax`.

    TVM's begin with the least value of the type and the place -1, which remains if no element is
    greater: if all are minus infinity, or NaN.
    """
    data, axis = call.args[0], call.attrs.axis
    if axis is None:
        data, axis = builder.emit(relax.op.flatten(data)), 0
    return argmin_argmax(
        builder,
        data,
        int(axis),
        str(call.ty.dtype),
        greatest=call.op.name == "relax.argmax",
        keeps_axis=bool(call.attrs.keepdims),
    )


def argmin_argmax(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    axis: int,
    dtype: str,
    *,
    greatest: bool,
    keeps_axis: bool = False,
) -> relax.Expr:
    """The place along `axis` of the first extreme element, in type `dtype`.

    It begins with the first element, as a loop written by hand does: NaN is never greater nor less,
    so it is found only in the first place.

    Parameters
    ----------
    keeps_axis
        the output has the axis, of extent 1.
    """
    shape = shape_of(data)
    axis %= len(shape)
    name = "argmax" if greatest else "argmin"
    kept = [*shape]
    kept[axis : axis + 1] = [1] if keeps_axis else []
    reducer = te.comm_reducer(
        lambda old, new: _better(old, new, greatest),
        lambda place_type, value_type: (
            tirx.const(-1, place_type),
            tirx.const(0, value_type),
        ),
        name="argmin_argmax",
    )

    def compute(data: te.Tensor) -> te.Tensor:
        step = te.reduce_axis((0, shape[axis]), "step")

        def element(*at: tirx.Var) -> Any:
            others = [*at[:axis], *at[axis + 1 :]] if keeps_axis else list(at)
            others.insert(axis, step)
            return reducer((step.var.astype(dtype), data(*others)), axis=step)

        places, _ = te.compute(kept, element, name="extreme")
        # Of two results that are read here, one element of each is kept at a time.
        return te.compute(kept, lambda *at: places(*at), name=name)

    return builder.call_te(compute, data, primfunc_name_hint=name)


def _better(
    old: tuple[tirx.Expr, tirx.Expr], new: tuple[tirx.Expr, tirx.Expr], greatest: bool
) -> tuple[tirx.Expr, tirx.Expr]:
    """The old place and value, or the new ones."""
    is_better = new[1] > old[1] if greatest else new[1] < old[1]
    is_taken = tirx.any(old[0] < 0, is_better)
    return tirx.Select(is_taken, new[0], old[0]), tirx.Select(is_taken, new[1], old[1])
