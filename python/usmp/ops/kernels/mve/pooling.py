"""Kernels of pooling for cores with MVE, over the taps that lie in the data: maxima of 16 channels
at a time, or means of eight."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tvm import tirx

from usmp.objects.schedule import Schedule
from usmp.objects.target.cores import Core
from usmp.ops.kernels.call.limits import Limits, limits_of
from usmp.ops.kernels.call.mean_of_taps import is_accumulator
from usmp.ops.kernels.call.operator_call import OperatorCall
from usmp.ops.kernels.kernel import Kernel, TiledBody, kernel
from usmp.ops.kernels.loops.accumulators import Indices
from usmp.ops.kernels.loops.loops import loop, nested
from usmp.ops.kernels.mve.average_pool import reciprocal_of
from usmp.ops.kernels.sums.pooling import Pooling, TapRange, pooling_of
from usmp.ops.kernels.sums.reduction_rows import rows_of_reduction
from usmp.ops.quantized.rescaling.fixed_point import int32
from usmp.tir.nodes import sequence
from usmp.tir.tensor_intrin import tensor_intrin

_MOST_TAPS = 256
"""The most taps of a mean: their sum must fit 16 bits."""

_LEAST = -(2**31)


def mve_pool_kernel(call: OperatorCall, core: Core) -> Kernel | None:
    """Return the kernel of a pooling in which each pixel has taps in the data, else None."""
    pooling = pooling_of(call) if core.has_mve else None
    if pooling is None or len(call.records) != 1:
        return None
    limits, counts = _limits_of(pooling), pooling.window.tap_counts()
    if limits is None or counts[0] < 1 or (pooling.is_sum and counts[-1] > _MOST_TAPS):
        return None
    vectors = _VectorPooling(pooling.parts, pooling.data, pooling.window, limits)
    lanes = 8 if pooling.is_sum else 16
    schedule = Schedule(f"1 pixel x {lanes} channels, vectors")
    tiled = TiledBody(vectors.loops(), schedule)
    return kernel(call, [tiled], {}, rows_of_reduction(call, core))


def _limits_of(pooling: Pooling) -> Limits | None:
    """Return the limits of means or maxima; None if outputs are anything else."""
    if pooling.is_sum:
        return pooling.mean_limits
    limited = limits_of(pooling.parts.value)
    is_plain = limited is not None and is_accumulator(limited[0], pooling.parts)
    return limited[1] if limited is not None and is_plain and limited[1].zero_point == 0 else None


@dataclass(frozen=True)
class _VectorPooling(Pooling):
    """A pooling with one call for all channels of a pixel."""

    limits: Limits

    def channels(self, pixel: Indices, rows: TapRange, columns: TapRange) -> tirx.Stmt:
        """Return the call that computes all channels of a pixel from rows and columns of taps."""
        (b, y, x), zero = pixel, tirx.IntImm("int32", 0)
        _, _, width, channels = (int(extent) for extent in self.data.shape)
        first = (self.first(0, y) + rows.begin, self.first(1, x) + columns.begin)
        places = [self.data[(b, *first, zero)], self.parts.output[(*pixel, zero)]]
        taps = [rows.extent, columns.extent]
        ends = [self.limits.low, self.limits.high]
        element = loop("c", channels, lambda c: self._element(pixel, c, first, taps))
        if not self.is_sum:
            arguments = [*places, *taps, width * channels, channels, *ends]
            return tensor_intrin("tvmgen_mve_max_pool", arguments, element)
        count = taps[0] * taps[1]
        counts = self.window.tap_counts()
        # The function divides by at least two: make it add a single tap twice.
        doubled = {n: max(n, 2) for n in counts}
        by_count = {n: reciprocal_of(doubled[n]) for n in counts}
        arguments = [
            *places,
            _chosen(count, {n: 2 if n == 1 else None for n in counts}, taps[0]),
            taps[1],
            _chosen(count, {n: 0 if n == 1 else None for n in counts}, width * channels),
            channels,
            *(_chosen(count, {n: by_count[n][i] for n in counts}, 0) for i in (0, 1)),
            _chosen(count, {n: doubled[n] // 2 for n in counts}, 0),
            *ends,
        ]
        return tensor_intrin("tvmgen_mve_average_pool", arguments, element)

    def _element(
        self,
        pixel: Indices,
        c: tirx.Expr,
        first: tuple[tirx.Expr, tirx.Expr],
        taps: list[tirx.Expr | int],
    ) -> tirx.Stmt:
        """Return the loops of one channel, the body of the intrinsic."""
        parts = self.parts
        acc = tirx.decl_buffer((1,), "int32", "acc", scope="local")

        def tap(ky: tirx.Expr, kx: tirx.Expr) -> tirx.Stmt:
            value = self.data[pixel[0], first[0] + ky, first[1] + kx, c].astype("int32")
            return tirx.BufferStore(acc, parts.reduction(acc[0], value), [0])

        begin = tirx.IntImm("int32", 0 if self.is_sum else _LEAST)
        indices = (*pixel, c)
        return sequence(
            [
                tirx.AllocBuffer(acc),
                tirx.BufferStore(acc, begin, [0]),
                nested(tap, ky=taps[0], kx=taps[1]),
                tirx.BufferStore(parts.output, parts.element(acc[0], indices), list(indices)),
            ]
        )


def _chosen(
    count: tirx.Expr | int, values: Mapping[int, int | None], other: tirx.Expr | int
) -> tirx.Expr | int:
    """Return the value for a count, selected at run time if the count is an expression. None in
    `values` means `other`."""
    by_count = {n: other if value is None else value for n, value in values.items()}
    if isinstance(count, int):
        return by_count[count]
    (_, chosen), *rest = by_count.items()
    for n, value in rest:
        if not (isinstance(value, int) and isinstance(chosen, int) and value == chosen):
            chosen = tirx.Select(count == n, int32(value), int32(chosen))
    return chosen
