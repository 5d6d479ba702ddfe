"""From a 32-bit accumulator to an output integer, with one factor or one for each channel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from tvm import te, tirx

from usmp.ops.quantized.fixed_point import QuantizedMultiplier, Rounding, multiply
from usmp.ops.quantized.parameters import OutputLimits, Quantization


@dataclass(frozen=True)
class Rescale:
    """output = clamp(zero point + accumulator * factor of its channel).

    Parameters
    ----------
    factors
        one, or one for each output channel.
    output
        quantization of the output.
    limits
        of the output.
    rounding
        how the product with the factor is rounded.
    """

    factors: tuple[QuantizedMultiplier, ...]
    output: Quantization
    limits: OutputLimits
    rounding: Rounding = Rounding.TWICE

    @property
    def zero_point(self) -> int:
        """Of the output."""
        return self.output.zero_point

    def __post_init__(self) -> None:
        """Refuse factors that the rounding cannot apply."""
        for factor in self.factors:
            self.rounding.check(factor.shift)

    def constants(self) -> list[np.ndarray]:
        """What the operator must be given as tensors: nothing for a single factor."""
        if len(self.factors) == 1:
            return []
        return [
            np.array([factor.multiplier for factor in self.factors], np.int32),
            np.array([factor.shift for factor in self.factors], np.int8),
        ]

    def apply(
        self, accumulator: tirx.Expr, channel: tirx.Expr, constants: Sequence[te.Tensor]
    ) -> tirx.Expr:
        """The output integer of `accumulator` (int32 or int64) in output channel `channel`.

        `constants` are the operator's tensors for what `constants()` gave.
        """
        if constants:
            multiplier, shift = (tensor[channel] for tensor in constants)
            scaled = multiply(accumulator, multiplier, shift, self.rounding)
        else:
            (factor,) = self.factors
            scaled = multiply(accumulator, factor.multiplier, factor.shift, self.rounding)
        return self.finish(scaled)

    def finish(self, scaled: tirx.Expr) -> tirx.Expr:
        """The output integer of what the factor made of an accumulator."""
        return self.limits.clamp(scaled + tirx.IntImm("int32", self.zero_point))
