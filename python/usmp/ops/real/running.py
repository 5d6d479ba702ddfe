"""Running sums and other scans along an axis, as a loop that the memory analysis understands."""

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
    """Return each element combined with the elements before it along `axis`, of the same type.

    Parameters
    ----------
    combine
        maps the accumulator and the next element to the next accumulator.
    start
        first accumulator: an expression of the accumulator's type, or a number of the element type.
    element
        maps an element to the operand of `combine`.
    finish
        maps an accumulator to the stored element.
    exclusive
        whether an element itself is left out of its result.
    backwards
        whether to combine later elements instead of earlier ones.
    record
        the record of an integer operator, or None.
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
