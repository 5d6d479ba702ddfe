"""Records of operators that combine the elements along axes."""

from __future__ import annotations

from dataclasses import dataclass

from usmp.ops.records.base import QuantizedOp, RoundedOp


@dataclass(frozen=True, kw_only=True)
class ReductionOp(QuantizedOp):
    """A reduction over some axes, which are removed."""

    axes: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class SumOp(RoundedOp, ReductionOp):
    """A sum over some axes times a factor."""


class Mean(SumOp, kind="mean"):
    """Mean over some axes."""


class Sum(SumOp, kind="sum"):
    """Sum over some axes."""


class ReduceMax(ReductionOp, kind="reduce_max"):
    """Greatest element over some axes."""


class ReduceMin(ReductionOp, kind="reduce_min"):
    """Least element over some axes."""


@dataclass(frozen=True, kw_only=True)
class PositionOp(QuantizedOp):
    """A search along an axis, which is removed."""

    axis: int


class ArgMax(PositionOp, kind="arg_max"):
    """Index of the first greatest element along an axis."""


class ArgMin(PositionOp, kind="arg_min"):
    """Index of the first least element along an axis."""


@dataclass(frozen=True, kw_only=True)
class CumulativeSum(QuantizedOp, kind="cumulative_sum"):
    """Sums of each element and the elements before it along an axis.

    Parameters
    ----------
    exclusive
        whether an element itself is left out of its sum.
    backwards
        whether to sum later elements instead of earlier ones.
    """

    axis: int
    exclusive: bool
    backwards: bool


class L2Normalize(QuantizedOp, kind="l2_normalize"):
    """Rows over their length."""


class LogSoftmax(QuantizedOp, kind="log_softmax"):
    """Logarithm of the softmax over the last axis."""


@dataclass(frozen=True, kw_only=True)
class Softmax(QuantizedOp, kind="softmax"):
    """Softmax of beta * x over the last axis."""

    beta: float
