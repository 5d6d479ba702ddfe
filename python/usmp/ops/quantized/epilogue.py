"""What becomes of an accumulator: bias, factor, zero point, clamp."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from tvm import te, tirx

from usmp.ops.quantized.accumulators import accumulator_range
from usmp.ops.quantized.fixed_point import Rounding
from usmp.ops.quantized.pack_channels import PackedChannels, pack_channels
from usmp.ops.quantized.parameters import Quantization
from usmp.ops.quantized.rescale import Rescale
from usmp.tir.intrinsics import RESCALE_CHANNEL


@dataclass(frozen=True)
class Epilogue:
    """How an operator with constant weights ends.

    Parameters
    ----------
    rescale
        factor, zero point and limits of the output.
    constants
        tensors that the operator must be given.
    packed
        how bias and factor are packed into the constants; None if they are plain arrays.
    has_bias
        whether the first of the plain arrays is the bias.
    """

    rescale: Rescale
    constants: tuple[np.ndarray, ...]
    packed: PackedChannels | None
    has_bias: bool

    def apply(
        self, accumulator: tirx.Expr, channel: tirx.Expr, constants: Sequence[te.Tensor]
    ) -> tirx.Expr:
        """The output integer of an accumulator without bias; `constants` as tensors."""
        if self.packed is not None:
            scaled = _rescale_packed(self.packed, accumulator, channel, constants)
            return self.rescale.finish(scaled)
        rest = list(constants)
        if self.has_bias:
            dtype = self.rescale.rounding.accumulator
            accumulator = accumulator + rest.pop(0)[channel].astype(dtype)
        return self.rescale.apply(accumulator, channel, rest)


def make_epilogue(
    weight: np.ndarray, bias: np.ndarray | None, data: Quantization, rescale: Rescale
) -> tuple[np.ndarray, Epilogue]:
    """The weights to use, and the end of the operator in as few bytes as give the same outputs.

    Parameters
    ----------
    weight
        (channels, taps) of int8 and wider, its zero point already subtracted.
    bias
        (channels) of int32 or int64, or None.
    data
        of the input.

    Returns
    -------
    tuple[np.ndarray, Epilogue]
        Weights of the same shape and type, some of them zero that make no difference; the epilogue.

    Raises
    ------
    UnsupportedModelError
        the accumulators may overflow.
    """
    weight, bias = _without_dead_channels(weight, bias, rescale)
    accumulators = accumulator_range(weight, bias, data, rescale.rounding.accumulator)
    if bias is not None and not bias.any():
        bias = None
    if len(rescale.factors) > 1 and rescale.rounding is Rounding.TWICE:
        packed = pack_channels(bias, rescale, accumulators)
        if packed is not None:
            kept = np.where(packed.is_constant[:, None], 0, weight).astype(weight.dtype)
            return kept, Epilogue(rescale, packed.records, packed, False)
    constants = rescale.constants()
    if bias is not None:
        constants = [narrowed(bias), *constants]
    return weight, Epilogue(rescale, tuple(constants), None, bias is not None)


def _without_dead_channels(
    weight: np.ndarray, bias: np.ndarray | None, rescale: Rescale
) -> tuple[np.ndarray, np.ndarray | None]:
    """Weights and biases, 0 in channels whose factor is 0.

    The kernels multiply any accumulator by 0 there, also one that has left its type, as those of
    channels that converters write with a scale of 1e-21 and a bias of -(2**31 - 1).
    """
    is_dead = np.array([factor.multiplier == 0 for factor in rescale.factors])
    if not is_dead.any():
        return weight, bias
    kept = np.where(is_dead[:, None], 0, weight).astype(weight.dtype)
    return kept, None if bias is None else np.where(is_dead, 0, bias).astype(bias.dtype)


def _rescale_packed(
    packed: PackedChannels,
    accumulator: tirx.Expr,
    channel: tirx.Expr,
    constants: Sequence[te.Tensor],
) -> tirx.Expr:
    words, *rest = constants
    high = words[channel, 2].astype("uint32")
    if rest:
        high = high | rest[0][channel].astype("uint32") << tirx.IntImm("uint32", 16)
    fields = (packed.record_bits, packed.mantissa_bits, packed.shift_bits, packed.shift)
    return tirx.call_pure_extern(
        "int32",
        RESCALE_CHANNEL,
        accumulator,
        words[channel, 0],
        words[channel, 1],
        high,
        *(tirx.IntImm("int32", field) for field in fields),
    )


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
    """The bias in the narrowest of int16, int32 and int64."""
    for dtype in (np.int16, np.int32):
        if (bias == bias.astype(dtype)).all():
            return bias.astype(dtype)
    return bias
