"""Resizing of images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from tvm import relax, te, tirx

from usmp.ops.emit import call_operator, shape_of
from usmp.ops.quantization import Quantization, stored_as
from usmp.ops.records.movement import ResizeBilinear, ResizeNearest, ResizeOp
from usmp.ops.window import Layout
from usmp.support.errors import UnsupportedModelError

_BITS = 10
"""Fractional bits of a position between two elements."""


def _index_type(extent: int) -> type[np.integer]:
    return np.int16 if extent <= np.iinfo(np.int16).max else np.int32


@dataclass(frozen=True)
class Resize:
    """The resizing of rows or columns.

    Parameters
    ----------
    data, output
        number of rows or columns of the data and of the output.
    align_corners
        whether the first and last elements of data and output coincide.
    half_pixel_centers
        whether an element is at the center of a pixel, instead of its corner.
    """

    data: int
    output: int
    align_corners: bool
    half_pixel_centers: bool

    @property
    def _spans(self) -> tuple[int, int]:
        """Elements of the data and of the output that span the same length."""
        less = 1 if self.align_corners and self.output > 1 else 0
        return self.data - less, self.output - less

    @property
    def _single_scale(self) -> np.float32:
        """Elements of the data for one element of the output, in single precision."""
        extent, count = self._spans
        return np.float32(extent) / np.float32(count)

    def nearest(self) -> np.ndarray:
        """Return the index in the data for each element of the output: int16 or int32.

        Computed in single precision: TFLite's GetNearestNeighbor.
        """
        places = np.arange(self.output, dtype=np.float32)
        places += np.float32(0.5 if self.half_pixel_centers else 0)
        places *= self._single_scale
        chosen = np.floor(places)
        if self.align_corners:
            # Round ties away from zero, like C. The difference is exact; `places + 0.5` is not.
            chosen += places - chosen >= 0.5
        return np.clip(chosen, 0, self.data - 1).astype(_index_type(self.data))

    def place(self, index: tirx.Var) -> tirx.Expr:
        """Return the position in the data of an element of the output, in units of 2**-10: int32.

        TFLite's ComputeInterpolationValuesInteger.

        Raises
        ------
        UnsupportedModelError
            a position takes more than 32 bits.
        """
        extent, count = self._spans
        scale = ((extent << _BITS) + count // 2) // count
        # Check weights too, which have twice the fractional bits.
        if max(scale << _BITS, (self.data + 1) << _BITS) >= 2**31:
            raise UnsupportedModelError(
                f"{self.data} rows or columns are too many to be resized to {self.output}: places "
                "between them take more than 32 bits"
            )
        place = index * scale
        return place + (scale // 2 - (1 << (_BITS - 1))) if self.half_pixel_centers else place

    def interpolation(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the indices (int16 or int32) of the data elements before and after each output
        element, and the weight of the one after it, in single precision.

        TFLite's ComputeInterpolationValues.
        """
        single = np.float32
        scale = self._single_scale
        places = np.arange(self.output, dtype=single)
        half = single(0.5)
        places = (places + half) * scale - half if self.half_pixel_centers else places * scale
        before = np.maximum(np.floor(places), 0).astype(np.int32)
        after = np.minimum(np.ceil(places), self.data - 1).astype(np.int32)
        dtype = _index_type(self.data)
        return before.astype(dtype), after.astype(dtype), places - before.astype(single)


def _record(
    kind: type[ResizeOp],
    data: relax.Expr,
    sides: tuple[Resize, Resize],
    layout: Layout,
    quantization: Quantization | None,
) -> ResizeOp:
    both, (rows, columns) = (stored_as(data, quantization),), sides
    return kind(
        both,
        both,
        layout=layout,
        size=(rows.output, columns.output),
        align_corners=rows.align_corners,
        half_pixel_centers=rows.half_pixel_centers,
    )


def resize_nearest(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    sides: tuple[Resize, Resize],
    layout: Layout,
    quantization: Quantization | None = None,
) -> relax.Expr:
    """Resize an image of any type: each element is the nearest element of the data.

    Parameters
    ----------
    quantization
        quantization of data and output, for the record.
    """
    shape = _output_shape(data, sides, layout)
    tables = [side.nearest() for side in sides]
    divisions = [_division(side, table) for side, table in zip(sides, tables, strict=True)]

    def compute(data: te.Tensor, *given: te.Tensor) -> te.Tensor:
        rest = list(given)
        lookups = [None if division else rest.pop(0) for division in divisions]

        def element(*indices: tirx.Var) -> tirx.Expr:
            b, y, x, c = layout.named(indices)
            place = [
                _chosen(index, division, lookup)
                for index, division, lookup in zip((y, x), divisions, lookups, strict=True)
            ]
            return data[layout.order(b, place[0], place[1], c)]

        return te.compute(shape, element, "output")

    constants = [table for table, division in zip(tables, divisions, strict=True) if not division]
    record = _record(ResizeNearest, data, sides, layout, quantization)
    return call_operator(builder, "resize_nearest", compute, [data, *constants], record=record)


