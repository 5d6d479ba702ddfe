"""Pixels of convolutions whose kernel windows reach into the padding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from tvm import tirx

from usmp.ops.dot_products import Run, dot_products, weight_sums
from usmp.ops.kernels.images.convolution import SINGLE_CHANNELS, Convolution
from usmp.ops.kernels.loops.accumulators import Indices
from usmp.ops.kernels.loops.loops import loop, loop_by_tiles, nested
from usmp.ops.kernels.loops.planes import copy_planes
from usmp.ops.window import Window
from usmp.tir.nodes import sequence
from usmp.tir.own_function import own_function


def if_column(window: Window, x: tirx.Expr, stmt: tirx.Stmt) -> tirx.Stmt:
    """Return `stmt` under the condition that the output has a column `x`."""
    return tirx.IfThenElse(tirx.all(x >= 0, x < window.output[1]), stmt, None)


def patched(conv: Convolution, pixel: Indices, pixels: int, channels: Sequence[int]) -> tirx.Stmt:
    """Return statements that copy the windows of a tile, with zero points as padding, and compute
    all of its channels from the copy."""
    return _from_patch(conv, pixel, pixels, channels, partial(_copy_window, conv, pixel))


def patched_planes(
    conv: Convolution,
    pixel: Indices,
    pixels: int,
    channels: Sequence[int],
    is_inside: tirx.Expr | None,
) -> tirx.Stmt:
    """Return statements that copy the windows of a tile of NCHW data, and compute all channels.

    Parameters
    ----------
    is_inside
        a condition under which all windows lie in the data; None to test each tap.
    """
    b, y, x = pixel
    padding = conv.accumulators.zero_point

    def copy(patch: tirx.Var, p: tirx.Expr) -> tirx.Stmt:
        first = p * conv.taps
        return copy_planes(conv.data, conv.window, (b, y, x + p), padding, patch, first, is_inside)

    return _from_patch(conv, pixel, pixels, channels, copy)


def _from_patch(
    conv: Convolution,
    pixel: Indices,
    pixels: int,
    channels: Sequence[int],
    copy: Callable[[tirx.Var, tirx.Expr], tirx.Stmt],
) -> tirx.Stmt:
    window, (b, y, x) = conv.window, pixel
    patch = tirx.decl_buffer((pixels * conv.taps,), "int8", "patch", scope="local")
    zero = tirx.IntImm("int32", 0)

    def body(c: tirx.Expr, number: int) -> list[tirx.Stmt]:
        weight = conv.weight_from(c, zero, zero)
        data, tile = Run(patch, (zero,), conv.taps), (pixels, number)

        def products(acc: tirx.Var) -> tirx.Stmt:
            offset = conv.accumulators.offset
            return dot_products(data, weight, conv.taps, offset, acc, tile)

        def guard(p: int, stores: tirx.Stmt) -> tirx.Stmt:
            return if_column(window, x + p, stores)

        outputs = [(b, y, x + p) for p in range(pixels)]
        return conv.accumulators.tile(outputs, c, number, products, guard)

    return sequence(
        [
            tirx.AllocBuffer(patch),
            loop("p", pixels, lambda p: copy(patch, p)),
            own_function("patch", loop_by_tiles("c", conv.outputs, channels, body)),
        ]
    )


def _copy_window(conv: Convolution, pixel: Indices, patch: tirx.Var, p: tirx.Expr) -> tirx.Stmt:
    """Copy the window of pixel `p` of a tile, row by row."""
    window, (b, y, x) = conv.window, pixel
    n = window.kernel[1] * conv.channels
    zero = tirx.IntImm("int32", 0)
    zero_point = tirx.IntImm("int8", conv.accumulators.zero_point)

    def row(ky: tirx.Expr) -> tirx.Stmt:
        position = y * window.strides[0] - window.padding[0] + ky * window.dilations[0]
        left = ((x + p) * window.strides[1] - window.padding[1]) * conv.channels
        begin = p * conv.taps + ky * n

        def copied(k: tirx.Expr) -> tirx.Stmt:
            inside = tirx.all(left + k >= 0, left + k < window.data[1] * conv.channels)
            value = conv.data[b, position, zero, left + k]
            return tirx.BufferStore(
                patch, tirx.if_then_else(inside, value, zero_point), [begin + k]
            )

        def filled(k: tirx.Expr) -> tirx.Stmt:
            return tirx.BufferStore(patch, zero_point, [begin + k])

        is_row = tirx.all(position >= 0, position < window.data[0])
        return tirx.IfThenElse(is_row, loop("k", n, copied), loop("k", n, filled))

    return loop("ky", window.kernel[0], row)


def edge(conv: Convolution, b: tirx.Expr, y: tirx.Expr, x: tirx.Expr) -> tirx.Stmt:
    """Return statements that compute all channels of a pixel whose window may reach the padding."""
    is_joined = conv.window.dilations[1] == 1
    return _joined_edge(conv, (b, y, x)) if is_joined else _separate_edge(conv, (b, y, x))


def _joined_edge(conv: Convolution, pixel: Indices) -> tirx.Stmt:
    """Return statements for an undilated window: the taps of a row in the data are one run."""
    window, (b, y, x) = conv.window, pixel
    (top, left), width = window.origin(y, x), window.kernel[1]
    zero = tirx.IntImm("int32", 0)
    begin, end = tirx.Var("begin", "int32"), tirx.Var("end", "int32")
    binds = [
        tirx.Bind(begin, tirx.min(tirx.max(zero - left, 0), width)),
        tirx.Bind(end, tirx.max(tirx.min(window.data[1] - left, width), begin)),
    ]

    def body(c: tirx.Expr, number: int) -> list[tirx.Stmt]:
        def products(acc: tirx.Var) -> tirx.Stmt:
            def outside(ky: tirx.Expr, kx: tirx.Expr, taps: tirx.Expr | int) -> list[tirx.Stmt]:
                return _padding(conv, conv.weight_from(c, ky, kx), taps, acc, number)

            def row(ky: tirx.Expr) -> tirx.Stmt:
                position = top + ky * window.dilations[0]
                data = Run(conv.data, (b, position, left + begin, zero), 0)
                weight, n = conv.weight_from(c, ky, begin), (end - begin) * conv.channels
                offset = conv.accumulators.offset
                inside = [
                    *outside(ky, zero, begin),
                    dot_products(data, weight, n, offset, acc, (1, number)),
                    *outside(ky, end, width - end),
                ]
                is_row = tirx.all(position >= 0, position < window.data[0])
                return _where(is_row, inside, outside(ky, zero, width))

            return loop("ky", window.kernel[0], row)

        return conv.accumulators.tile([pixel], c, number, products)

    all_channels = loop_by_tiles("c", conv.outputs, SINGLE_CHANNELS, body)
    return sequence([*binds, own_function("edge", all_channels)])


def _separate_edge(conv: Convolution, pixel: Indices) -> tirx.Stmt:
    """Return statements for a window with dilated columns: each tap is a run of its own."""
    window, (b, y, x) = conv.window, pixel
    zero = tirx.IntImm("int32", 0)

    def body(c: tirx.Expr, number: int) -> list[tirx.Stmt]:
        def products(acc: tirx.Var) -> tirx.Stmt:
            def tap(ky: tirx.Expr, kx: tirx.Expr) -> tirx.Stmt:
                row, column = window.tap(y, x, ky, kx)
                weight = conv.weight_from(c, ky, kx)
                data = Run(conv.data, (b, row, column, zero), 0)
                offset = conv.accumulators.offset
                inside = dot_products(data, weight, conv.channels, offset, acc, (1, number))
                outside = _padding(conv, weight, 1, acc, number)
                return _where(window.has(row, column), [inside], outside)

            return nested(tap, ky=window.kernel[0], kx=window.kernel[1])

        return conv.accumulators.tile([pixel], c, number, products)

    return loop_by_tiles("c", conv.outputs, SINGLE_CHANNELS, body)


def _padding(
    conv: Convolution, weight: Run, taps: tirx.Expr | int, acc: tirx.Var, channels: int
) -> list[tirx.Stmt]:
    """Return the statements that add taps in the padding: zero point times weight."""
    accumulators = conv.accumulators
    if accumulators.skips_padding:
        return []
    return [weight_sums(weight, taps * conv.channels, accumulators.zero_point, acc, channels)]


def _where(condition: tirx.Expr, inside: list[tirx.Stmt], outside: list[tirx.Stmt]) -> tirx.Stmt:
    return tirx.IfThenElse(condition, sequence(inside), sequence(outside) if outside else None)
