"""Running sums along an axis, as a loop of which the memory analysis sees all."""

from __future__ import annotations

import math

from tvm import relax, tirx
from tvm.script import tirx as T

from usmp.relax.quantised.emit import shape_of


def running_sum(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    axis: int,
    *,
    exclusive: bool = False,
    backwards: bool = False,
) -> relax.Expr:
    """Each element with those before it along `axis`, in the type of the elements.

    Parameters
    ----------
    exclusive: without the element itself.
    backwards: with those after it instead.
    """
    shape, dtype = shape_of(data), str(data.ty.dtype)
    axis %= len(shape)
    outer, depth, inner = math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])

    def position(step: tirx.Expr) -> tirx.Expr:
        return depth - 1 - step if backwards else step

    def before(total: tirx.Expr, sum_with_element: tirx.Expr) -> tirx.Expr:
        return total if exclusive else sum_with_element

    zero = tirx.const(0, dtype)

    @T.prim_func(s_tir=True, private=True)  # type: ignore[untyped-decorator]
    def running_sum(
        data: T.Buffer((outer, depth, inner), dtype),  # type: ignore[valid-type]
        output: T.Buffer((outer, depth, inner), dtype),  # type: ignore[valid-type]
    ) -> None:
        for i, j in T.grid(outer, inner):
            with T.sblock("row"):
                row, column = T.axis.remap("SS", [i, j])
                total = T.sblock_alloc_buffer((2,), dtype, scope="local")
                total[0] = zero
                for step in range(depth):
                    total[1] = total[0] + data[row, position(step), column]
                    output[row, position(step), column] = before(total[0], total[1])
                    total[0] = total[1]

    function = builder.add_func(running_sum, "running_sum")
    rows = builder.emit(relax.op.reshape(data, (outer, depth, inner)))
    out_type = relax.TensorType((outer, depth, inner), dtype)
    result = builder.emit(relax.call_tir(function, [rows], out_ty=out_type))
    return relax.op.reshape(result, shape)
