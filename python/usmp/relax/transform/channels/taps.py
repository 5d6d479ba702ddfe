"""Where the taps of a kernel can be: on the data, or beside it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from usmp.ops.window import Window


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
    taps = np.arange(window.kernel[side]) * window.dilations[side] - window.padding[side]
    stride, count, extent = window.strides[side], window.output[side], window.data[side]
    outside: np.ndarray = (taps < 0) | (taps + (count - 1) * stride >= extent)
    return _reach(taps, stride, count, extent), outside


def all_reach(window: Window, side: int) -> bool:
    """Whether each row of the output, for side 0, or column of it has a tap on the data."""
    origins = np.arange(window.output[side]) * window.strides[side] - window.padding[side]
    reach = _reach(origins, window.dilations[side], window.kernel[side], window.data[side])
    return bool(reach.all())


def _reach(first: np.ndarray, step: int, count: int, extent: int) -> np.ndarray:
    """Whether one of the positions `first`, `first + step`, ..., of which there are `count`, is
    from 0 to before `extent`; by a few numbers for each, for a small file may have large windows.
    """
    index = np.maximum(-(first // step), 0)
    reached: np.ndarray = (index < count) & (first + index * step < extent)
    return reached
