"""The sums of products that an operator with constant weights computes, channel by channel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from usmp.ops.quantized import OutputLimits, Quantization, QuantizedMultiplier, Rescale, Rounding
from usmp.ops.quantized.describe import reference_constants
from usmp.ops.quantized.rescaled_arrays import never_wraps, rescaled
from usmp.ops.record import QuantizedOp
from usmp.relax.transform.channels.channel_ranges import ChannelRanges
from usmp.relax.transform.channels.taps import Taps


@dataclass(frozen=True, eq=False)
class Products:
    """Weights, and what becomes of the sums.

    Parameters
    ----------
    weight
        (outputs, kernel height, kernel width, depth) of int64, its zero point subtracted.
    sources
        (outputs, depth) of int64: the channel of the data that each weight is for.
    bias, multiplier, shift
        (outputs) of int64.
    taps
        where the kernel is.
    zero_point
        of the data.
    record
        what else the operator is made from.
    """

    weight: np.ndarray
    sources: np.ndarray
    bias: np.ndarray
    multiplier: np.ndarray
    shift: np.ndarray
    taps: Taps
    zero_point: int
    record: QuantizedOp

    def accumulators(self, data: ChannelRanges) -> tuple[np.ndarray, np.ndarray]:
        """Least and greatest sum, bias included: (outputs) of int64 each."""
        ends = [
            self.weight * (end[self.sources] - self.zero_point)[:, None, None, :]
            for end in (data.least, data.greatest)
        ]
        least, greatest = np.minimum(*ends), np.maximum(*ends)
        outside = self.taps.outside[None, :, :, None]
        least = np.where(outside, np.minimum(least, 0), least)
        greatest = np.where(outside, np.maximum(greatest, 0), greatest)
        inside = self.taps.inside[None, :, :, None]
        least, greatest = (np.where(inside, end, 0) for end in (least, greatest))
        return (
            least.sum(axis=(1, 2, 3)) + self.bias,
            greatest.sum(axis=(1, 2, 3)) + self.bias,
        )

    def outputs(self, data: ChannelRanges, axis: int) -> ChannelRanges:
        """What the channels of the output, on an axis, can hold."""
        low, high = clamp_of(self.record)
        ends = self.accumulators(data)
        rounding = rounding_of(self.record)
        factor = (self.multiplier, self.shift, rounding)
        zero_point = self.record.outputs[0].zero_point
        least, greatest = (np.clip(rescaled(end, *factor) + zero_point, low, high) for end in ends)
        is_known = never_wraps(ends[0], *factor) & never_wraps(ends[1], *factor)
        return ChannelRanges(
            axis, np.where(is_known, least, low), np.where(is_known, greatest, high)
        )

    def needs(self, data: ChannelRanges, output: ChannelRanges) -> np.ndarray:
        """Which channel of the output needs which of the data: (outputs, channels) of bool.

        A constant output needs none. The share of a constant channel is a constant, if all taps on
        it are never beside the data, or it is the zero point.
        """
        used = (self.weight != 0) & self.taps.inside[None, :, :, None]
        at_border = (used & self.taps.outside[None, :, :, None]).any(axis=(1, 2))
        is_zero = (data.least == self.zero_point)[self.sources]
        is_share = data.is_constant[self.sources] & (is_zero | ~at_border)
        needed = used.any(axis=(1, 2)) & ~is_share & ~output.is_constant[:, None]
        needs = np.zeros((len(self.weight), data.count), bool)
        np.logical_or.at(needs, (np.arange(len(self.weight))[:, None], self.sources), needed)
        return needs

    def bias_without(self, data: ChannelRanges, removed: np.ndarray) -> np.ndarray:
        """The bias with the shares of the channels that are removed, which no output needs.

        Parameters
        ----------
        removed
            (channels of the data) of bool.
        """
        inside = np.where(self.taps.inside[None, :, :, None], self.weight, 0).sum(axis=(1, 2))
        values = np.where(removed & data.is_constant, data.least - self.zero_point, 0)
        bias: np.ndarray = self.bias + (inside * values[self.sources]).sum(axis=1)
        return bias


def products_of(
    record: QuantizedOp,
    constants: list[np.ndarray],
    weight: np.ndarray,
    sources: np.ndarray,
    taps: Taps,
) -> Products:
    """The products of an operator, whose weight is given as `Products` has it but for the zero
    point."""
    named = dict(reference_constants(record, constants))
    bias, multiplier, shift = (
        named[name].astype(np.int64) for name in ("bias", "multiplier", "shift")
    )
    real = weight.astype(np.int64) - record.inputs[1].zero_points[0]
    zero_point = record.inputs[0].zero_point
    return Products(real, sources, bias, multiplier, shift, taps, zero_point, record)


def rounding_of(record: QuantizedOp) -> Rounding:
    """How the record's operator rounds the product with a factor."""
    return Rounding[str(record.parameters["rounding"]).upper()]


def clamp_of(record: QuantizedOp) -> tuple[int, int]:
    """The limits of the output; without a clamp those of its type."""
    limits = limits_of(record)
    return limits.minimum, limits.maximum


def limits_of(record: QuantizedOp) -> OutputLimits:
    """The same as the operator takes them."""
    (output,) = record.outputs
    clamp = record.parameters.get("clamp")
    if not isinstance(clamp, list):
        return output.limits()
    return OutputLimits(output.dtype, int(clamp[0]), int(clamp[1]))


def rescale_of(products: Products, kept: np.ndarray) -> Rescale:
    """Factors and limits of the outputs that stay."""
    record = products.record
    # A single factor of all channels stays a single one.
    chosen = kept[:1] if "multiplier" in record.constants else kept
    factors = tuple(
        QuantizedMultiplier(int(products.multiplier[c]), int(products.shift[c])) for c in chosen
    )
    return Rescale(factors, record.outputs[0], limits_of(record), rounding_of(record))


def stored_weight(record: QuantizedOp, kept: np.ndarray) -> Quantization:
    """The quantization of the weights of the outputs that stay."""
    weight = record.inputs[1]
    if len(weight.scales) <= 1:
        return weight
    return Quantization(
        weight.dtype,
        tuple(weight.scales[c] for c in kept),
        tuple(weight.zero_points[c] for c in kept),
        weight.axis,
    )
