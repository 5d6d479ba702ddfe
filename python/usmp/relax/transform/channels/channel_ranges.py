"""Value ranges of the channels of a tensor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from usmp.ops.quantized.rescaling.parameters import integer_limits


@dataclass(frozen=True, eq=False)
class ChannelRanges:
    """The least and greatest integer of each channel of a tensor.

    Parameters
    ----------
    axis
        axis of channels.
    least, greatest
        (channels) of int64.
    """

    axis: int
    least: np.ndarray
    greatest: np.ndarray

    @property
    def count(self) -> int:
        """The number of channels."""
        return len(self.least)

    @property
    def is_constant(self) -> np.ndarray:
        """Whether all elements of a channel are one integer: (channels) of bool."""
        constant: np.ndarray = self.least == self.greatest
        return constant

    def on(self, axis: int, sources: np.ndarray | None = None) -> ChannelRanges:
        """Return the ranges of the channels `sources`, or of all, on another axis."""
        if sources is None:
            return ChannelRanges(axis, self.least, self.greatest)
        return ChannelRanges(axis, self.least[sources], self.greatest[sources])

    def including(self, value: int) -> ChannelRanges:
        """Return the ranges, extended to this value."""
        low, high = np.minimum(self.least, value), np.maximum(self.greatest, value)
        return ChannelRanges(self.axis, low, high)


def ranges_of_constant(values: np.ndarray, axis: int) -> ChannelRanges:
    """Return the least and greatest integer of each index of an axis."""
    rows = np.moveaxis(values.astype(np.int64), axis, 0).reshape(values.shape[axis], -1)
    return ChannelRanges(axis, rows.min(axis=1), rows.max(axis=1))


def all_of_type(dtype: str, axis: int, count: int) -> ChannelRanges:
    """Return the ranges of channels that are only limited by their type."""
    least, greatest = integer_limits(dtype)
    return ChannelRanges(axis, np.full(count, least, np.int64), np.full(count, greatest, np.int64))
