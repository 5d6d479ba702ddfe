"""Running sums and the like along an axis, as a loop of which the memory analysis sees all."""

from __future__ import annotations

import math
from collections.abc import Callable

from tvm import relax, tirx
from tvm.script import tirx as T

from usmp.ops.emit import add_prim_func, shape_of
from usmp.ops.records import QuantizedOp


def running(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    axis: int,
    combine: Callable[[tirx.Expr, tirx.Expr], tirx.Expr],
    start: int | tirx.Expr,
    *,
    element: Callable[[tirx.Expr], tirx.Expr] = lambda value: value,
    finish: Callable[[tirx.Expr], tirx.Expr] = lambda total: total,
    exclusive: bool = False,
    backwards: bool = False,
    record: QuantizedOp | None = None,
) -> relax.Expr:
    """Each element combined with those before it along `axis`, in the type of the elements.

    Parameters
    ----------
    combine
        of what there is so far, `start` at first, and the next element.
    start
        an expression has the type that is computed in; a number has that of the elements.
    element
        what of an element is combined.
    finish
        what of a result is stored.
    exclusive
        without the element itself.
    backwards
        with those after it instead.
    record
        what it computes, if it is an integer operator.
    """
    shape, dtype = shape_of(data), str(data.ty.dtype)
    axis %= len(shape)
    outer, depth, inner = math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])
    first = tirx.const(start, dtype) if isinstance(start, int) else start
    wide = str(first.ty)

    def position(step: tirx.Expr) -> tirx.Expr:
        return depth - 1 - step if backwards else step

    def chosen(before: tirx.Expr, after: tirx.Expr) -> tirx.Expr:
        return finish(before if exclusive else after)

    @T.prim_func(s_tir=True, private=True)  # type: ignore[untyped-decorator]
    def running(
        data: T.Buffer((outer, depth, inner), dtype),  # type: ignore[valid-type]
        output: T.Buffer((outer, depth, inner), dtype),  # type: ignore[valid-type]
    ) -> None:
        for i, j in T.grid(outer, inner):
            with T.sblock("row"):
                row, column = T.axis.remap("SS", [i, j])
                total = T.sblock_alloc_buffer((2,), wide, scope="local")
                total[0] = first
                for step in range(depth):
                    total[1] = combine(total[0], element(data[row, position(step), column]))
                    output[row, position(step), column] = chosen(total[0], total[1])
                    total[0] = total[1]

    function = add_prim_func(builder, running, "running", record)
    rows = builder.emit(relax.op.reshape(data, (outer, depth, inner)))
    out_type = relax.TensorType((outer, depth, inner), dtype)
    result = builder.emit(relax.call_tir(function, [rows], out_ty=out_type))
    return relax.op.reshape(result, shape)
