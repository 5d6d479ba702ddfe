"""Where the taps of a kernel can be: on the data, or beside it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from usmp.ops.quantized.window import Window


@dataclass(frozen=True, eq=False)
class Taps:
    """Where each tap of a kernel is in the course of a run.

    Parameters
    ----------
    inside, outside
        (kernel height, kernel width) of bool: for some element of the output, the tap is on the
        data, or beside it, where the data count as their zero point.
    """

    inside: np.ndarray
    outside: np.ndarray


def taps_of(window: Window) -> Taps:
    """The taps of a window."""
    (rows_in, rows_out), (columns_in, columns_out) = (_side(window, side) for side in (0, 1))
    inside = rows_in[:, None] & columns_in[None, :]
    outside = rows_out[:, None] | columns_out[None, :]
    return Taps(inside, outside)


def _side(window: Window, side: int) -> tuple[np.ndarray, np.ndarray]:
    """Whether each row, or column, of the kernel is ever within the data, and ever beside it."""
    within = is_within(window, side)
    inside: np.ndarray = np.logical_or.reduce(within, axis=0)
    outside: np.ndarray = np.logical_or.reduce(~within, axis=0)
    return inside, outside


def is_within(window: Window, side: int) -> np.ndarray:
    """Whether taps are on the data: (rows of the output, rows of the kernel) of bool for side 0,
    of columns for side 1."""
    origins = np.arange(window.output[side]) * window.strides[side] - window.padding[side]
    taps = np.arange(window.kernel[side]) * window.dilations[side]
    positions = origins[:, None] + taps[None, :]
    within: np.ndarray = (positions >= 0) & (positions < window.data[side])
    return within
