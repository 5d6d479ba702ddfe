"""Kernels of sums and means over consecutive axes for cores with MVE."""

from __future__ import annotations

from dataclasses import dataclass

from tvm import tirx

from usmp.objects.schedule import Schedule
from usmp.objects.target.cores import Core
from usmp.ops.kernels.call.limits import Limits, limits_of, split_constant
from usmp.ops.kernels.call.mean_of_taps import is_accumulator
from usmp.ops.kernels.call.operator_call import OperatorCall
from usmp.ops.kernels.call.operator_parts import OperatorParts
from usmp.ops.kernels.kernel import Kernel, TiledBody, kernel
from usmp.ops.kernels.loops.loops import loop
from usmp.ops.kernels.mve.factor import Factor, rescaled_by
from usmp.ops.kernels.sums.reduction_rows import rows_of_reduction
from usmp.ops.kernels.sums.sums_over_axes import SumsOverAxes, sums_over_axes_of
from usmp.ops.quantized.rescaling.fixed_point import Rounding, int32
from usmp.tir.nodes import sequence
from usmp.tir.tensor_intrin import tensor_intrin

_LEAST_CHANNELS = 4
"""The least number of channels: with fewer, lanes would be unused."""

_MOST = 2**21
"""The most elements of a sum, so that the sum and the summand that rounds it fit 32 bits."""

_SHIFTS = (1, 30)
"""The least and the greatest right shift of factors that are rounded twice."""


@dataclass(frozen=True)
class _Ending:
    """The epilogue of a sum: an offset, rescaling and a clamp."""

    offset: int
    factor: Factor
    limits: Limits

    def of(self, accumulator: tirx.Expr) -> tirx.Expr:
        """Return the output element of an accumulator."""
        scaled = self.factor.times(accumulator + int32(self.offset))
        return self.limits.clamp(scaled + int32(self.limits.zero_point))


def mve_sums_over_axes_kernel(call: OperatorCall, core: Core) -> Kernel | None:
    """Return the kernel of sums or means over consecutive axes; None for unsupported operators."""
    sums = sums_over_axes_of(call) if core.has_mve else None
    ending = None if sums is None else _ending(sums.parts, core)
    if sums is None or ending is None or sums.inner < _LEAST_CHANNELS or sums.count > _MOST:
        return None
    all_sums, epilogue = sums, ending
    body = loop("b", sums.outer, lambda b: _channels(all_sums, epilogue, b))
    tiled = TiledBody(body, Schedule("16 channels, vectors"))
    return kernel(call, [tiled], {}, rows_of_reduction(call, core))


def _ending(parts: OperatorParts, core: Core) -> _Ending | None:
    """Return the epilogue of sums; None if vectors cannot compute it."""
    limited = limits_of(parts.value)
    scaled = None if limited is None else rescaled_by(limited[0], core)
    if limited is None or scaled is None:
        return None
    (value, offset), factor = split_constant(scaled[0]), scaled[1]
    is_exact = factor.rounding is Rounding.AS_FLOAT or _SHIFTS[0] <= -factor.shift <= _SHIFTS[1]
    if not is_accumulator(value, parts) or not is_exact:
        return None
    return _Ending(offset, factor, limited[1]) if abs(offset) < 2**30 else None


def _channels(sums: SumsOverAxes, ending: _Ending, b: tirx.Expr) -> tirx.Stmt:
    """Return the call that computes all sums with the outer index `b`."""
    zero, output = int32(0), sums.parts.output

    def channel(c: tirx.Expr) -> tirx.Stmt:
        acc = tirx.decl_buffer((1,), "int32", "acc", scope="local")

        def added(k: tirx.Expr) -> tirx.Stmt:
            value = sums.element(b, k, c).astype("int32")
            return tirx.BufferStore(acc, acc[0] + value, [0])

        return sequence(
            [
                tirx.AllocBuffer(acc),
                tirx.BufferStore(acc, zero, [0]),
                loop("k", sums.count, added),
                tirx.BufferStore(output, ending.of(acc[0]), list(sums.output(b, c))),
            ]
        )

    arguments = [
        *(sums.element(b, zero, zero), output[sums.output(b, zero)], sums.count, sums.inner),
        *(ending.offset, *ending.factor.arguments, *ending.limits.arguments),
    ]
    return tensor_intrin(
        f"tvmgen_mve_sums{ending.factor.suffix}", arguments, loop("c", sums.inner, channel)
    )
