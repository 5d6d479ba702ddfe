"""A kernel window that moves over an image: the position in the data of each of its taps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tvm import te, tirx


@dataclass(frozen=True)
class Layout:
    """The order of the axes of an image, "NHWC" or "NCHW"."""

    axes: str

    def order(self, b: Any, y: Any, x: Any, c: Any) -> tuple[Any, ...]:
        """Return batch, row, column and channel in the order of the axes."""
        by_axis = {"N": b, "H": y, "W": x, "C": c}
        return tuple(by_axis[axis] for axis in self.axes)

    def named(self, values: Sequence[Any]) -> tuple[Any, Any, Any, Any]:
        """Return batch, row, column and channel of values in the order of the axes."""
        by_axis = dict(zip(self.axes, values, strict=True))
        return by_axis["N"], by_axis["H"], by_axis["W"], by_axis["C"]


_TO = " to "


class Layouts(NamedTuple):
    """The layouts of the images that an operator reads and writes."""

    data: Layout
    output: Layout

    @property
    def name(self) -> str:
        """The name "NHWC", or "NCHW to NHWC" if data and output differ, so that a reader that knows
        only single layouts refuses it."""
        return self.data.axes if self.data == self.output else _TO.join(side.axes for side in self)

    @classmethod
    def named(cls, name: str) -> Layouts:
        """Return the layouts of this name."""
        data, _, output = name.partition(_TO)
        return cls(Layout(data), Layout(output or data))


@dataclass(frozen=True)
class Window:
    """The movement of a kernel over the data; pairs are (height, width).

    Parameters
    ----------
    data
        extents of the data.
    kernel
        extents of the kernel.
    strides, dilations
        steps in the data from one output, or tap, to the next.
    padding
        rows above and columns to the left of the data that the kernel reaches into.
    output
        extents of the output.
    """

    data: tuple[int, int]
    kernel: tuple[int, int]
    strides: tuple[int, int]
    dilations: tuple[int, int]
    padding: tuple[int, int]
    output: tuple[int, int]

    @property
    def is_pointwise(self) -> bool:
        """Whether each output reads only the pixel of the data at its own position."""
        is_single = self.kernel == self.strides == (1, 1) and self.padding == (0, 0)
        return is_single and self.output == self.data

    def taps(self) -> tuple[tirx.IterVar, tirx.IterVar]:
        """Return reduction axes over the kernel's rows and columns."""
        height, width = self.kernel
        return te.reduce_axis((0, height), "ky"), te.reduce_axis((0, width), "kx")

    def position(
        self, output: tuple[tirx.Var, tirx.Var], tap: tuple[tirx.IterVar, tirx.IterVar]
    ) -> tuple[tirx.Expr, tirx.Expr]:
        """Return the row and column of a tap in the data."""
        row, column = (
            output[side] * self.strides[side]
            + tap[side] * self.dilations[side]
            - self.padding[side]
            for side in (0, 1)
        )
        return row, column

    def origin(self, y: tirx.Expr, x: tirx.Expr) -> tuple[tirx.Expr, tirx.Expr]:
        """Return the row and column of the data that the first tap of an output is at."""
        return y * self.strides[0] - self.padding[0], x * self.strides[1] - self.padding[1]

    def tap(
        self, y: tirx.Expr, x: tirx.Expr, ky: tirx.Expr, kx: tirx.Expr
    ) -> tuple[tirx.Expr, tirx.Expr]:
        """Return the row and column of the data that a tap of an output is at."""
        row, column = self.origin(y, x)
        return row + ky * self.dilations[0], column + kx * self.dilations[1]

    def has(self, row: tirx.Expr, column: tirx.Expr) -> tirx.Expr:
        """Return whether a row and a column are those of the data."""
        return tirx.all(row >= 0, row < self.data[0], column >= 0, column < self.data[1])

    def inside(self, position: tuple[tirx.Expr, tirx.Expr]) -> tirx.Expr | None:
        """Return whether a position is in the data; None if every position is."""
        conditions: list[tirx.Expr] = []
        for side in (0, 1):
            if self.padding[side] > 0:
                conditions.append(position[side] >= 0)
            if self._reaches_beyond(side):
                conditions.append(position[side] < self.data[side])
        return tirx.all(*conditions) if conditions else None

    def taps_inside(self, y: tirx.Var, x: tirx.Var) -> tirx.Expr:
        """Return the number of taps in the data, for dilations of 1: int32."""
        counts = []
        for side, index in enumerate((y, x)):
            extent = tirx.IntImm("int32", self.kernel[side])
            origin = index * self.strides[side] - self.padding[side]
            if self.padding[side] <= 0 and not self._reaches_beyond(side):
                counts.append(extent)
                continue
            first = tirx.max(tirx.IntImm("int32", 0), tirx.IntImm("int32", 0) - origin)
            last = tirx.min(extent, tirx.IntImm("int32", self.data[side]) - origin)
            counts.append(last - first)
        return counts[0] * counts[1]

    def tap_counts(self) -> list[int]:
        """Return all possible values of `taps_inside`, in ascending order."""
        counts: list[set[int]] = []
        for side in (0, 1):
            origins = [
                index * self.strides[side] - self.padding[side]
                for index in range(self.output[side])
            ]
            last = self.kernel[side]
            counts.append({min(last, self.data[side] - o) - max(0, -o) for o in origins})
        return sorted({rows * columns for rows in counts[0] for columns in counts[1]})

    def _reaches_beyond(self, side: int) -> bool:
        """Return whether a tap is ever beyond the last row (side 0) or column (side 1)."""
        last = (self.output[side] - 1) * self.strides[side] - self.padding[side]
        last += (self.kernel[side] - 1) * self.dilations[side]
        return last >= self.data[side]
