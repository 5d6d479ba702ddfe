"""Running sums and products."""

from __future__ import annotations

import math
from collections.abc import Callable

from tvm import relax, tirx
from tvm.ir import Expr
from tvm.script import tirx as T

from usmp.relax.pytorch.operator import Operator, cast, converts
from usmp.relax.quantised.emit import shape_of


@converts("cumsum.default")
def _cumsum(operator: Operator) -> Expr:
    return _running(operator, lambda total, element: total + element, 0)


@converts("cumprod.default")
def _cumprod(operator: Operator) -> Expr:
    return _running(operator, lambda total, element: total * element, 1)


def _running(
    operator: Operator, combine: Callable[[tirx.Expr, tirx.Expr], tirx.Expr], start: int
) -> Expr:
    """Each element combined with those before it along the axis."""
    dtype = operator.dtype
    data = operator.emit(cast(operator["self"], dtype))
    shape = shape_of(data)
    if not shape:
        return data
    axis = operator["dim"] % len(shape)
    outer, depth, inner = math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])
    first = tirx.const(start, dtype)

    @T.prim_func(s_tir=True, private=True)  # type: ignore[untyped-decorator]
    def running(
        data: T.Buffer((outer, depth, inner), dtype),  # type: ignore[valid-type]
        output: T.Buffer((outer, depth, inner), dtype),  # type: ignore[valid-type]
    ) -> None:
        for i, j in T.grid(outer, inner):
            with T.sblock("row"):
                row, column = T.axis.remap("SS", [i, j])
                total = T.sblock_alloc_buffer((1,), dtype, scope="local")
                total[0] = first
                for step in range(depth):
                    total[0] = combine(total[0], data[row, step, column])
                    output[row, step, column] = total[0]

    function = operator.builder.add_func(running, "running")
    rows = operator.emit(relax.op.reshape(data, (outer, depth, inner)))
    out_ty = relax.TensorType((outer, depth, inner), dtype)
    return relax.op.reshape(operator.emit(relax.call_tir(function, [rows], out_ty=out_ty)), shape)