def _output_shape(
    data: relax.Expr, sides: tuple[Resize, Resize], layout: Layout
) -> tuple[int, ...]:
    batch, _, _, channels = layout.named(shape_of(data))
    return layout.order(batch, sides[0].output, sides[1].output, channels)


def _chosen(index: tirx.Var, division: _Division | None, table: te.Tensor | None) -> tirx.Expr:
    """Return the index in the data for an index in the output."""
    if division is not None:
        return tirx.floordiv(index * division.factor + division.offset, division.divisor)
    assert table is not None
    return table[index].astype("int32")


class _Division(NamedTuple):
    """The formula (index * factor + offset) // divisor."""

    factor: int
    offset: int
    divisor: int


def _division(side: Resize, table: np.ndarray) -> _Division | None:
    """Return a formula (of edges, centers or aligned corners) that equals the table; None if there
    is none. It takes no bytes, and shows the planner which elements each iteration reads."""
    corners = max(side.output - 1, 1)
    for division in (
        _Division(side.data, 0, side.output),
        _Division(2 * side.data, side.data, 2 * side.output),
        _Division(2 * (side.data - 1), corners, 2 * corners),
    ):
        if side.output * division.factor + division.offset >= 2**31:
            continue
        places = np.arange(side.output, dtype=np.int64)
        places *= division.factor
        places += division.offset
        places //= division.divisor
        if (places == table).all():
            return division
    return None


def resize_bilinear(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    sides: tuple[Resize, Resize],
    layout: Layout,
    quantization: Quantization | None = None,
) -> relax.Expr:
    """Resize by weighted means of the four nearest elements, rounded half away from zero.

    Parameters
    ----------
    data
        an image of int8 or int16.
    quantization
        quantization of data and output, for the record.
    """
    shape = _output_shape(data, sides, layout)
    dtype = str(data.ty.dtype)
    # 8-bit elements need no wider sum, because 128 * (2 * 2**10)**2 is less than 2**31.
    wide = "int32" if dtype == "int8" else "int64"

    def compute(data: te.Tensor) -> te.Tensor:
        def element(*indices: tirx.Var) -> tirx.Expr:
            b, y, x, c = layout.named(indices)
            rows, columns = (_neighbors(s, i) for s, i in zip(sides, (y, x), strict=True))
            total: tirx.Expr = tirx.const(0, wide)
            for row, row_weight in rows:
                for column, column_weight in columns:
                    weight = (row_weight * column_weight).astype(wide)
                    total = total + data[layout.order(b, row, column, c)].astype(wide) * weight
            half = tirx.const(1 << (2 * _BITS - 1), wide)
            half = tirx.Select(total > tirx.const(0, wide), half, -half)
            return tirx.truncdiv(total + half, tirx.const(1 << (2 * _BITS), wide)).astype(dtype)

        return te.compute(shape, element, "output")

    record = _record(ResizeBilinear, data, sides, layout, quantization)
    return call_operator(builder, "resize_bilinear", compute, [data], record=record)


def _neighbors(side: Resize, index: tirx.Var) -> list[tuple[tirx.Expr, tirx.Expr]]:
    """Return the elements before and after a position, with their weights, whose sum is 2**10."""
    place = side.place(index)
    one, last = tirx.IntImm("int32", 1 << _BITS), tirx.IntImm("int32", side.data - 1)
    before = tirx.max(tirx.truncdiv(place, one), tirx.IntImm("int32", 0))
    after = tirx.min(tirx.truncdiv(place + (one - 1), one), last)
    beyond = place - before * one
    return [(before, one - beyond), (after, beyond)]


def resize_bilinear_in_single(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    sides: tuple[Resize, Resize],
    layout: Layout,
    quantization: Quantization | None = None,
) -> relax.Expr:
    """Resize uint8 or float32 like `resize_bilinear`, but in single precision, like TFLite's
    reference kernels."""
    shape, dtype = _output_shape(data, sides, layout), str(data.ty.dtype)

    def compute(data: te.Tensor, *tables: te.Tensor) -> te.Tensor:
        def element(*indices: tirx.Var) -> tirx.Expr:
            b, y, x, c = layout.named(indices)
            rows = [table[y].astype("int32") for table in tables[:2]]
            columns = [table[x].astype("int32") for table in tables[3:5]]
            below, beside = tables[2][y], tables[5][x]
            one = tirx.const(1, "float32")
            # Sum in the order of the reference, because the last bit depends on it.
            corners = [
                (rows[0], columns[0], one - below, one - beside),
                (rows[1], columns[0], below, one - beside),
                (rows[0], columns[1], one - below, beside),
                (rows[1], columns[1], below, beside),
            ]
            terms = [
                data[layout.order(b, row, column, c)].astype("float32") * first * second
                for row, column, first, second in corners
            ]
            total = terms[0] + terms[1] + terms[2] + terms[3]
            if dtype == "uint8":
                total = total + tirx.const(0.5, "float32")
            return total.astype(dtype)

        return te.compute(shape, element, "output")

    constants = [table for side in sides for table in side.interpolation()]
    record = _record(ResizeBilinear, data, sides, layout, quantization)
    return call_operator(builder, "resize_bilinear", compute, [data, *constants], record=record)
