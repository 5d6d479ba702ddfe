"""What becomes of an accumulator: bias, factor, zero point, clamp."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from tvm import te, tirx

from usmp.ops.quantized.accumulators import accumulator_range
from usmp.ops.quantized.fixed_point import multiply
from usmp.ops.quantized.parameters import Quantization
from usmp.ops.quantized.rescale import Rescale

CONSTANTS = ("weight", "bias", "multiplier", "shift")
"""The constants of an operator with constant weights, in the order in which its PrimFunc takes
them: those by which TFLite and CMSIS-NN define it. All but the weight are (output channels) of
int32; the bias is of int64 where accumulators are."""


@dataclass(frozen=True)
class Epilogue:
    """How an operator with constant weights ends.

    Parameters
    ----------
    rescale
        factor, zero point and limits of the output.
    constants
        bias, multiplier and shift: (output channels) each.
    """

    rescale: Rescale
    constants: tuple[np.ndarray, np.ndarray, np.ndarray]

    def apply(
        self, accumulator: tirx.Expr, channel: tirx.Expr, constants: Sequence[te.Tensor]
    ) -> tirx.Expr:
        """Return the output integer of an accumulator without bias; `constants` as tensors."""
        rounding = self.rescale.rounding
        bias, multiplier, shift = (tensor[channel] for tensor in constants)
        total = accumulator + bias.astype(rounding.accumulator)
        return self.rescale.finish(multiply(total, multiplier, shift, rounding))


def make_epilogue(
    weight: np.ndarray, bias: np.ndarray | None, data: Quantization, rescale: Rescale
) -> tuple[np.ndarray, Epilogue]:
    """Return the weights to use, and the end of the operator.

    Weights and biases are 0 in channels whose factor is 0. The kernels multiply any accumulator by
    0 there, also one that has left its type, as those of channels that converters write with a
    scale of 1e-21 and a bias of -(2**31 - 1).

    Parameters
    ----------
    weight
        (channels, taps) of int8 and wider, its zero point already subtracted.
    bias
        (channels) of int32 or int64, or None.
    data
        of the input.

    Raises
    ------
    UnsupportedModelError
        the accumulators may overflow.
    """
    multiplier, shift = rescale.arrays(len(weight))
    is_live = multiplier != 0
    kept = np.where(is_live[:, None], weight, 0).astype(weight.dtype)
    biases = np.zeros(len(weight), np.int64) if bias is None else np.where(is_live, bias, 0)
    accumulator_range(kept, biases, data, rescale.rounding.accumulator)
    biases = biases.astype(rescale.rounding.accumulator)
    return kept, Epilogue(rescale, (biases, multiplier, shift))


def centered_epilogue(
    weight: np.ndarray,
    zero_point: int,
    bias: np.ndarray | None,
    data: Quantization,
    rescale: Rescale,
) -> tuple[np.ndarray, Epilogue]:
    """`make_epilogue` of a weight, (channels, taps), with a zero point."""
    real = weight.astype(np.int32) - zero_point if zero_point else weight
    kept, epilogue = make_epilogue(real, bias, data, rescale)
    return (kept + zero_point).astype(weight.dtype), epilogue


def centered(value: tirx.Expr, zero_point: int) -> tirx.Expr:
    """How far an integer is from its zero point: int32."""
    wide = value.astype("int32")
    return wide - tirx.IntImm("int32", zero_point) if zero_point else wide


def narrowed(bias: np.ndarray) -> np.ndarray:
    """Return the bias in the narrowest of int16, int32 and int64."""
    for dtype in (np.int16, np.int32):
        if (bias == bias.astype(dtype)).all():
            return bias.astype(dtype)
    return bias
