"""The greatest and the least element of floats and of truth values.

TVM's of floats begins with the largest number that is finite, which remains if all elements are
infinite, as in the rows of a mask; of truth values it has none.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tvm import relax, te, tirx
from tvm.ir import Call, Expr


def _extreme(
    axes: list[int], shape: list[Expr], is_greatest: bool, keeps_axes: bool
) -> Callable[[te.Tensor], te.Tensor]:
    """What the extreme element along `axes` is computed by; `shape` is that of the result."""

    def compute(data: te.Tensor) -> te.Tensor:
        reducer = _reducer(str(data.dtype), is_greatest)
        reduced = {axis: te.reduce_axis((0, data.shape[axis]), f"k{axis}") for axis in axes}

        def element(*at: tirx.Var) -> tirx.Expr:
            kept = iter([i for d, i in enumerate(at) if not (keeps_axes and d in reduced)])
            place = [reduced[d] if d in reduced else next(kept) for d in range(len(data.shape))]
            return reducer(data(*place), axis=list(reduced.values()))

        return te.compute(shape, element, "extreme")

    return compute


def _reducer(dtype: str, is_greatest: bool) -> Callable[..., tirx.Expr]:
    better, first = tirx.max if is_greatest else tirx.min, -math.inf if is_greatest else math.inf
    if dtype == "bool":
        better, first = tirx.any if is_greatest else tirx.all, not is_greatest
    reducer: Callable[..., tirx.Expr] = te.comm_reducer(
        lambda old, new: better(old, new), lambda _: tirx.const(first, dtype), "extreme"
    )
    return reducer


def _legalize_extreme(builder: relax.BlockBuilder, call: Call) -> Expr:
    data, dtype = call.args[0], str(call.args[0].ty.dtype)
    if not dtype.startswith("float") and dtype != "bool":
        return call.op.get_attr("FLegalize")(builder, call)
    rank = len(data.ty.shape)
    given = range(rank) if call.attrs.axis is None else call.attrs.axis
    axes = sorted(int(axis) % rank for axis in given)
    name = call.op.name.rpartition(".")[2]
    compute = _extreme(axes, list(call.ty.shape), name == "max", bool(call.attrs.keepdims))
    return builder.call_te(compute, data, primfunc_name_hint=name)


LEGALIZE_EXTREMES = {"relax.max": _legalize_extreme, "relax.min": _legalize_extreme}
"""For relax.transform.LegalizeOps."""
