"""Sums and differences of two int8 tensors with different scales, as TFLite computes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from tvm import tirx
from tvm.ir import TensorLoad

from usmp.objects.target.cores import Core
from usmp.ops.kernels.call.limits import Limits, limits_of, split_constant
from usmp.ops.kernels.call.operator_parts import are_all
from usmp.ops.kernels.call.weighted import WeightedOperator
from usmp.ops.kernels.elements.element_runs import Compute
from usmp.ops.kernels.loops.line import Line, element_wise
from usmp.ops.kernels.mve.ending import VectorEnding
from usmp.ops.kernels.mve.factor import Factor, rescaled_by
from usmp.ops.kernels.mve.single import chained, functions_of
from usmp.ops.quantized.rescaling.fixed_point import Rounding, int32, multiply
from usmp.tir.nodes import sequence

_LEFT_SHIFT = 20
_HALF = (1 << 30, 0)


@dataclass(frozen=True)
class Term:
    """A term: (element - zero point) * 2**20, times multiplier * 2**(shift - 31).

    Parameters
    ----------
    element
        an int8 expression.
    offset
        minus the zero point, times 2**20.
    sign
        -1 if the term is subtracted, else 1.
    """

    element: tirx.Expr
    offset: int
    multiplier: int
    shift: int
    sign: int

    @property
    def is_half(self) -> bool:
        """Whether the factor is one half."""
        return (self.multiplier, self.shift) == _HALF


@dataclass(frozen=True)
class Addition:
    """A rescaled sum of two terms, the first of which has the factor one half."""

    first: Term
    second: Term
    multiplier: int
    shift: int
    limits: Limits

    @property
    def arguments(self) -> list[int]:
        """The arguments of the vector function. A second term with the factor one half is doubled
        before the product and halved after it, because the function shifts right by at least 1."""
        second = self.second
        doubling, right = (1, 1) if second.is_half else (0, -second.shift)
        return [
            self.first.sign << (_LEFT_SHIFT - 1),
            self.first.sign * self.first.offset // 2,
            _LEFT_SHIFT + doubling,
            second.offset << doubling,
            second.multiplier,
            right,
            second.sign,
            self.multiplier,
            -self.shift,
            *self.limits.arguments,
        ]

    @property
    def is_exact(self) -> bool:
        """Whether vectors compute the same results: right shifts, and an offset in range."""
        in_range = 1 <= -self.shift <= 31 and abs(self.second.offset) <= 128 << _LEFT_SHIFT
        return in_range and (self.second.is_half or 1 <= -self.second.shift <= 31)


def addition_of(value: tirx.Expr, core: Core) -> Addition | None:
    """Return the addition or subtraction that an int8 expression is; None for other expressions,
    and if vectors would not compute it exactly."""
    limited = limits_of(value)
    outer = None if limited is None else _rescaled_twice(limited[0], core)
    if limited is None or outer is None or not isinstance(outer[0], tirx.Add | tirx.Sub):
        return None
    sign = 1 if isinstance(outer[0], tirx.Add) else -1
    terms = [_term(outer[0].a, 1, core), _term(outer[0].b, sign, core)]
    first, second = (terms[0], terms[1]) if terms[0] and terms[0].is_half else (terms[1], terms[0])
    if first is None or second is None or not first.is_half:
        return None
    addition = Addition(first, second, outer[1].multiplier, outer[1].shift, limited[1])
    return addition if addition.is_exact else None


def addition_after(operator: WeightedOperator, ending: VectorEnding, core: Core) -> Compute | None:
    """Return an epilogue that adds a tensor to clamped int8 values; None if `ending` has no such
    addition, or vectors cannot compute it.

    Functions of one element may come before and after the addition. Those before it are computed in
    place, in the line that the epilogue reads.
    """
    value, element = ending.rest
    inner, functions = functions_of(value, core)
    addition = addition_of(inner, core)
    if addition is None:
        return None
    terms = addition.first.element, addition.second.element
    chains = [functions_of(term, core) for term in terms]
    sides = [n for n in (0, 1) if chains[n][0].same_as(element)]
    if len(sides) != 1:
        return None
    addend, before = terms[1 - sides[0]], chains[sides[0]][1]
    if not isinstance(addend, TensorLoad) or not _is_beside(addend, operator):
        return None

    def compute(lines: Sequence[Line], output: Line, count: int) -> tirx.Stmt:
        (line,) = lines
        operands = [line, Line(addend.source, output.indices, output.distance)]
        added = add_elements(addition, operands[sides[0]], operands[1 - sides[0]], output, count)
        return added if before is None else sequence([before(lines, line, count), added])

    return compute if functions is None else chained([compute, functions])


def _is_beside(element: TensorLoad, operator: WeightedOperator) -> bool:
    """Return whether a load reads the position of the output element, in a tensor of its shape."""
    output = operator.parts.output
    is_alike = [int(e) for e in element.source.shape] == [int(e) for e in output.shape]
    return is_alike and are_all(element.indices, operator.parts.indices)


def _rescaled_twice(value: tirx.Expr, core: Core) -> tuple[tirx.Expr, Factor] | None:
    scaled = rescaled_by(value, core)
    return None if scaled is None or scaled[1].rounding is not Rounding.TWICE else scaled


def _term(value: tirx.Expr, sign: int, core: Core) -> Term | None:
    scaled = _rescaled_twice(value, core)
    if scaled is None:
        return None
    inner, offset = split_constant(scaled[0])
    is_shifted = (
        isinstance(inner, tirx.Mul)
        and isinstance(inner.b, tirx.IntImm)
        and int(inner.b) == 1 << _LEFT_SHIFT
        and isinstance(inner.a, tirx.Cast)
    )
    if not is_shifted:
        return None
    element = inner.a.value
    is_int8 = str(element.ty.dtype) == "int8" and isinstance(element, TensorLoad | tirx.Cast)
    return Term(element, offset, scaled[1].multiplier, scaled[1].shift, sign) if is_int8 else None


def add_elements(
    addition: Addition, first: Line, second: Line, output: Line, count: int
) -> tirx.Stmt:
    """Store the sums of two lines: elements of the first term, and of the second term."""
    lines, value = (first, second), partial(_sum, addition)
    return element_wise("tvmgen_mve_add", lines, output, count, addition.arguments, value)


def _sum(addition: Addition, first: tirx.Expr, second: tirx.Expr) -> tirx.Expr:
    """Return TFLite's sum or difference of two elements."""

    def scaled(term: Term, element: tirx.Expr) -> tirx.Expr:
        shifted = element.astype("int32") * int32(1 << _LEFT_SHIFT) + int32(term.offset)
        return multiply(shifted, term.multiplier, term.shift)

    limits = addition.limits
    terms = scaled(addition.first, first), scaled(addition.second, second)
    if addition.first.sign < 0:
        total = terms[1] - terms[0]
    else:
        total = terms[0] + terms[1] if addition.second.sign > 0 else terms[0] - terms[1]
    rescaled = multiply(total, addition.multiplier, addition.shift) + int32(limits.zero_point)
    return limits.clamp(rescaled)
