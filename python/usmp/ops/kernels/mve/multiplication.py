"""Products of two int8 tensors, as TFLite computes them."""

from __future__ import annotations

from dataclasses import dataclass

from tvm import tirx
from tvm.ir import TensorLoad

from usmp.ops.kernels.limits import Limits, limits_of
from usmp.ops.kernels.line import Line
from usmp.ops.kernels.loops import loop
from usmp.ops.kernels.mve.addition import multiplied, multiply
from usmp.ops.quantized.fixed_point import int32
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
    multiplier, shift
        the factor is multiplier * 2**(shift - 31).
    """

    first: TensorLoad
    second: TensorLoad
    offsets: tuple[int, int]
    multiplier: int
    shift: int
    limits: Limits


def multiplication_of(value: tirx.Expr) -> Multiplication | None:
    """The multiplication that an int8 expression is; None if it is anything else, or if its factor
    is one half or more."""
    limited = limits_of(value)
    outer = None if limited is None else multiplied(limited[0])
    if limited is None or outer is None or not isinstance(outer[0], tirx.Mul):
        return None
    first, second = (centered(side) for side in (outer[0].a, outer[0].b))
    if first is None or second is None or not 1 <= -outer[2] <= 31:
        return None
    offsets = first[1], second[1]
    return Multiplication(first[0], second[0], offsets, outer[1], outer[2], limited[1])


def centered(value: tirx.Expr) -> tuple[TensorLoad, int] | None:
    """An int8 element and what is added to it."""
    offset = 0
    if isinstance(value, tirx.Add | tirx.Sub) and isinstance(value.b, tirx.IntImm):
        offset = int(value.b) if isinstance(value, tirx.Add) else -int(value.b)
        value = value.a
    if not isinstance(value, tirx.Cast) or not isinstance(value.value, TensorLoad):
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
        rescaled = multiply(factors[0] * factors[1], product.multiplier, product.shift)
        shifted = rescaled + int32(limits.zero_point)
        return output.store(i, limits.clamp(shifted))

    scale = (product.multiplier, -product.shift)
    arguments = [
        *(first.at(0), second.at(0), output.at(0), count),
        *(*product.offsets, *scale, *limits.arguments),
    ]
    return tensor_intrin("tvmgen_mve_multiply", arguments, loop("i", count, element))
