"""Rescaling of accumulators to output integers, with one factor or one for each channel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from tvm import te, tirx

from usmp.ops.quantized.rescaling.fixed_point import QuantizedMultiplier, Rounding, multiply
from usmp.ops.quantized.rescaling.parameters import OutputLimits, Quantization


@dataclass(frozen=True)
class Rescale:
    """The rescaling output = clamp(zero point + accumulator * factor of its channel).

    Parameters
    ----------
    factors
        one factor, or one for each output channel.
    output
        quantization of the output.
    limits
        limits of the output.
    rounding
        how the product with the factor is rounded.
    """

    factors: tuple[QuantizedMultiplier, ...]
    output: Quantization
    limits: OutputLimits
    rounding: Rounding = Rounding.TWICE

    @property
    def zero_point(self) -> int:
        """The zero point of the output."""
        return self.output.zero_point

    def __post_init__(self) -> None:
        """Refuse factors that the rounding cannot apply."""
        for factor in self.factors:
            self.rounding.check(factor.shift)

    def arrays(self, channels: int) -> tuple[np.ndarray, np.ndarray]:
        """Return multiplier and shift of each output channel: (channels) of int32 each."""
        factors = self.factors * (channels if len(self.factors) == 1 else 1)
        multiplier = np.array([factor.multiplier for factor in factors], np.int32)
        return multiplier, np.array([factor.shift for factor in factors], np.int32)

    def apply(
        self, accumulator: tirx.Expr, channel: tirx.Expr, constants: Sequence[te.Tensor]
    ) -> tirx.Expr:
        """Return the output integer of an accumulator without bias.

        Parameters
        ----------
        constants
            bias, multiplier and shift: (output channels) each.
        """
        bias, multiplier, shift = (tensor[channel] for tensor in constants)
        total = accumulator + bias.astype(self.rounding.accumulator)
        return self.finish(multiply(total, multiplier, shift, self.rounding))

    def finish(self, scaled: tirx.Expr) -> tirx.Expr:
        """Return the output integer of an accumulator times its factor."""
        return self.limits.clamp(scaled + tirx.IntImm("int32", self.zero_point))
