"""How a tensor's integers stand for real numbers, and the integers that an operator may write."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tvm import tirx


@dataclass(frozen=True)
class Quantization:
    """real = scale * (integer - zero point), per tensor or along one axis.

    Parameters
    ----------
    dtype
        the integer type, such as "int8".
    scales
        values of float32, one for the tensor or one for each index of `axis`; none for numbers
        that stand for themselves, or of which nothing is known but the type.
    zero_points
        as many as scales.
    axis
        the axis of several scales; meaningless for one.
    """

    dtype: str
    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int = 0

    @classmethod
    def unscaled(cls, dtype: str) -> Quantization:
        """Of numbers that stand for themselves, or of which nothing is known but the type."""
        return cls(dtype, (), ())

    @property
    def scale(self) -> float:
        """The scale of the whole tensor."""
        (scale,) = self.scales
        return scale

    @property
    def zero_point(self) -> int:
        """The zero point of the whole tensor."""
        (zero_point,) = self.zero_points
        return zero_point

    @property
    def is_per_tensor(self) -> bool:
        """Whether one scale holds for all elements."""
        return len(self.scales) == 1

    def limits(self) -> OutputLimits:
        """All values of the type."""
        return OutputLimits(self.dtype, *integer_limits(self.dtype))


@dataclass(frozen=True)
class OutputLimits:
    """The integers that an operator may write: those of its type, cut by a fused activation."""

    dtype: str
    minimum: int
    maximum: int

    def as_parameters(self) -> dict[str, list[int]]:
        """The limits as a parameter of an operator's record."""
        return {"clamp": [self.minimum, self.maximum]}

    def clamp(self, value: tirx.Expr) -> tirx.Expr:
        """`value` (int32) moved into the limits, in the output's type."""
        low, high = tirx.IntImm("int32", self.minimum), tirx.IntImm("int32", self.maximum)
        return tirx.min(tirx.max(value, low), high).astype(self.dtype)

    def shifted(self, value: tirx.Expr, zero_point: int) -> tirx.Expr:
        """`value + zero_point` (int32) moved into the limits, for any value: nothing overflows."""
        low = max(self.minimum - zero_point, -(2**31))
        high = min(self.maximum - zero_point, 2**31 - 1)
        inside = tirx.min(tirx.max(value, tirx.IntImm("int32", low)), tirx.IntImm("int32", high))
        return (inside + tirx.IntImm("int32", zero_point)).astype(self.dtype)


def integer_limits(dtype: str) -> tuple[int, int]:
    """Least and greatest value of an integer type."""
    limits = np.iinfo(dtype)
    return int(limits.min), int(limits.max)
