"""The quantization of a tensor, and the range of integers that an operator may write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import relax, tirx


@dataclass(frozen=True)
class Quantization:
    """The quantization real = scale * (integer - zero point), per tensor or along one axis.

    Parameters
    ----------
    dtype
        the integer type, such as "int8".
    scales
        values of float32, one for the tensor or one for each index of `axis`; none for numbers
        without a scale, or if only the type is known.
    zero_points
        as many as scales.
    axis
        the axis of several scales; ignored for one scale.
    """

    dtype: str
    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int = 0

    @classmethod
    def unscaled(cls, dtype: str) -> Quantization:
        """Return a quantization without scales, or with only its type known."""
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
        """Whether all elements have the same scale."""
        return len(self.scales) == 1

    def limits(self) -> OutputLimits:
        """Return the range of the type."""
        return OutputLimits(self.dtype, *integer_limits(self.dtype))

    def as_json(self) -> dict[str, Any]:
        """Return type, scales, zero points and axis by name."""
        return {
            "dtype": self.dtype,
            "scales": [float(scale) for scale in self.scales],
            "zero_points": [int(zero_point) for zero_point in self.zero_points],
            "axis": int(self.axis),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Quantization:
        """Return the quantization of a value of `as_json`."""
        scales, zero_points = tuple(value["scales"]), tuple(value["zero_points"])
        return cls(value["dtype"], scales, zero_points, value["axis"])


@dataclass(frozen=True)
class OutputLimits:
    """The range that an operator may write: of its type, or narrowed by a fused activation."""

    dtype: str
    minimum: int
    maximum: int

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the greatest integer."""
        return self.minimum, self.maximum

    def clamp(self, value: tirx.Expr) -> tirx.Expr:
        """Clamp `value` (int32) to the limits, and cast it to the output's type."""
        low, high = tirx.IntImm("int32", self.minimum), tirx.IntImm("int32", self.maximum)
        return tirx.min(tirx.max(value, low), high).astype(self.dtype)

    def shifted(self, value: tirx.Expr, zero_point: int) -> tirx.Expr:
        """Clamp `value + zero_point` (int32) to the limits, without overflow for any value."""
        low = max(self.minimum - zero_point, -(2**31))
        high = min(self.maximum - zero_point, 2**31 - 1)
        inside = tirx.min(tirx.max(value, tirx.IntImm("int32", low)), tirx.IntImm("int32", high))
        return (inside + tirx.IntImm("int32", zero_point)).astype(self.dtype)


def integer_limits(dtype: str) -> tuple[int, int]:
    """Return the least and the greatest value of an integer type."""
    limits = np.iinfo(dtype)
    return int(limits.min), int(limits.max)


def stored_as(
    tensor: relax.Expr | np.ndarray, quantization: Quantization | None = None
) -> Quantization:
    """Return the quantization of a tensor, or only its type if the quantization is not known."""
    if quantization is not None:
        return quantization
    dtype = tensor.dtype if isinstance(tensor, np.ndarray) else tensor.ty.dtype
    return Quantization.unscaled(str(dtype))
