"""Running sums."""

from __future__ import annotations

import math
from collections.abc import Callable

from tvm import relax, tirx
from tvm.script import tirx as T

from usmp.relax.quantised.emit import shape_of
from usmp.relax.quantised.epilogue import centred
from usmp.relax.quantised.fixed_point import apply_multiplier, quantize_multiplier
from usmp.relax.quantised.parameters import Quantisation

_FRACTIONAL_BITS = 19
"""Below the point of the sum, which wraps in 32 bits, as it does in the reference kernel."""


def cumulative_sum(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    axis: int,
    before: Quantisation,
    after: Quantisation,
    *,
    exclusive: bool,
    backwards: bool,
) -> relax.Expr:
    """Each element of int8 with those before it along `axis`.

    Parameters
    ----------
    exclusive: without the element itself.
    backwards: with those after it instead.
    """
    factor = quantize_multiplier(2.0 * before.scale / (float(1 << 20) * after.scale))

    def finish(total: tirx.Expr) -> tirx.Expr:
        scaled = apply_multiplier(total << tirx.IntImm("int32", _FRACTIONAL_BITS), factor)
        return after.limits().shifted(scaled, after.zero_point)

    return _running_sum(
        builder,
        data,
        axis,
        # The reference kernel starts at the stored 0, which stands for minus the zero point.
        tirx.IntImm("int32", -before.zero_point),
        lambda value: centred(value, before.zero_point),
        finish,
        exclusive=exclusive,
        backwards=backwards,
    )


def unquantized_cumulative_sum(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    axis: int,
    *,
    exclusive: bool,
    backwards: bool,
) -> relax.Expr:
    """Each number with those before it along `axis`; the options are those of `cumulative_sum`."""
    return _running_sum(
        builder,
        data,
        axis,
        tirx.const(0, str(data.ty.dtype)),
        lambda value: value,
        lambda total: total,
        exclusive=exclusive,
        backwards=backwards,
    )


def _running_sum(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    axis: int,
    start: tirx.Expr,
    element: Callable[[tirx.Expr], tirx.Expr],
    finish: Callable[[tirx.Expr], tirx.Expr],
    *,
    exclusive: bool,
    backwards: bool,
) -> relax.Expr:
    """`finish` of `start` and the sum of `element` of the data so far, in the type of `data`."""
    shape, dtype, wide = shape_of(data), str(data.ty.dtype), str(start.ty)
    outer, depth, inner = math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])

    def counted(total: tirx.Expr, current: tirx.Expr) -> tirx.Expr:
        return total if exclusive else total + current

    def position(step: tirx.Expr) -> tirx.Expr:
        return depth - 1 - step if backwards else step

    @T.prim_func(s_tir=True, private=True)  # type: ignore[untyped-decorator]
    def cumulative_sum(
        data: T.Buffer((outer, depth, inner), dtype),  # type: ignore[valid-type]
        output: T.Buffer((outer, depth, inner), dtype),  # type: ignore[valid-type]
    ) -> None:
        for i, j in T.grid(outer, inner):
            with T.sblock("row"):
                row, column = T.axis.remap("SS", [i, j])
                total = T.sblock_alloc_buffer((1,), wide, scope="local")
                current = T.sblock_alloc_buffer((1,), wide, scope="local")
                total[0] = start
                for step in range(depth):
                    current[0] = element(data[row, position(step), column])
                    output[row, position(step), column] = finish(counted(total[0], current[0]))
                    total[0] = total[0] + current[0]

    function = builder.add_func(cumulative_sum, "cumulative_sum")
    rows = builder.emit(relax.op.reshape(data, (outer, depth, inner)))
    result = relax.call_tir(function, [rows], out_ty=relax.TensorType((outer, depth, inner), dtype))
    return relax.op.reshape(builder.emit(result), shape)
