"""Rescaled products of two int8 tensors."""

from __future__ import annotations

from dataclasses import dataclass

from tvm import tirx
from tvm.ir import TensorLoad

from usmp.objects.target.cores import Core
from usmp.ops.kernels.call.limits import Limits, centered, limits_of
from usmp.ops.kernels.loops.line import Line, element_wise
from usmp.ops.kernels.mve.factor import Factor, rescaled_by
from usmp.ops.quantized.rescaling.fixed_point import Rounding, int32


@dataclass(frozen=True)
class Multiplication:
    """A rescaled product of two elements.

    Parameters
    ----------
    first, second
        loads of int8 elements.
    offsets
        minus the zero points of the elements.
    factor, limits
        rescaling and clamp of the product.
    """

    first: TensorLoad
    second: TensorLoad
    offsets: tuple[int, int]
    factor: Factor
    limits: Limits


def multiplication_of(value: tirx.Expr, core: Core) -> Multiplication | None:
    """Return the multiplication that an int8 expression is; None for other expressions, and for
    factors of one half or more that are rounded twice."""
    limited = limits_of(value)
    outer = None if limited is None else rescaled_by(limited[0], core)
    if limited is None or outer is None or not isinstance(outer[0], tirx.Mul):
        return None
    sides = [centered(side) for side in (outer[0].a, outer[0].b)]
    first, second = (side if side and isinstance(side[0], TensorLoad) else None for side in sides)
    factor = outer[1]
    is_exact = factor.rounding is Rounding.AS_FLOAT or 1 <= -factor.shift <= 31
    if first is None or second is None or not is_exact:
        return None
    return Multiplication(first[0], second[0], (first[1], second[1]), factor, limited[1])


def multiply_elements(
    product: Multiplication, first: Line, second: Line, output: Line, count: int
) -> tirx.Stmt:
    """Store the products of the elements of two lines."""
    limits = product.limits

    def value(*elements: tirx.Expr) -> tirx.Expr:
        a, b = (
            element.astype("int32") + int32(offset)
            for element, offset in zip(elements, product.offsets, strict=True)
        )
        return limits.clamp(product.factor.times(a * b) + int32(limits.zero_point))

    symbol = f"tvmgen_mve_multiply{product.factor.suffix}"
    more = [*product.offsets, *product.factor.arguments, *limits.arguments]
    return element_wise(symbol, (first, second), output, count, more, value)
