"""The kernel of `average_pool` operators for cores with MVE: eight channels at a time."""

from __future__ import annotations

from math import prod

from tvm import tirx
from tvm.ir import TensorLoad

from usmp.objects.cores import Core
from usmp.objects.schedule import Schedule
from usmp.ops.kernels.call.data_window import data_window
from usmp.ops.kernels.call.limits import limits_of
from usmp.ops.kernels.call.mean_of_taps import is_mean
from usmp.ops.kernels.call.operator_call import OperatorCall
from usmp.ops.kernels.call.operator_parts import OperatorParts
from usmp.ops.kernels.kernel import Kernel, TiledBody, kernel
from usmp.ops.kernels.loops.loops import loop
from usmp.ops.kernels.mve.costs import average_pool_instructions
from usmp.ops.kernels.sums.reduction_rows import rows_of_reduction
from usmp.ops.records.windowed import AveragePool
from usmp.tir.nodes import nodes_of, sequence
from usmp.tir.tensor_intrin import tensor_intrin

_COUNTS = (2, 256)
"""Elements of a window: their sum is to fit 16 bits."""

Pair = tuple[int, int]


def mve_average_pool_kernel(call: OperatorCall, core: Core) -> Kernel | None:
    """A mean of NHWC data, at the same scale, whose windows all lie in the data."""
    records = call.records if core.has_mve else ()
    record = records[0] if len(records) == 1 else None
    if not isinstance(record, AveragePool):
        return None
    types = {q.dtype for q in (*record.inputs, *record.outputs)}
    parts = call.parts
    if parts is None or types != {"int8"}:
        return None
    sources = {load.source for load in nodes_of(parts.sum, TensorLoad)}
    if len(sources) != 1:
        return None
    (data,) = sources
    window = data_window(parts, data, parts.axes[3])
    count = 0 if window is None else prod(window.kernel)
    if window is None or not _COUNTS[0] <= count <= _COUNTS[1]:
        return None
    is_inside = window.padding == (0, 0) and all(
        (window.output[side] - 1) * window.strides[side] + window.kernel[side] <= window.data[side]
        for side in (0, 1)
    )
    body = _loops(parts, data, window.kernel, window.strides) if is_inside else None
    if body is None:
        return None
    _, height, width, channels = (int(extent) for extent in parts.output.shape)
    instructions = average_pool_instructions(count, channels, height * width)
    tiled = TiledBody(body, Schedule("1 pixel x 8 channels, vectors", instructions))
    return kernel(call, [tiled], {}, rows_of_reduction(call, core))


def _loops(parts: OperatorParts, data: tirx.Var, window: Pair, strides: Pair) -> tirx.Stmt | None:
    count = window[0] * window[1]
    found = limits_of(parts.value)
    if found is None or found[1].zero_point or not is_mean(found[0], parts, count):
        return None
    limits, output = found[1], parts.output
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
                    loop(
                        "ky", window[0], lambda ky: loop("kx", window[1], lambda kx: added(ky, kx))
                    ),
                    tirx.BufferStore(output, value, [b, y, x, c]),
                ]
            )

        body = loop("c", channels, element)
        return tensor_intrin("tvmgen_mve_average_pool", arguments, body)

    return loop(
        "b",
        batch,
        lambda b: loop("y", height, lambda y: loop("x", width, lambda x: pixel(b, y, x))),
    )


def reciprocal_of(count: int) -> Pair:
    """The number of 16 bits, and the shift after the high half of a product with it, which divide
    sums of up to 256 bytes: it is too large by less than `count` / 2**(16 + shift)."""
    shift = 0
    while (1 << (16 + shift)) // count < 1 << 15:
        shift += 1
    return -(-(1 << (16 + shift)) // count), shift
