"""Convolutions by tiles of pixels and channels.

Tiles of pixels come outermost, in raster order, and all channels of a tile within, so that outputs
may be written over inputs that are done with. A tile whose window lies in the data needs no guard;
any other pixel is computed by itself, from the taps that lie in the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tvm import tirx

from usmp.ops.kernels.dot_products import Run, dot_products, weight_sums, window_products
from usmp.ops.kernels.loops import loop, loop_by_tiles
from usmp.ops.quantized.window import Window
from usmp.tir.nodes import sequence
from usmp.tir.own_function import own_function

Indices = tuple[tirx.Expr, ...]

SINGLE_CHANNELS = (4, 2, 1)
"""Of tiles of one pixel."""

_PATCH_BYTES = 128
"""The most that windows at the border are copied to, on the stack."""


@dataclass(frozen=True)
class Convolution:
    """A convolution of NHWC data with constant weights, and how it ends.

    Parameters
    ----------
    data
        (batch, height, width, channels) of int8.
    weight
        (output channels * kernel height * kernel width * channels) of int8.
    window
        how the kernel moves.
    batch, channels, outputs
        extents.
    zero_point
        of the data.
    is_folded
        whether the accumulators begin with what the zero point adds over all taps.
    first
        of a channel: the value that its accumulators begin with.
    store
        of an accumulator and the index of its output element: the statement that stores the latter.
    """

    data: tirx.Var
    weight: tirx.Var
    window: Window
    batch: int
    channels: int
    outputs: int
    zero_point: int
    is_folded: bool
    first: Callable[[tirx.Expr], tirx.Expr]
    store: Callable[[tirx.Expr, Indices], tirx.Stmt]

    @property
    def offset(self) -> int:
        """What is added to each element of the data."""
        return 0 if self.is_folded else -self.zero_point

    @property
    def taps(self) -> int:
        """Elements of the weight of an output channel."""
        return self.window.kernel[0] * self.window.kernel[1] * self.channels


@dataclass(frozen=True)
class Span:
    """Output rows, or columns, whose windows lie in the data: from `first` up to `end` - 1."""

    first: int
    end: int


def inner_span(window: Window, side: int) -> Span:
    """The rows (side 0) or columns (side 1) whose windows lie in the data."""
    stride, padding, data = window.strides[side], window.padding[side], window.data[side]
    reach = (window.kernel[side] - 1) * window.dilations[side]
    first = -(-padding // stride)
    end = min((data - 1 - reach + padding) // stride + 1, window.output[side])
    return Span(min(first, window.output[side]), max(end, min(first, window.output[side])))


@dataclass(frozen=True)
class RowTiles:
    """Tiles of pixels in a row.

    Parameters
    ----------
    origin
        the column that the first one begins with; below 0, so that one begins with the first
        column whose window lies in the data.
    number
        of tiles.
    inner
        those whose windows all lie in the data, if the row's do.
    """

    origin: int
    number: int
    inner: Span


def row_tiles(window: Window, pixels: int) -> RowTiles:
    """The tiles of a row, of some pixels each."""
    columns = inner_span(window, 1)
    origin = columns.first % pixels - pixels if columns.first % pixels else 0
    number = -(-(window.output[1] - origin) // pixels)
    inner = Span((columns.first - origin) // pixels, (columns.end - origin) // pixels)
    return RowTiles(origin, number, inner)


def convolution(conv: Convolution, pixels: int, channels: Sequence[int]) -> tirx.Stmt:
    """The loops of a convolution.

    Parameters
    ----------
    pixels
        of a tile.
    channels
        of tiles, the greatest number first, and 1 at the end (see `loop_by_tiles`).
    """
    window = conv.window
    rows, row = inner_span(window, 0), row_tiles(window, pixels)
    inner = row.inner
    covers = inner == Span(0, row.number) and rows == Span(0, window.output[0])

    def of_tile(b: tirx.Var, y: tirx.Var, tile: tirx.Var) -> tirx.Stmt:
        x = tile * pixels + row.origin
        whole = own_function(
            "tile",
            loop_by_tiles(
                "c", conv.outputs, channels, lambda c, n: _tile(conv, b, y, x, c, pixels, n)
            ),
        )
        if covers:
            return whole
        if window.dilations[1] == 1 and pixels * conv.taps <= _PATCH_BYTES:
            single = _patched(conv, (b, y, x), pixels, channels)
        else:
            single = loop(
                "p", pixels, lambda p: _if_inside(window, x + p, _edge(conv, b, y, x + p))
            )
        guard = [
            *_at_least(y, rows.first),
            *_below(y, rows.end, window.output[0]),
            *_at_least(tile, inner.first),
            *_below(tile, inner.end, row.number),
        ]
        if inner.first >= inner.end or rows.first >= rows.end:
            return single
        return tirx.IfThenElse(tirx.all(*guard), whole, single)

    return loop(
        "b",
        conv.batch,
        lambda b: loop(
            "y",
            window.output[0],
            lambda y: loop("tile", row.number, lambda tile: of_tile(b, y, tile)),
        ),
    )


def _if_inside(window: Window, x: tirx.Expr, stmt: tirx.Stmt) -> tirx.Stmt:
    return tirx.IfThenElse(tirx.all(x >= 0, x < window.output[1]), stmt, None)


def _tile(
    conv: Convolution,
    b: tirx.Expr,
    y: tirx.Expr,
    x: tirx.Expr,
    c: tirx.Expr,
    pixels: int,
    channels: int,
) -> list[tirx.Stmt]:
    """Some channels of pixels whose windows lie in the data."""
    window = conv.window
    acc = tirx.decl_buffer((pixels * channels,), "int32", "acc", scope="local")
    height, width = window.kernel
    zero = tirx.IntImm("int32", 0)

    def runs(kx: tirx.Expr, ky: tirx.Expr) -> Run:
        row = y * window.strides[0] - window.padding[0] + ky * window.dilations[0]
        column = x * window.strides[1] - window.padding[1] + kx * window.dilations[1]
        return Run(conv.data, (b, row, column, zero), window.strides[1] * conv.channels)

    tile = (pixels, channels)
    if window.dilations[1] == 1:
        products = window_products(
            runs(zero, zero),
            (1, window.dilations[0]),
            _weight(conv, c, zero, zero),
            (height, width * conv.channels),
            conv.offset,
            acc,
            tile,
        )
    else:

        def tap(ky: tirx.Expr, kx: tirx.Expr) -> tirx.Stmt:
            weight = _weight(conv, c, ky, kx)
            return dot_products(runs(kx, ky), weight, conv.channels, conv.offset, acc, tile)

        products = loop("ky", height, lambda ky: loop("kx", width, lambda kx: tap(ky, kx)))
    return [
        *_begin(conv, acc, c, pixels, channels),
        products,
        *_end(conv, acc, (b, y, x, c), pixels, channels),
    ]


def _patched(conv: Convolution, pixel: Indices, pixels: int, channels: Sequence[int]) -> tirx.Stmt:
    """All channels of a tile from a copy of its windows, zero points where there is no data."""
    window, (b, y, x) = conv.window, pixel
    patch = tirx.decl_buffer((pixels * conv.taps,), "int8", "patch", scope="local")
    height, n = window.kernel[0], window.kernel[1] * conv.channels
    zero = tirx.IntImm("int32", 0)

    def row(p: tirx.Expr, ky: tirx.Expr) -> tirx.Stmt:
        position = y * window.strides[0] - window.padding[0] + ky * window.dilations[0]
        left = ((x + p) * window.strides[1] - window.padding[1]) * conv.channels
        begin = p * conv.taps + ky * n

        def copied(k: tirx.Expr) -> tirx.Stmt:
            inside = tirx.all(left + k >= 0, left + k < window.data[1] * conv.channels)
            value = conv.data[b, position, zero, left + k]
            outside = tirx.IntImm("int8", conv.zero_point)
            return tirx.BufferStore(patch, tirx.if_then_else(inside, value, outside), [begin + k])

        def filled(k: tirx.Expr) -> tirx.Stmt:
            return tirx.BufferStore(patch, tirx.IntImm("int8", conv.zero_point), [begin + k])

        is_row = tirx.all(position >= 0, position < window.data[0])
        return tirx.IfThenElse(is_row, loop("k", n, copied), loop("k", n, filled))

    def body(c: tirx.Expr, number: int) -> list[tirx.Stmt]:
        acc = tirx.decl_buffer((pixels * number,), "int32", "acc", scope="local")
        weight = _weight(conv, c, zero, zero)
        tile = (pixels, number)
        products = dot_products(
            Run(patch, (zero,), conv.taps), weight, conv.taps, conv.offset, acc, tile
        )
        ends = [
            _if_inside(window, x + p, sequence(_end_of(conv, acc, p, (b, y, x + p, c), number)))
            for p in range(pixels)
        ]
        return [*_begin(conv, acc, c, pixels, number), products, *ends]

    return sequence(
        [
            tirx.AllocBuffer(patch),
            loop("p", pixels, lambda p: loop("ky", height, lambda ky: row(p, ky))),
            own_function("patch", loop_by_tiles("c", conv.outputs, channels, body)),
        ]
    )


def _weight(conv: Convolution, c: tirx.Expr, ky: tirx.Expr, kx: tirx.Expr) -> Run:
    height, width = conv.window.kernel
    begin = ((c * height + ky) * width + kx) * conv.channels
    return Run(conv.weight, (begin,), conv.taps)


def _begin(
    conv: Convolution, acc: tirx.Var, c: tirx.Expr, pixels: int, channels: int
) -> Iterator[tirx.Stmt]:
    yield tirx.AllocBuffer(acc)
    for p in range(pixels):
        for n in range(channels):
            yield tirx.BufferStore(acc, conv.first(c + n), [p * channels + n])


def _end(
    conv: Convolution, acc: tirx.Var, first: Indices, pixels: int, channels: int
) -> Iterator[tirx.Stmt]:
    b, y, x, c = first
    for p in range(pixels):
        yield from _end_of(conv, acc, p, (b, y, x + p, c), channels)


def _end_of(
    conv: Convolution, acc: tirx.Var, p: int, first: Indices, channels: int
) -> Iterator[tirx.Stmt]:
    """Store the channels of a pixel."""
    b, y, x, c = first
    for n in range(channels):
        yield conv.store(acc[p * channels + n], (b, y, x, c + n))


def _edge(conv: Convolution, b: tirx.Expr, y: tirx.Expr, x: tirx.Expr) -> tirx.Stmt:
    """All channels of a pixel, from the taps that lie in the data."""
    window = conv.window
    top = y * window.strides[0] - window.padding[0]
    left = x * window.strides[1] - window.padding[1]
    if window.dilations[1] == 1:
        return _joined_edge(conv, (b, y, x), top, left)
    return _separate_edge(conv, (b, y, x), top, left)


def _joined_edge(conv: Convolution, pixel: Indices, top: tirx.Expr, left: tirx.Expr) -> tirx.Stmt:
    """The taps of a row that lie in the data follow each other: they are one run."""
    window, b = conv.window, pixel[0]
    width = window.kernel[1]
    zero = tirx.IntImm("int32", 0)
    begin, end = tirx.Var("begin", "int32"), tirx.Var("end", "int32")
    binds = [
        tirx.Bind(begin, tirx.min(tirx.max(zero - left, 0), width)),
        tirx.Bind(end, tirx.max(tirx.min(window.data[1] - left, width), begin)),
    ]

    def body(c: tirx.Expr, number: int) -> list[tirx.Stmt]:
        acc = tirx.decl_buffer((number,), "int32", "acc", scope="local")

        def outside(ky: tirx.Expr, kx: tirx.Expr, taps: tirx.Expr | int) -> list[tirx.Stmt]:
            if not conv.is_folded or not conv.zero_point:
                return []
            weight = _weight(conv, c, ky, kx)
            return [weight_sums(weight, taps * conv.channels, conv.zero_point, acc, number)]

        def row(ky: tirx.Expr) -> tirx.Stmt:
            position = top + ky * window.dilations[0]
            data = Run(conv.data, (b, position, left + begin, zero), 0)
            inside = [
                *outside(ky, zero, begin),
                dot_products(
                    data,
                    _weight(conv, c, ky, begin),
                    (end - begin) * conv.channels,
                    conv.offset,
                    acc,
                    (1, number),
                ),
                *outside(ky, end, width - end),
            ]
            return _where(position, window.data[0], inside, outside(ky, zero, width))

        return [
            *_begin(conv, acc, c, 1, number),
            loop("ky", window.kernel[0], row),
            *_end(conv, acc, (*pixel, c), 1, number),
        ]

    all_channels = loop_by_tiles("c", conv.outputs, SINGLE_CHANNELS, body)
    return sequence([*binds, own_function("edge", all_channels)])


def _separate_edge(conv: Convolution, pixel: Indices, top: tirx.Expr, left: tirx.Expr) -> tirx.Stmt:
    """The taps of a row are apart: each is a run of its own."""
    window, b = conv.window, pixel[0]
    zero = tirx.IntImm("int32", 0)

    def body(c: tirx.Expr, number: int) -> list[tirx.Stmt]:
        acc = tirx.decl_buffer((number,), "int32", "acc", scope="local")

        def tap(ky: tirx.Expr, kx: tirx.Expr) -> tirx.Stmt:
            row = top + ky * window.dilations[0]
            column = left + kx * window.dilations[1]
            weight = _weight(conv, c, ky, kx)
            data = Run(conv.data, (b, row, column, zero), 0)
            outside = []
            if conv.is_folded and conv.zero_point:
                outside = [weight_sums(weight, conv.channels, conv.zero_point, acc, number)]
            inside = dot_products(data, weight, conv.channels, conv.offset, acc, (1, number))
            condition = tirx.all(
                row >= 0, row < window.data[0], column >= 0, column < window.data[1]
            )
            return tirx.IfThenElse(condition, inside, sequence(outside) if outside else None)

        return [
            *_begin(conv, acc, c, 1, number),
            loop(
                "ky",
                window.kernel[0],
                lambda ky: loop("kx", window.kernel[1], lambda kx: tap(ky, kx)),
            ),
            *_end(conv, acc, (*pixel, c), 1, number),
        ]

    return loop_by_tiles("c", conv.outputs, SINGLE_CHANNELS, body)


def _where(
    position: tirx.Expr, extent: int, inside: list[tirx.Stmt], outside: list[tirx.Stmt]
) -> tirx.Stmt:
    condition = tirx.all(position >= 0, position < extent)
    return tirx.IfThenElse(condition, sequence(inside), sequence(outside) if outside else None)


def _at_least(value: tirx.Expr, least: int) -> list[tirx.Expr]:
    return [value >= least] if least > 0 else []


def _below(value: tirx.Expr, end: int, extent: int) -> list[tirx.Expr]:
    return [value < end] if end < extent else []
