"""Where the greatest or least number of an axis is, of types whose position fits no integer with
them."""

from __future__ import annotations

import math

from tvm import relax, tirx
from tvm.script import tirx as T

from usmp.relax.quantised.emit import shape_of


def position_of_first_extreme(
    builder: relax.BlockBuilder, data: relax.Expr, axis: int, dtype: str, *, greatest: bool
) -> relax.Expr:
    """Where along `axis`, which the output lacks, the first greatest or least number is.

    NaN is neither greater nor less than anything: it is found only if it is the first.
    """
    shape, number = shape_of(data), str(data.ty.dtype)
    outer, depth, inner = math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])

    def of_better(new: tirx.Expr, old: tirx.Expr, one: tirx.Expr, other: tirx.Expr) -> tirx.Expr:
        return tirx.Select(new > old if greatest else new < old, one, other)

    def to_output(place: tirx.Expr) -> tirx.Expr:
        return place.astype(dtype)

    @T.prim_func(s_tir=True, private=True)  # type: ignore[untyped-decorator]
    def first_extreme(
        data: T.Buffer((outer, depth, inner), number),  # type: ignore[valid-type]
        output: T.Buffer((outer, inner), dtype),  # type: ignore[valid-type]
    ) -> None:
        for i, j in T.grid(outer, inner):
            with T.sblock("row"):
                row, column = T.axis.remap("SS", [i, j])
                best = T.sblock_alloc_buffer((1,), number, scope="local")
                place = T.sblock_alloc_buffer((1,), "int32", scope="local")
                best[0] = data[row, 0, column]
                place[0] = 0
                for step in range(depth):
                    place[0] = of_better(data[row, step, column], best[0], step, place[0])
                    best[0] = of_better(
                        data[row, step, column], best[0], data[row, step, column], best[0]
                    )
                output[row, column] = to_output(place[0])

    function = builder.add_func(first_extreme, "arg_max" if greatest else "arg_min")
    rows = builder.emit(relax.op.reshape(data, (outer, depth, inner)))
    result = relax.call_tir(function, [rows], out_ty=relax.TensorType((outer, inner), dtype))
    return relax.op.reshape(builder.emit(result), (*shape[:axis], *shape[axis + 1 :]))
