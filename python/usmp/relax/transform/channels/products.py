"""Value ranges of the sums of products that an operator with constant weights computes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from usmp.ops.records.products import WeightedOp
from usmp.relax.transform.channels.channel_ranges import ChannelRanges
from usmp.relax.transform.channels.taps import Taps
from usmp.relax.transform.channels.value_bounds import scaled_ends

_ELEMENTS = 1 << 20
"""Number of weights to convert at a time, to limit memory."""


@dataclass(frozen=True, eq=False)
class Products:
    """The weights of an operator, and the requantization of its sums.

    Parameters
    ----------
    weight
        the weights: (outputs, kernel height, kernel width, depth).
    sources
        the data channel of each weight: (outputs, depth) of int64, or (1, depth) if one row holds
        for all outputs.
    bias, multiplier, shift
        bias and fixed-point multiplier of each output: (outputs) of int64.
    taps
        the elements of the kernel window.
    zero_point, weight_zero_point
        zero points of data and weights.
    record
        the record of the operator.
    """

    weight: np.ndarray
    sources: np.ndarray
    bias: np.ndarray
    multiplier: np.ndarray
    shift: np.ndarray
    taps: Taps
    zero_point: int
    weight_zero_point: int
    record: WeightedOp

    def accumulators(self, data: ChannelRanges) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and greatest sum, bias included: (outputs) of int64 each."""
        inside, outside = (part[None, :, :, None] for part in (self.taps.inside, self.taps.outside))
        least, greatest = self.bias.copy(), self.bias.copy()
        for span, real in self._real_weights():
            low, high = (
                (end[self._sources(span)] - self.zero_point)[:, None, None, :].astype(np.float64)
                for end in (data.least, data.greatest)
            )
            low = np.where(outside, np.minimum(low, 0), low) * inside
            high = np.where(outside, np.maximum(high, 0), high) * inside
            positive, negative = np.maximum(real, 0), np.minimum(real, 0)
            least[span] += _summed(positive, low) + _summed(negative, high)
            greatest[span] += _summed(positive, high) + _summed(negative, low)
        return least, greatest

    def _real_weights(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield the weights minus their zero point in float64, some outputs at a time.

        Sums of products are exact, because they fit in 48 bits, and float64 has 53.
        """
        outputs = len(self.weight)
        rows = max(_ELEMENTS * outputs // max(self.weight.size, 1), 1)
        for first in range(0, outputs, rows):
            span = slice(first, first + rows)
            yield span, self.weight[span].astype(np.float64) - self.weight_zero_point

    def _sources(self, span: slice) -> np.ndarray:
        """Return the data channels that the weights of some outputs multiply."""
        return self.sources if len(self.sources) == 1 else self.sources[span]

    def outputs(self, data: ChannelRanges, axis: int) -> ChannelRanges:
        """Return the value ranges of the output channels, which are on `axis` of the output."""
        low, high = self.record.limits.ends
        ends = self.accumulators(data)
        scaled = scaled_ends(ends, self.multiplier, self.shift, self.record.rounding)
        zero_point = self.record.outputs[0].zero_point
        return ChannelRanges(axis, *(np.clip(end + zero_point, low, high) for end in scaled))

    def needs(self, data: ChannelRanges, output: ChannelRanges) -> np.ndarray:
        """Return whether an output channel needs a data channel: (outputs, channels) of bool.

        An output needs the channels for which it has nonzero weights; a constant output needs none.
        It does not need a constant channel that is the zero point, or whose nonzero weights are
        never in padding.
        """
        used = (self.weight != self.weight_zero_point) & self.taps.inside[None, :, :, None]
        at_border = (used & self.taps.outside[None, :, :, None]).any(axis=(1, 2))
        is_share = data.is_constant & ((data.least == self.zero_point) | ~at_border)
        needs: np.ndarray = used.any(axis=(1, 2)) & ~is_share & ~output.is_constant[:, None]
        return needs

    def bias_without(self, data: ChannelRanges, removed: np.ndarray) -> np.ndarray:
        """Return the bias plus the contributions of removed channels, which no output needs.

        Parameters
        ----------
        removed
            (data channels) of bool.
        """
        values = np.where(removed & data.is_constant, data.least - self.zero_point, 0)
        bias = self.bias.copy()
        for span, real in self._real_weights():
            at = values[self._sources(span)][:, None, None, :] * self.taps.inside[None, :, :, None]
            bias[span] += _summed(real, at)
        return bias


def _summed(weight: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the sum of products of each output: (outputs) of int64."""
    broadcast = np.broadcast_to(values, weight.shape).astype(np.float64, copy=False)
    sums: np.ndarray = np.rint(np.einsum("oyxc,oyxc->o", weight, broadcast)).astype(np.int64)
    return sums


def products_of(
    record: WeightedOp,
    constants: list[np.ndarray],
    weight: np.ndarray,
    sources: np.ndarray,
    taps: Taps,
) -> Products:
    """Return the products of an operator, with weights in the layout of `Products`."""
    bias, multiplier, shift = (array.astype(np.int64) for array in constants[1:])
    zero_points = (record.inputs[0].zero_point, record.inputs[1].zero_points[0])
    return Products(weight, sources, bias, multiplier, shift, taps, *zero_points, record)
