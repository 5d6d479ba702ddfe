"""The rounding of the product of an accumulator and a fixed-point factor."""

from __future__ import annotations

from enum import Enum

from tvm import tirx

from usmp.support.errors import UnsupportedModelError
from usmp.tir.intrinsics import (
    MULTIPLY_AS_FLOAT,
    MULTIPLY_BY_QUANTIZED_MULTIPLIER,
    MULTIPLY_BY_QUANTIZED_MULTIPLIER_64,
    MULTIPLY_BY_QUANTIZED_MULTIPLIER_SINGLE_ROUNDING,
)
from usmp.tir.op_names import is_op

_SHIFTS_OF_64_BITS = 8
_SHIFTS_AS_FLOAT = 8


class Rounding(Enum):
    """The rounding of `quantized.rescaling.fixed_point.multiply`, with its use in the reference
    kernels."""

    TWICE = MULTIPLY_BY_QUANTIZED_MULTIPLIER
    """Accumulators of 32 bits."""
    ONCE = MULTIPLY_BY_QUANTIZED_MULTIPLIER_SINGLE_ROUNDING
    """Fully connected operators on uint8."""
    AS_FLOAT = MULTIPLY_AS_FLOAT
    """Accumulators of 32 bits in ONNX Runtime: see `fixed_point.float_factor`."""
    ONCE_16_BITS = MULTIPLY_BY_QUANTIZED_MULTIPLIER_64
    """Accumulators of 64 bits: with the upper 16 bits of the multiplier."""

    @property
    def accumulator(self) -> str:
        """The type of the accumulators."""
        return "int64" if self is Rounding.ONCE_16_BITS else "int32"

    def check(self, shift: int) -> None:
        """Check that the shift of a factor is supported.

        Raises
        ------
        UnsupportedModelError
            the shift is too large; the reference kernels assert the same.
        """
        if self is Rounding.AS_FLOAT and shift >= _SHIFTS_AS_FLOAT:
            raise UnsupportedModelError(
                f"the ratio of the quantization scales is 2**{shift - 1} or more; less than "
                f"2**{_SHIFTS_AS_FLOAT - 1} is supported"
            )
        if self is Rounding.ONCE_16_BITS and shift >= _SHIFTS_OF_64_BITS:
            raise UnsupportedModelError(
                "the ratio of the quantization scales is too great for accumulators of 64 bits: "
                f"2**{shift - 1} or more; less than 2**{_SHIFTS_OF_64_BITS - 1} is supported"
            )


_BY_FUNCTION = {rounding.value: rounding for rounding in Rounding}


def rounding_of(expr: tirx.Expr) -> Rounding | None:
    """Return the rounding of a call of `multiply`; None for other expressions."""
    is_call = is_op(expr, "tirx.call_pure_extern")
    return _BY_FUNCTION.get(str(expr.args[0].value)) if is_call else None
