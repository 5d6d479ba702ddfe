"""Transposed convolutions as convolutions of their phases.

Output pixels that are a stride apart use the same taps, with neighboring pixels of the data. They
form a phase: an ordinary convolution with a part of the kernel. Tiles of all phases are computed in
raster order, so that outputs may overwrite inputs after their last use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np
from tvm import tirx

from usmp.ops.kernels.images.conv2d import inner_tile
from usmp.ops.kernels.images.convolution import Convolution
from usmp.ops.kernels.images.convolution_edges import edge
from usmp.ops.kernels.loops.accumulators import Accumulators, Indices
from usmp.ops.kernels.loops.index_ranges import IndexRange, within
from usmp.ops.kernels.loops.loops import loop, loop_by_tiles
from usmp.ops.quantized.transposed_convolution import TransposedSide
from usmp.tir.nodes import sequence
from usmp.tir.own_function import own_function

Sides = tuple[TransposedSide, TransposedSide]


@dataclass(frozen=True)
class SidePhase:
    """Rows, or columns, of the output that use the same taps.

    The g-th row of the phase is row `g * stride + origin` of the output. It is computed from `taps`
    rows of the data from `g - padding` on. The last of these rows is multiplied by tap `first_tap`
    of the kernel, the row before it by tap `first_tap + stride`, and so on.
    """

    side: TransposedSide
    first_tap: int

    @property
    def taps(self) -> int:
        """The number of taps of the kernel in the phase."""
        return max(0, -(-(self.side.kernel - self.first_tap) // self.side.stride))

    @property
    def origin(self) -> int:
        """The output row of g = 0; less than 0 if the output does not have it."""
        return self.first_tap - self.side.padding % self.side.stride

    @property
    def padding(self) -> int:
        """The number of rows before the data that g = 0 reads."""
        return self.taps - 1 - self.side.padding // self.side.stride

    @property
    def existing(self) -> IndexRange:
        """The range of g whose rows are in the output."""
        return IndexRange(
            int(self.origin < 0), -((self.origin - self.side.output) // self.side.stride)
        )

    @property
    def inner(self) -> IndexRange:
        """The range of g for which all taps lie in the data."""
        before = self.side.padding // self.side.stride
        first = max(self.padding, self.existing.first)
        return IndexRange(first, max(first, min(self.side.data - before, self.existing.end)))


Phases = tuple[SidePhase, SidePhase]


def phases_of(sides: Sides) -> list[Phases]:
    """Return the phases of rows and columns, in raster order."""
    rows, columns = ([SidePhase(side, tap) for tap in range(side.stride)] for side in sides)
    return list(product(rows, columns))


def phase_weight(weight: np.ndarray, phases: Phases) -> np.ndarray:
    """Return the weights of a phase, with taps in the order of the data that they multiply.

    Parameters
    ----------
    weight
        (output channels, kernel height, kernel width, channels).

    Returns
    -------
    np.ndarray
        (output channels, rows, columns, channels).
    """
    (y, down), (x, along) = ((phase.first_tap, phase.side.stride) for phase in phases)
    return weight[:, y::down, x::along][:, ::-1, ::-1]


@dataclass(frozen=True)
class PhaseConvolution:
    """The convolution of a phase, with indices in the phase; `phases` are its rows and columns."""

    phases: Phases
    conv: Convolution


def transposed_convolution(
    by_phase: Sequence[PhaseConvolution], pixels: int, channels: Sequence[int]
) -> tirx.Stmt:
    """Return the loops of a transposed convolution.

    Parameters
    ----------
    by_phase
        all phases in raster order.
    pixels
        number of pixels of a tile, which are all in one phase.
    channels
        numbers of channels of tiles (see `loop_by_tiles`).
    """
    by_row: dict[int, list[PhaseConvolution]] = {}
    for phase in by_phase:
        by_row.setdefault(phase.phases[0].first_tap, []).append(phase)
    rows = [phases[0].phases[0] for phases in by_row.values()]
    columns = [phase.phases[1] for phase in by_row[0]]
    tiles = _tiles_of_row(columns, pixels)

    def of_row(b: tirx.Expr, y: tirx.Expr, in_row: Sequence[PhaseConvolution]) -> tirx.Stmt:
        def of_tile(tile: tirx.Expr) -> tirx.Stmt:
            x = tile * pixels + tiles.origin
            return sequence(
                [_pixels(p, (b, y, x), (tile, tiles), pixels, channels) for p in in_row]
            )

        body = loop("tile", tiles.number, of_tile)
        return _if_within(y, in_row[0].phases[0].existing, _groups(rows), body)

    def of_rows(b: tirx.Expr, y: tirx.Expr) -> tirx.Stmt:
        return sequence([of_row(b, y, in_row) for in_row in by_row.values()])

    batch = by_phase[0].conv.batch
    return loop("b", batch, lambda b: loop("y", _groups(rows).end, partial(of_rows, b)))


@dataclass(frozen=True)
class _Tiles:
    """Tiles of pixels of each phase in a row; `origin` is the first pixel, at most 0."""

    origin: int
    number: int
    pixels: int

    @property
    def covered(self) -> IndexRange:
        """The range of the pixels of all tiles."""
        return IndexRange(self.origin, self.origin + self.number * self.pixels)

    def within(self, bounds: IndexRange) -> IndexRange:
        """Return the tiles whose pixels are all in a range."""
        first = -(-(bounds.first - self.origin) // self.pixels)
        return IndexRange(first, max(first, (bounds.end - self.origin) // self.pixels))


def _groups(phases: Sequence[SidePhase]) -> IndexRange:
    """Return the range of indices of the longest phase."""
    return IndexRange(0, max(phase.existing.end for phase in phases))


def _tiles_of_row(phases: Sequence[SidePhase], pixels: int) -> _Tiles:
    """Return tiles; one begins at the first pixel whose taps lie in the data in every phase."""
    origin = -(-max(phase.inner.first for phase in phases) % pixels)
    return _Tiles(origin, -(-(_groups(phases).end - origin) // pixels), pixels)


def _pixels(
    phase: PhaseConvolution,
    first: Indices,
    place: tuple[tirx.Expr, _Tiles],
    pixels: int,
    channels: Sequence[int],
) -> tirx.Stmt:
    """Return the statement that computes a tile of pixels of a phase."""
    (b, y, x), (rows, columns), conv = first, phase.phases, phase.conv
    tile, tiles = place

    def single(p: tirx.Expr) -> tirx.Stmt:
        pixel = _edge if rows.taps * columns.taps else _untouched
        return _if_within(x + p, columns.existing, tiles.covered, pixel(conv, (b, y, x + p)))

    def whole(c: tirx.Expr, number: int) -> list[tirx.Stmt]:
        return inner_tile(conv, b, y, x, c, pixels, number)

    singles = loop("p", pixels, single)
    inner = tiles.within(columns.inner)
    if not rows.taps * columns.taps or inner.first >= inner.end:
        return singles
    if rows.inner.first >= rows.inner.end:
        return singles
    inside = own_function("tile", loop_by_tiles("c", conv.outputs, channels, whole))
    guard = [
        *within(y, rows.inner, rows.existing.end, rows.existing.first),
        *within(tile, inner, tiles.number),
    ]
    return tirx.IfThenElse(tirx.all(*guard), inside, singles) if guard else inside


def _edge(conv: Convolution, pixel: Indices) -> tirx.Stmt:
    return edge(conv, *pixel)


def _untouched(conv: Convolution, pixel: Indices) -> tirx.Stmt:
    """Return the stores of a pixel without taps, from the initial values of accumulators."""

    def store(c: tirx.Expr) -> tirx.Stmt:
        return conv.accumulators.store(conv.accumulators.first(c), (*pixel, c))

    return loop("c", conv.outputs, store)


def _if_within(
    index: tirx.Expr, bounds: IndexRange, known: IndexRange, body: tirx.Stmt
) -> tirx.Stmt:
    guard = within(index, bounds, known.end, known.first)
    return tirx.IfThenElse(tirx.all(*guard), body, None) if guard else body


def stored_by_phase(accumulators: Accumulators, phases: Phases) -> Accumulators:
    """Return accumulators that store outputs from indices in a phase."""

    def store(accumulator: tirx.Expr, indices: Indices) -> tirx.Stmt:
        b, y, x, c = indices
        row, column = (
            index * phase.side.stride + phase.origin
            for index, phase in zip((y, x), phases, strict=True)
        )
        return accumulators.store(accumulator, (b, row, column, c))

    return replace(accumulators, store=store)
