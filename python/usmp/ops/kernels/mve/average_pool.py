"""The kernel of `average_pool` operators for cores with MVE: eight channels at a time."""

from __future__ import annotations

from math import prod

from tvm import tirx

from usmp.objects.schedule import Schedule
from usmp.objects.target.cores import Core
from usmp.ops.kernels.call.limits import Limits, limits_of
from usmp.ops.kernels.call.mean_of_taps import is_mean
from usmp.ops.kernels.call.operator_call import OperatorCall
from usmp.ops.kernels.kernel import Kernel, TiledBody, kernel
from usmp.ops.kernels.loops.loops import loop, nested
from usmp.ops.kernels.mve.costs import average_pool_instructions
from usmp.ops.kernels.sums.pooling import Pooling, pooling_of
from usmp.ops.kernels.sums.reduction_rows import rows_of_reduction
from usmp.tir.nodes import sequence
from usmp.tir.tensor_intrin import tensor_intrin

_COUNTS = (2, 256)
"""The least and the most taps of a window: their sum must fit 16 bits."""

Pair = tuple[int, int]


def mve_average_pool_kernel(call: OperatorCall, core: Core) -> Kernel | None:
    """Return the kernel of a mean whose windows lie in the data; None for unsupported operators."""
    pooling = pooling_of(call) if core.has_mve and len(call.records) == 1 else None
    if pooling is None or call.parts is None:
        return None
    parts, window, count = pooling.parts, pooling.window, prod(pooling.window.kernel)
    is_inside = window.padding == (0, 0) and window.tap_counts() == [count]
    limited = limits_of(parts.value)
    if not is_inside or not _COUNTS[0] <= count <= _COUNTS[1] or limited is None:
        return None
    value, limits = limited
    if limits.zero_point or not is_mean(value, parts, count):
        return None
    _, height, width, channels = (int(extent) for extent in parts.output.shape)
    instructions = average_pool_instructions(count, channels, height * width)
    schedule = Schedule("1 pixel x 8 channels, vectors", instructions)
    tiled = TiledBody(_loops(pooling, count, limits), schedule)
    return kernel(call, [tiled], {}, rows_of_reduction(call, core))


def _loops(pooling: Pooling, count: int, limits: Limits) -> tirx.Stmt:
    parts, data, output = pooling.parts, pooling.data, pooling.parts.output
    window, strides = pooling.window.kernel, pooling.window.strides
    batch, height, width, channels = (int(extent) for extent in output.shape)
    zero = tirx.IntImm("int32", 0)
    reciprocal, shift = reciprocal_of(count)

    def pixel(b: tirx.Expr, y: tirx.Expr, x: tirx.Expr) -> tirx.Stmt:
        first = (b, y * strides[0], x * strides[1])
        arguments = [
            *(data[(*first, zero)], output[b, y, x, zero], *window),
            *(int(data.shape[2]) * channels, channels, reciprocal, shift, count // 2),
            *(limits.low, limits.high),
        ]

        def element(c: tirx.Expr) -> tirx.Stmt:
            acc = tirx.decl_buffer((1,), "int32", "acc", scope="local")

            def added(ky: tirx.Expr, kx: tirx.Expr) -> tirx.Stmt:
                value = data[b, first[1] + ky, first[2] + kx, c].astype("int32")
                return tirx.BufferStore(acc, acc[0] + value, [0])

            value = parts.element(acc[0], (b, y, x, c))
            return sequence(
                [
                    tirx.AllocBuffer(acc),
                    tirx.BufferStore(acc, zero, [0]),
                    nested(added, ky=window[0], kx=window[1]),
                    tirx.BufferStore(output, value, [b, y, x, c]),
                ]
            )

        body = loop("c", channels, element)
        return tensor_intrin("tvmgen_mve_average_pool", arguments, body)

    return nested(pixel, b=batch, y=height, x=width)


def reciprocal_of(count: int) -> Pair:
    """Return a 16-bit reciprocal of `count` and a right shift, to divide sums of up to 256 bytes.

    The quotient is the high half of the product of sum and reciprocal, shifted right. The
    reciprocal is 2**(16 + shift) / count, rounded up."""
    shift = 0
    while (1 << (16 + shift)) // count < 1 << 15:
        shift += 1
    return -(-(1 << (16 + shift)) // count), shift
