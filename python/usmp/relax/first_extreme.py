"""`R.argmax` and `R.argmin` whose result is always the place of an element."""

from __future__ import annotations

from typing import Any

from tvm import relax, te, tirx
from tvm.ir import Call

from usmp.relax.quantised.emit import shape_of


def first_extreme(builder: relax.BlockBuilder, call: Call) -> relax.Expr:
    """The place of the first extreme element.

    TVM's begins with the least value of the type and the place -1, which remains if no element is
    greater: if all are minus infinity, or NaN. This one begins with the first element, as a loop
    written by hand does: NaN is never greater, so it is found only in the first place.
    """
    data = call.args[0]
    if call.attrs.axis is None:
        data, axis = builder.emit(relax.op.flatten(data)), 0
    else:
        axis = int(call.attrs.axis)
    shape = shape_of(data)
    axis %= len(shape)
    place = str(call.ty.dtype)
    is_greatest = call.op.name == "relax.argmax"
    kept = [*shape]
    kept[axis : axis + 1] = [1] if call.attrs.keepdims else []
    reducer = te.comm_reducer(
        lambda old, new: _better(old, new, is_greatest),
        lambda place_type, value_type: (
            tirx.const(-1, place_type),
            tirx.const(0, value_type),
        ),
        name="first_extreme",
    )

    def compute(data: te.Tensor) -> te.Tensor:
        step = te.reduce_axis((0, shape[axis]), "step")

        def element(*at: tirx.Var) -> Any:
            others = [*at[:axis], *at[axis + 1 :]] if call.attrs.keepdims else list(at)
            others.insert(axis, step)
            return reducer((step.var.astype(place), data(*others)), axis=step)

        places, _ = te.compute(kept, element, name="extreme")
        # Of two results that are read here, one element of each is kept at a time.
        return te.compute(kept, lambda *at: places(*at), name=name)

    name = call.op.name.removeprefix("relax.")
    return builder.call_te(compute, data, primfunc_name_hint=name)


def _better(
    old: tuple[tirx.Expr, tirx.Expr], new: tuple[tirx.Expr, tirx.Expr], is_greatest: bool
) -> tuple[tirx.Expr, tirx.Expr]:
    """The old place and value, or the new ones."""
    is_better = new[1] > old[1] if is_greatest else new[1] < old[1]
    is_taken = tirx.any(old[0] < 0, is_better)
    return tirx.Select(is_taken, new[0], old[0]), tirx.Select(is_taken, new[1], old[1])
