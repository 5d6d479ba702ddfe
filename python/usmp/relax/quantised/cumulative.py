"""Quantised running sums."""

from __future__ import annotations

import math

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
    shape = shape_of(data)
    outer, depth, inner = math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])
    factor = quantize_multiplier(2.0 * before.scale / (float(1 << 20) * after.scale))
    # The reference kernel starts at the stored 0, which stands for minus the zero point.
    start = -before.zero_point

    def finish(total: tirx.Expr, element: tirx.Expr) -> tirx.Expr:
        counted = total - element if exclusive else total
        scaled = apply_multiplier(counted << tirx.IntImm("int32", _FRACTIONAL_BITS), factor)
        return after.limits().shifted(scaled, after.zero_point)

    def element(value: tirx.Expr) -> tirx.Expr:
        return centred(value, before.zero_point)

    def position(step: tirx.Expr) -> tirx.Expr:
        return depth - 1 - step if backwards else step

    @T.prim_func(s_tir=True, private=True)  # type: ignore[untyped-decorator]
    def cumulative_sum(
        data: T.Buffer((outer, depth, inner), "int8"),  # type: ignore[valid-type]
        output: T.Buffer((outer, depth, inner), "int8"),  # type: ignore[valid-type]
    ) -> None:
        for i, j in T.grid(outer, inner):
            with T.sblock("row"):
                row, column = T.axis.remap("SS", [i, j])
                total = T.sblock_alloc_buffer((1,), "int32", scope="local")
                total[0] = start
                for step in range(depth):
                    total[0] = total[0] + element(data[row, position(step), column])
                    output[row, position(step), column] = finish(
                        total[0], element(data[row, position(step), column])
                    )

    function = builder.add_func(cumulative_sum, "cumulative_sum")
    rows = builder.emit(relax.op.reshape(data, (outer, depth, inner)))
    result = relax.call_tir(
        function, [rows], out_ty=relax.TensorType((outer, depth, inner), after.dtype)
    )
    return relax.op.reshape(builder.emit(result), shape)
