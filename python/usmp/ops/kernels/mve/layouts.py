"""Layouts of the taps of a convolution for cores with MVE, and the pixels computed at a time."""

from __future__ import annotations

from dataclasses import dataclass

from usmp.ops.kernels.loops.index_ranges import IndexRange, inner_range
from usmp.ops.kernels.mve.costs import (
    products_instructions,
    quads_instructions,
    window_instructions,
)
from usmp.ops.kernels.mve.products import MOST_COLUMNS, MOST_IN_QUADS, Rows, split_run
from usmp.ops.kernels.mve.taps import rows_of_taps
from usmp.ops.kernels.mve.windows import MOST_ON_STACK, has_dilated_columns
from usmp.ops.window import Window


def is_inner(window: Window) -> bool:
    """Return whether no tap lies in the padding."""
    return all(inner_range(window, side) == IndexRange(0, window.output[side]) for side in (0, 1))


def copy_instructions(window: Window, channels: int) -> int:
    """Return the instructions that copy a window."""
    height, width = window.kernel
    if has_dilated_columns(window):
        return window_instructions(height, width, channels)
    return window_instructions(height, 1, width * channels)


@dataclass(frozen=True)
class Layout:
    """The layout of taps: rows at a `distance`, in the data or in `copies` copied windows. If it
    `has_whole_taps`, each row is within one tap. If `in_quads`, pixels are computed in fours."""

    rows: Rows
    distance: int
    copies: int
    has_whole_taps: bool = False
    in_quads: bool = False

    def instructions(self, window: Window, channels: int, outputs: int) -> int:
        """Estimate the instructions of an image."""
        height, width = window.output

        def products(pixels: int) -> int:
            if self.in_quads:
                return quads_instructions(self.rows, outputs, pixels)
            return products_instructions(self.rows, outputs, pixels, False)

        if window.is_pointwise:
            return products(height * width)
        copy = copy_instructions(window, channels)
        if self.copies:
            whole, rest = divmod(width, self.copies)
            return height * (width * copy + whole * products(self.copies) + rest * products(1))
        rows, columns = (inner_range(window, side) for side in (0, 1))
        inner = rows.end - rows.first, columns.end - columns.first
        edge = height * width - inner[0] * inner[1]
        padding = 3 * self.rows.rows * self.rows.blocks
        return inner[0] * products(inner[1]) + edge * (copy + padding + products(1))


def layout_of(window: Window, channels: int, outputs: int, kept: int) -> Layout | None:
    """Return the layout with the fewest instructions; None if functions can address none.

    Parameters
    ----------
    window, channels
        the kernel window, and the number of channels of the data.
    outputs
        number of output channels.
    kept
        bytes of the convolution that are buffered on the stack for its epilogue.
    """
    by_channels = _by_channels(window, channels, outputs, MOST_ON_STACK - kept)
    # Quads store border pixels one by one: they would overwrite data that the next pixel reads.
    is_left = kept and inner_range(window, 1).first > 0
    takes_more = not is_inner(window) and (outputs > channels or is_left)
    if outputs > MOST_IN_QUADS or has_dilated_columns(window) or takes_more:
        return by_channels
    row = window.dilations[0] * window.data[1] * channels
    rows = Rows(window.kernel[0], window.kernel[1] * channels)
    in_quads = Layout(rows, row, 0, in_quads=True)
    layouts = [in_quads, by_channels] if by_channels is not None else [in_quads]
    return min(layouts, key=lambda layout: layout.instructions(window, channels, outputs))


def layout_of_planes(taps: int, room: int) -> Layout | None:
    """Return the layout of windows copied from NCHW data; None if two windows exceed `room` bytes,
    or functions cannot address their taps."""
    joined = split_run(taps)
    if joined is None or 2 * taps > room:
        return None
    return Layout(joined, joined.columns, 2)


def _by_channels(window: Window, channels: int, outputs: int, stack: int) -> Layout | None:
    """Return the fastest layout for four channels at a time; None if functions can address none.
    Windows stay in place if copies exceed `stack` bytes and functions allow it."""
    (height, width), groups = window.kernel, -(-outputs // 4)
    if height == 1 and width == 1:
        run = split_run(channels)
        return None if run is None else Layout(run, run.columns, 0)
    row, whole = Rows(height, width * channels), rows_of_taps(window, channels)
    is_copied = row.columns > MOST_COLUMNS or has_dilated_columns(window)
    if whole is not None and height * row.columns > stack and (is_copied or not is_inner(window)):
        # Leave taps in place, because not even one window fits the stack.
        return Layout(whole, whole.columns, 2, True)
    joined = split_run(height * row.columns)
    copied = None if joined is None else Layout(joined, joined.columns, 2)
    if is_copied:
        return copied
    direct = Layout(row, window.dilations[0] * window.data[1] * channels, 0)
    if joined is None:
        return direct
    copying = 2 * (12 + height * (7 + 3 * row.blocks)) // groups
    is_faster = joined.rows * joined.blocks * 14 + copying < height * (row.blocks * 14 + 5)
    return copied if is_faster else direct
