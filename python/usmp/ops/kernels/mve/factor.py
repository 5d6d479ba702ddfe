"""Factors of rescaling, as vector functions take them."""

from __future__ import annotations

from dataclasses import dataclass

from tvm import tirx

from usmp.objects.target.cores import Core
from usmp.ops.quantized.rescaling.fixed_point import QuantizedMultiplier, multiply
from usmp.ops.rounding import Rounding, rounding_of


@dataclass(frozen=True)
class Factor:
    """The factor multiplier * 2**(shift - 31), and the rounding of products with it."""

    multiplier: int
    shift: int
    rounding: Rounding

    def times(self, value: tirx.Expr) -> tirx.Expr:
        """Return the rounded product with an int32."""
        return multiply(value, self.multiplier, self.shift, self.rounding)

    @property
    def suffix(self) -> str:
        """The suffix of the functions with this rounding."""
        return suffix_of(self.rounding)

    @property
    def arguments(self) -> list[int]:
        """The arguments of functions: multiplier and right shift, or the bits of a float32."""
        if self.rounding is Rounding.TWICE:
            return [self.multiplier, -self.shift]
        bits = QuantizedMultiplier(self.multiplier, self.shift).float32_bits
        assert bits is not None
        return [bits]


def suffix_of(rounding: Rounding) -> str:
    """Return the suffix of the functions with a rounding."""
    return "_as_float" if rounding is Rounding.AS_FLOAT else ""


def rounds(core: Core, rounding: Rounding) -> bool:
    """Return whether the vectors of a core can compute a rounding."""
    return core.has_mve_float if rounding is Rounding.AS_FLOAT else core.has_mve


def rescaled_by(value: tirx.Expr, core: Core) -> tuple[tirx.Expr, Factor] | None:
    """Return the operand of a rescaling, and its factor; None if a value is no rescaling that the
    vectors of a core can compute."""
    rounding = rounding_of(value)
    if rounding not in (Rounding.TWICE, Rounding.AS_FLOAT) or not rounds(core, rounding):
        return None
    _, inner, multiplier, shift = value.args
    if not isinstance(multiplier, tirx.IntImm) or not isinstance(shift, tirx.IntImm):
        return None
    factor = Factor(int(multiplier), int(shift), rounding)
    as_float = QuantizedMultiplier(factor.multiplier, factor.shift).float32_bits
    return None if rounding is Rounding.AS_FLOAT and as_float is None else (inner, factor)
