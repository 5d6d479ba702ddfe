"""Products of pixels in a line and constant weights, by vector functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from tvm import tirx

from usmp.ops.kernels.call.limits import Limits
from usmp.ops.kernels.loops.line import Line
from usmp.ops.kernels.mve.ending import VectorEnding, rescaled
from usmp.ops.kernels.mve.factor import suffix_of
from usmp.ops.quantized.rescaling.fixed_point import Rounding
from usmp.tir.nodes import sequence
from usmp.tir.tensor_intrin import tensor_intrin

LANES = 16
MOST_COLUMNS = 240
"""The most columns of a row: functions address no more from one pointer."""

MOST_IN_QUADS = 7
"""The most channels for four pixels at a time: functions compute all before they store any."""

FARTHEST = 2**16 - 1
"""The greatest offset, in elements, of an output from the first output of two pixels."""


Element = Callable[[tirx.Expr, tirx.Expr, tirx.Expr], tirx.Expr]


@dataclass(frozen=True)
class Rows:
    """The taps of an output channel: rows of consecutive columns."""

    rows: int
    columns: int

    @property
    def blocks(self) -> int:
        """The number of vectors of a row."""
        return -(-self.columns // LANES)

    def last_size(self, together: int) -> int:
        """Return the bytes that each channel takes in the last vector of weights."""
        last = self.columns - (self.blocks - 1) * LANES
        return LANES // 2 if together == 4 and self.rows == 1 and last <= LANES // 2 else LANES

    def size(self, together: int) -> int:
        """Return the bytes that the weights of `together` channels take."""
        return self.rows * together * ((self.blocks - 1) * LANES + self.last_size(together))


def split_run(taps: int) -> Rows | None:
    """Split consecutive taps into rows of equal length that functions can address; None if the
    number of taps has no fitting factor."""
    counts = range(1, taps + 1)
    rows = next((n for n in counts if taps % n == 0 and taps // n <= MOST_COLUMNS), taps)
    return Rows(rows, taps // rows) if taps // rows >= min(taps, LANES) else None


def packed_weight(weight: np.ndarray, rows: Rows, together: int = 4) -> np.ndarray:
    """Return interleaved weights of `together` channels; each row begins with its last vector.

    Parameters
    ----------
    weight
        (channels, rows * columns) of int8.
    together
        number of channels that are interleaved.

    Returns
    -------
    numpy.ndarray
        (channels / together, rows, vectors, together, 16), flat. If four channels have one row
        whose last vector is at most half full, that vector is (together, 8). Functions always load
        16 bytes, so the array is padded at its end.
    """
    channels, last = weight.shape[0], rows.last_size(together)
    shape = (-(-channels // together) * together, rows.rows, rows.blocks * LANES)
    padded = np.zeros(shape, np.int8)
    padded[:channels, :, : rows.columns] = weight.reshape(channels, rows.rows, rows.columns)
    blocks = padded.reshape(-1, together, rows.rows, rows.blocks, LANES).transpose(0, 2, 3, 1, 4)
    count = blocks.shape[0] * rows.rows
    ends = blocks[:, :, -1, :, :last].reshape(count, -1)
    others = blocks[:, :, :-1].reshape(count, -1)
    beyond = np.zeros(0 if others.size else LANES - last, np.int8)
    return np.concatenate([np.concatenate([ends, others], axis=1).ravel(), beyond])


def packed_records(ending: VectorEnding, together: int = 4) -> np.ndarray:
    """Return (channels / together, 2, together), flat: bias and shift of `together` channels, then
    their multipliers."""
    channels = ending.packed.size
    records = np.zeros((2, -(-channels // together) * together), np.int32)
    records[0, :channels], records[1, :channels] = ending.packed, ending.multiplier
    return np.ascontiguousarray(records.reshape(2, -1, together).transpose(1, 0, 2)).ravel()


@dataclass(frozen=True)
class Products:
    """Constant weights, and the epilogue of their products.

    Parameters
    ----------
    weight, records
        the buffers with `packed_weight` and `packed_records`.
    rows, row_distance
        the taps of an output channel, and elements of the data from one row to the next.
    channels
        number of output channels.
    limits, rounding
        clamp of the outputs, and rounding of the accumulators' rescaling.
    first
        number of preceding blocks in `weight` and `records`: of `channels` channels if `in_quads`,
        else of four channels.
    in_quads
        whether pixels are computed four at a time, with at most `MOST_IN_QUADS` channels, whose
        weights and records are not interleaved.
    """

    weight: tirx.Var
    records: tirx.Var
    rows: Rows
    row_distance: int
    channels: int
    limits: Limits
    rounding: Rounding
    first: tirx.Expr | int = 0
    in_quads: bool = False

    @property
    def together(self) -> int:
        """The number of channels whose weights and records are interleaved."""
        return 1 if self.in_quads else 4

    @property
    def begun(self) -> tirx.Expr | int:
        """The number of preceding blocks of `together` channels in weights and records."""
        return self.first * self.channels if self.in_quads else self.first

    @property
    def suffix(self) -> str:
        """The suffix of functions with this rounding."""
        return suffix_of(self.rounding)

    @property
    def takes_pairs(self) -> bool:
        """Whether there are functions that compute two pixels at once."""
        return self.channels % 4 == 0 and self.channels + 3 <= FARTHEST

    @property
    def constants(self) -> tuple[tirx.Expr, tirx.Expr]:
        """The first weight and the first record."""
        size = self.rows.size(self.together)
        return self.weight[self.begun * size], self.records[self.begun * 2 * self.together]


def products(
    by: Products, data: Line, output: Line, pixels: int, scratch: tirx.Var | None = None
) -> list[tirx.Stmt]:
    """Return statements that compute all channels of pixels: four, two or one at a time.

    Parameters
    ----------
    scratch
        a buffer of two output pixels: they are copied from it after both are computed, so that
        outputs may overwrite data up to these pixels.
    """
    if by.in_quads:
        return [_quads(by, data, output, pixels)]
    pairs = pixels // 2 * 2 if by.takes_pairs else 0
    statements = []
    if pairs:
        statements.append(_pairs(by, data, output, pairs, scratch))
    if pairs < pixels:
        data, output = data.moved(pairs), output.moved(pairs)
        if scratch is None or not by.takes_pairs:
            statements.append(_singles(by, data, output, pixels - pairs))
        else:
            pair = Line(scratch, (tirx.IntImm("int32", 0),), by.channels)
            statements += [_singles(by, data, pair, 1), copy_elements(pair, output, by.channels)]
    return statements


def copy_elements(line: Line, output: Line, count: int) -> tirx.Stmt:
    """Copy the elements of a line."""
    arguments = [output.at(0), line.at(0), count, 1, 0, 0]
    return tensor_intrin("tvmgen_mve_copy_rows", arguments, _copy(line, output, count))


def _arguments(by: Products, data: Line, output: Line, pixels: int) -> list[tirx.Expr | int]:
    return [
        *(data.at(0), *by.constants, output.at(0)),
        *(data.distance, output.distance, pixels, by.channels),
        *(by.rows.columns, by.rows.rows, by.row_distance, *by.limits.arguments),
    ]


def _symbol(by: Products, at_once: int) -> str:
    several = "_rows" if by.rows.rows > 1 else ""
    suffix = by.suffix or by.limits.suffix
    return f"tvmgen_mve_conv2d_{at_once}x4{several}{suffix}"


def _singles(by: Products, data: Line, output: Line, pixels: int) -> tirx.Stmt:
    tile = tirx.Var("tile", "int32")
    body = _tile(by, data.moved(tile), output.moved(tile), 1)
    arguments = _arguments(by, data, output, pixels)
    return tensor_intrin(_symbol(by, 1), arguments, _nest(((tile, pixels),), body))


def _pairs(
    by: Products, data: Line, output: Line, pixels: int, scratch: tirx.Var | None
) -> tirx.Stmt:
    tile = tirx.Var("tile", "int32")
    if scratch is None:
        body = _tile(by, data.moved(tile * 2), output.moved(tile * 2), 2)
        arguments = [*_arguments(by, data, output, pixels), 0]
    else:
        pair = Line(scratch, (tirx.IntImm("int32", 0),), by.channels)
        body = sequence(
            [
                _tile(by, data.moved(tile * 2), pair, 2),
                _copy(pair, output.moved(tile * 2), 2 * by.channels),
            ]
        )
        arguments = [*_arguments(by, data, pair, pixels), output.at(0)]
    return tensor_intrin(_symbol(by, 2), arguments, _nest(((tile, pixels // 2),), body))


def _quads(by: Products, data: Line, output: Line, pixels: int) -> tirx.Stmt:
    tile = tirx.Var("tile", "int32")
    whole, rest = divmod(pixels, 4)
    quads = []
    if whole:
        quad = _tile(by, data.moved(tile * 4), output.moved(tile * 4), 4)
        quads.append(_nest(((tile, whole),), quad))
    if rest:
        quads.append(_tile(by, data.moved(whole * 4), output.moved(whole * 4), rest))
    arguments = _arguments(by, data, output, pixels)
    return tensor_intrin(f"tvmgen_mve_conv2d_4x1{by.suffix}", arguments, sequence(quads))


def _tile(by: Products, data: Line, output: Line, pixels: int) -> tirx.Stmt:
    """Return loops that compute all channels of pixels in a line, in tiles of all these pixels."""

    def element(p: tirx.Expr, row: tirx.Expr, k: tirx.Expr) -> tirx.Expr:
        return data.at(p * data.distance + row * by.row_distance + k)

    return tile_products(by, element, output, pixels)


def tile_products(by: Products, element: Element, output: Line, pixels: int) -> tirx.Stmt:
    """Return loops over tiles of all `pixels` and four channels, or all channels if `in_quads`.

    The data of a tile is read before any of its outputs is stored.

    Parameters
    ----------
    element
        returns the element of the data, from pixel, row and column of the taps.
    """
    rows, together, at_once = by.rows, by.together, by.channels if by.in_quads else 4
    groups = -(-by.channels // at_once)
    group, row, k, p, c = (tirx.Var(name, "int32") for name in ("group", "row", "k", "p", "c"))
    acc = tirx.decl_buffer((pixels * at_once,), "int32", "acc", scope="local")
    packed, lane = (by.begun + c, 0) if by.in_quads else (by.begun + group, c)
    factor = by.weight[_place_of_weight(rows, together, packed, row, lane, k)]
    at = p * at_once + c
    product = element(p, row, k).astype("int32") * factor.astype("int32")
    value = rescaled(
        acc[at], by.records, packed * 2 * together + lane, by.limits, by.rounding, together
    )
    store = output.store(p * output.distance + group * at_once + c, value)
    if by.channels % at_once:
        store = tirx.IfThenElse(group * at_once + c < by.channels, store, None)
    zeroed = tirx.BufferStore(acc, tirx.IntImm("int32", 0), [at])
    added = tirx.BufferStore(acc, acc[at] + product, [at])
    all_of = ((p, pixels), (c, at_once))
    body = sequence(
        [
            tirx.AllocBuffer(acc),
            _nest(all_of, zeroed),
            _nest(((row, rows.rows), (k, rows.columns), *all_of), added),
            _nest(all_of, store),
        ]
    )
    return _nest(((group, groups),), body)


def _place_of_weight(
    rows: Rows,
    together: int,
    group: tirx.Expr | int,
    row: tirx.Expr,
    channel: tirx.Expr | int,
    k: tirx.Expr,
) -> tirx.Expr:
    """Return the index in `packed_weight` of the weight of a row, column and channel."""
    last, whole = rows.last_size(together), (rows.blocks - 1) * LANES
    first = (group * rows.rows + row) * (rows.size(together) // rows.rows)
    vector, lane = tirx.floordiv(k, LANES), tirx.floormod(k, LANES)
    end = channel * last + k - whole
    other = together * last + (vector * together + channel) * LANES + lane
    return first + (tirx.Select(k >= whole, end, other) if whole else end)


def _copy(line: Line, output: Line, count: int) -> tirx.Stmt:
    i = tirx.Var("i", "int32")
    return _nest(((i, count),), output.store(i, line.at(i)))


def _nest(loops: tuple[tuple[tirx.Var, int], ...], body: tirx.Stmt) -> tirx.Stmt:
    for index, extent in reversed(loops):
        body = tirx.For(index, 0, extent, tirx.ForKind.SERIAL, body)
    return body
