"""Running sums of quantized numbers."""

from __future__ import annotations

from tvm import relax, tirx

from usmp.ops.quantized.rescaling.fixed_point import apply_multiplier, centered, quantize_multiplier
from usmp.ops.quantized.rescaling.parameters import Quantization
from usmp.ops.real.running import running
from usmp.ops.records.reductions import CumulativeSum

_FRACTIONAL_BITS = 19
"""Fractional bits of the sum, which wraps in 32 bits, like in the reference kernel."""


def cumulative_sum(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    axis: int,
    before: Quantization,
    after: Quantization,
    *,
    exclusive: bool,
    backwards: bool,
) -> relax.Expr:
    """Return the rescaled sum of each int8 element and the elements before it along `axis`.

    Parameters
    ----------
    exclusive
        whether an element itself is left out of its sum.
    backwards
        whether to sum later elements instead of earlier ones.
    """
    factor = quantize_multiplier(2.0 * before.scale / (float(1 << 20) * after.scale))

    def finish(total: tirx.Expr) -> tirx.Expr:
        scaled = apply_multiplier(total << tirx.IntImm("int32", _FRACTIONAL_BITS), factor)
        return after.limits().shifted(scaled, after.zero_point)

    record = CumulativeSum((before,), (after,), axis=axis, exclusive=exclusive, backwards=backwards)
    return running(
        builder,
        data,
        axis,
        lambda total, element: total + element,
        # The reference kernel starts its sum at the integer 0, not at the zero point.
        tirx.IntImm("int32", -before.zero_point),
        element=lambda value: centered(value, before.zero_point),
        finish=finish,
        exclusive=exclusive,
        backwards=backwards,
        record=record,
    )
