"""Products of two int8 tensors, rescaled."""

from __future__ import annotations

from dataclasses import dataclass

from tvm import tirx
from tvm.ir import TensorLoad

from usmp.objects.cores import Core
from usmp.ops.kernels.call.limits import Limits, limits_of
from usmp.ops.kernels.loops.line import Line
from usmp.ops.kernels.loops.loops import loop
from usmp.ops.kernels.mve.factor import Factor, rescaled_by
from usmp.ops.quantized.fixed_point import Rounding, int32
from usmp.tir.tensor_intrin import tensor_intrin

_MOST = 128
"""Of the offsets' magnitudes."""


@dataclass(frozen=True)
class Multiplication:
    """A product of elements, each with an offset, and how it is rescaled.

    Parameters
    ----------
    first, second
        int8.
    offsets
        minus the zero points.
    factor
        of the product.
    """

    first: TensorLoad
    second: TensorLoad
    offsets: tuple[int, int]
    factor: Factor
    limits: Limits


def multiplication_of(value: tirx.Expr, core: Core) -> Multiplication | None:
    """The multiplication that an int8 expression is; None if it is anything else, or if its factor
    is one half or more and rounded twice."""
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


def centered(value: tirx.Expr) -> tuple[tirx.Expr, int] | None:
    """An int8 expression and what is added to it."""
    offset = 0
    if isinstance(value, tirx.Add | tirx.Sub) and isinstance(value.b, tirx.IntImm):
        offset = int(value.b) if isinstance(value, tirx.Add) else -int(value.b)
        value = value.a
    if not isinstance(value, tirx.Cast):
        return None
    is_int8 = str(value.value.ty.dtype) == "int8" and abs(offset) <= _MOST
    return (value.value, offset) if is_int8 else None


def multiply_elements(
    product: Multiplication, first: Line, second: Line, output: Line, count: int
) -> tirx.Stmt:
    """Store the products of elements that follow each other."""
    limits = product.limits

    def element(i: tirx.Expr) -> tirx.Stmt:
        factors = [
            line.at(i).astype("int32") + int32(offset)
            for line, offset in zip((first, second), product.offsets, strict=True)
        ]
        shifted = product.factor.times(factors[0] * factors[1]) + int32(limits.zero_point)
        return output.store(i, limits.clamp(shifted))

    arguments = [
        *(first.at(0), second.at(0), output.at(0), count),
        *(*product.offsets, *product.factor.arguments, *limits.arguments),
    ]
    symbol = f"tvmgen_mve_multiply{product.factor.suffix}"
    return tensor_intrin(symbol, arguments, loop("i", count, element))
