"""What becomes of accumulators, as the vector functions compute it: rescaled, and clamped."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tvm import tirx
from tvm.ir import Call

from usmp.ops.kernels.weighted import WeightedOperator
from usmp.tir.intrinsics import RESCALE_RECORD
from usmp.tir.nodes import nodes_of

_INT8 = (-128, 127)


@dataclass(frozen=True)
class Limits:
    """A zero point that is added, and the limits of the sum.

    Parameters
    ----------
    zero_point, low, high
        within int8.
    """

    zero_point: int
    low: int
    high: int

    @property
    def rounds_up(self) -> bool:
        """Whether it makes no difference how halves below zero are rounded: all are clamped."""
        return self.low >= self.zero_point

    @property
    def suffix(self) -> str:
        """Of the functions that round so."""
        return "_up" if self.rounds_up else ""

    @property
    def arguments(self) -> list[int]:
        """As functions take them."""
        return [self.zero_point, self.low, self.high]


def limits_of(value: tirx.Expr) -> tuple[tirx.Expr, Limits] | None:
    """An int8 expression as an inner one and what is done with that; None if it is anything else
    than an addition and a clamp."""
    inner, added, low, high = _limited(value)
    limits = (added, max(low, _INT8[0]), min(high, _INT8[1]))
    if inner is None or low < _INT8[0] or high > _INT8[1]:
        return None
    is_int8 = all(_INT8[0] <= number <= _INT8[1] for number in limits) and low <= high
    return (inner, Limits(*limits)) if is_int8 else None


def _limited(value: tirx.Expr) -> tuple[tirx.Expr | None, int, int, int]:
    """The inner expression, what is added to it, and the limits of the sum; no inner one if a
    conversion may change what is converted."""
    if isinstance(value, tirx.Cast):
        inner, added, low, high = _limited(value.value)
        is_kept = str(value.ty.dtype) == "int32" or (low >= _INT8[0] and high <= _INT8[1])
        return inner if is_kept else None, added, low, high
    if isinstance(value, tirx.Max | tirx.Min) and isinstance(value.b, tirx.IntImm):
        choose = max if isinstance(value, tirx.Max) else min
        inner, added, low, high = _limited(value.a)
        limit = int(value.b)
        return inner, added, choose(low, limit), choose(high, limit)
    if isinstance(value, tirx.Add | tirx.Sub) and isinstance(value.b, tirx.IntImm):
        step = int(value.b) if isinstance(value, tirx.Add) else -int(value.b)
        inner, added, low, high = _limited(value.a)
        return inner, added + step, low + step, high + step
    return value, 0, -(2**40), 2**40


@dataclass(frozen=True)
class VectorEnding:
    """The records of an operator, and what is done with what they rescale.

    Parameters
    ----------
    multiplier, packed
        (channels) of int32: `packed` is bias << 8 | (-shift & 255), the zero point of the data
        being folded into the bias.
    limits
        of the output.
    rest
        the output element, and the part of it that the limits make of an accumulator.
    """

    multiplier: np.ndarray
    packed: np.ndarray
    limits: Limits
    rest: tuple[tirx.Expr, tirx.Expr]

    @property
    def is_plain(self) -> bool:
        """Whether nothing is done with the int8 that the limits give."""
        return bool(self.rest[0].same_as(self.rest[1]))


def vector_ending(operator: WeightedOperator, weight: np.ndarray) -> VectorEnding | None:
    """How an operator ends; None if vectors cannot compute it.

    Parameters
    ----------
    weight
        (channels, taps).
    """
    ending = operator.ending_of(weight, folds=True)
    records = ending.records
    if not ending.is_folded or records is None or records.has_wide_bias:
        return None
    found = _innermost(operator.parts.value, operator.parts.rescale)
    if found is None:
        return None
    limited, limits = found
    multiplier, shifted = records.values[:, 0], records.values[:, 1]
    packed = (shifted & ~255) | (-shifted & 255)
    return VectorEnding(multiplier, packed, limits, (operator.parts.value, limited))


def _innermost(value: tirx.Expr, rescale: Call | None) -> tuple[tirx.Expr, Limits] | None:
    """The int8 that a rescaled accumulator becomes, and how."""
    for cast in nodes_of(value, tirx.Cast):
        if str(cast.ty.dtype) == "int8":
            found = limits_of(cast)
            if found is not None and found[0].same_as(rescale):
                return cast, found[1]
    return None


def rescaled(
    accumulator: tirx.Expr, records: tirx.Var, index: tirx.Expr, limits: Limits
) -> tirx.Expr:
    """The int8 that an accumulator becomes by a record, of which `index` is the first number and
    the multiplier is four later."""
    packed, multiplier = records[index], records[index + 4]
    biased = accumulator + (packed >> _int32(8))
    shift = (_int32(0) - packed) & _int32(255)
    value = tirx.call_pure_extern(
        "int32", RESCALE_RECORD, biased, multiplier, shift, _int32(2 * limits.zero_point + 1)
    )
    limited = tirx.min(tirx.max(value, _int32(limits.low)), _int32(limits.high))
    return limited.astype("int8")


def _int32(value: int) -> tirx.IntImm:
    return tirx.IntImm("int32", value)
