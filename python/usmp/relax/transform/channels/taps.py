"""Positions of the elements of a kernel window: on the data, or in padding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from usmp.ops.window import Window


@dataclass(frozen=True, eq=False)
class Taps:
    """The elements of a kernel window that are ever on the data, and that are ever in padding.

    Parameters
    ----------
    inside, outside
        whether, for some output element, the kernel element is on the data, or in padding (which
        has the value of the zero point): (kernel height, kernel width) of bool.
    """

    inside: np.ndarray
    outside: np.ndarray


def taps_of(window: Window) -> Taps:
    """Return the taps of a window."""
    (rows_in, rows_out), (columns_in, columns_out) = (_side(window, side) for side in (0, 1))
    inside = rows_in[:, None] & columns_in[None, :]
    outside = rows_out[:, None] | columns_out[None, :]
    return Taps(inside, outside)


def _side(window: Window, side: int) -> tuple[np.ndarray, np.ndarray]:
    """Return whether each row or column of the kernel is ever on the data, and ever in padding."""
    taps = np.arange(window.kernel[side]) * window.dilations[side] - window.padding[side]
    stride, count, extent = window.strides[side], window.output[side], window.data[side]
    outside: np.ndarray = (taps < 0) | (taps + (count - 1) * stride >= extent)
    return _reach(taps, stride, count, extent), outside


def all_reach(window: Window, side: int) -> bool:
    """Return whether each output row (side 0) or column (side 1) reads data."""
    origins = np.arange(window.output[side]) * window.strides[side] - window.padding[side]
    reach = _reach(origins, window.dilations[side], window.kernel[side], window.data[side])
    return bool(reach.all())


def _reach(first: np.ndarray, step: int, count: int, extent: int) -> np.ndarray:
    """Return whether one of the `count` positions `first`, `first + step`, ... is in [0, extent).
    Take constant time for each `first`, because even a small file may have huge windows.
    """
    index = np.maximum(-(first // step), 0)
    reached: np.ndarray = (index < count) & (first + index * step < extent)
    return reached
