"""Which integers each channel of a tensor can hold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from usmp.ops.quantized.parameters import integer_limits


@dataclass(frozen=True, eq=False)
class ChannelRanges:
    """Least and greatest integer of each channel of a tensor.

    Parameters
    ----------
    axis
        that of the channels.
    least, greatest
        (channels) of int64.
    """

    axis: int
    least: np.ndarray
    greatest: np.ndarray

    @property
    def count(self) -> int:
        """How many channels there are."""
        return len(self.least)

    @property
    def is_constant(self) -> np.ndarray:
        """(channels) of bool: all elements of the channel are one integer, whatever the input."""
        constant: np.ndarray = self.least == self.greatest
        return constant

    def on(self, axis: int, sources: np.ndarray | None = None) -> ChannelRanges:
        """The ranges of a tensor with the channels `sources`, or all, on another axis."""
        if sources is None:
            return ChannelRanges(axis, self.least, self.greatest)
        return ChannelRanges(axis, self.least[sources], self.greatest[sources])

    def including(self, value: int) -> ChannelRanges:
        """The ranges if elements may have this value too."""
        low, high = np.minimum(self.least, value), np.maximum(self.greatest, value)
        return ChannelRanges(self.axis, low, high)


def ranges_of_constant(values: np.ndarray, axis: int) -> ChannelRanges:
    """Return the least and greatest integer of each index of an axis."""
    rows = np.moveaxis(values.astype(np.int64), axis, 0).reshape(values.shape[axis], -1)
    return ChannelRanges(axis, rows.min(axis=1), rows.max(axis=1))


def all_of_type(dtype: str, axis: int, count: int) -> ChannelRanges:
    """Of channels that can hold each integer of their type."""
    least, greatest = integer_limits(dtype)
    return ChannelRanges(axis, np.full(count, least, np.int64), np.full(count, greatest, np.int64))
