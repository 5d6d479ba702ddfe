"""Bounds of integer expressions, by interval arithmetic.

Bounds come from types, constants, loops and known contents of buffers. Arithmetic that may overflow
its type has the bounds of the type, because it wraps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from tvm import tirx
from tvm.ir import Call, Op, StringImm, TensorLoad, Var
from tvm.tirx import FloatImm, IntImm

from usmp.tir.dtypes import dtype_of
from usmp.tir.identity import identity
from usmp.tir.intrinsics import (
    INTERPOLATED_LOGISTIC,
    INTERPOLATED_TANH,
    LEADING_ZEROS,
    MULTIPLY_AS_FLOAT,
    MULTIPLY_BY_FLOAT,
    MULTIPLY_BY_QUANTIZED_MULTIPLIER,
    MULTIPLY_BY_QUANTIZED_MULTIPLIER_64,
    MULTIPLY_BY_QUANTIZED_MULTIPLIER_SINGLE_ROUNDING,
    MULTIPLY_HIGH,
    ONE_OVER_ONE_PLUS,
    RESCALE_CHANNEL,
    RESCALE_RECORD,
    SIGMOID_INDEX,
)

Range: TypeAlias = tuple[int, int]
"""The smallest and the largest value."""

_UNKNOWN = (-math.inf, math.inf)
_FLOATS: dict[str, type[np.floating[Any]]] = {"float32": np.float32, "float64": np.float64}
"""The types in which every integer is finite; float16 is left out, since 70000 is infinite."""
_ROUNDINGS = ("tirx.round", "tirx.nearbyint", "tirx.floor", "tirx.ceil", "tirx.trunc")
_RESULTS: dict[str, Range] = {
    SIGMOID_INDEX: (0, 255),
    INTERPOLATED_LOGISTIC: (0, 32768),
    INTERPOLATED_TANH: (-32768, 32768),
    LEADING_ZEROS: (0, 32),
    ONE_OVER_ONE_PLUS: (0, 2**31 - 1),
}


def is_integer(dtype: str) -> bool:
    """Return whether a type is a scalar integer type, and not `bool`."""
    return dtype.startswith(("int", "uint")) and dtype[-1].isdigit() and "x" not in dtype


def bits_of(dtype: str) -> int:
    """Return the number of bits of an integer type."""
    return int(dtype.removeprefix("u").removeprefix("int"))


@cache
def type_range(dtype: str) -> Range:
    """Return the range of an integer type."""
    if dtype == "bool":
        return 0, 1
    if dtype.startswith("u"):
        return 0, 2 ** bits_of(dtype) - 1
    half = 2 ** (bits_of(dtype) - 1)
    return -half, half - 1


def is_within(values: Range, limits: Range) -> bool:
    """Return whether all `values` lie between the limits."""
    return limits[0] <= values[0] and values[1] <= limits[1]


def hull(*ranges: Range) -> Range:
    """Return the smallest range that contains all `ranges`."""
    return min(low for low, _ in ranges), max(high for _, high in ranges)


@dataclass
class IntegerRanges:
    """An evaluator of the bounds of expressions in one PrimFunc.

    Parameters
    ----------
    variables
        bounds of loop variables.
    bound
        values of variables that `Bind` and `Let` declare.
    buffers
        bounds of the elements of integer buffers, where they are tighter than the element type.
    """

    variables: dict[Var, Range] = field(default_factory=dict)
    bound: dict[Var, tirx.Expr] = field(default_factory=dict)
    buffers: dict[Var, Range] = field(default_factory=dict)
    _known: dict[int, tuple[tirx.Expr, Range, bool]] = field(default_factory=dict)

    def of(self, expr: tirx.Expr) -> Range:
        """Return the bounds of an integer expression."""
        if type(expr) is IntImm:
            value = int(expr.value)
            return value, value
        return self._bounds(expr)[1]

    def fits(self, expr: tirx.Expr) -> bool:
        """Return whether a sum, difference or product of integers never overflows its type."""
        return self._bounds(expr)[2]

    def _bounds(self, expr: tirx.Expr) -> tuple[tirx.Expr, Range, bool]:
        """Return the expression, its bounds, and whether it never overflows its type."""
        key = identity(expr)
        known = self._known.get(key)
        if known is None:
            values, limits = self._exact(expr), type_range(dtype_of(expr))
            if values is None or not is_within(values, limits):
                known = expr, limits, False
            else:
                known = expr, values, True
            # Keep the expression alive, so that no other object gets its identity.
            self._known[key] = known
        return known

    def forget(self) -> None:
        """Drop cached bounds, because bounds of variables or buffers have changed."""
        self._known.clear()

    def _exact(self, expr: Any) -> Range | None:
        """Return the bounds without wrapping, or None if only the type bounds the expression."""
        kind = type(expr)
        if kind is Var:
            bound = self.bound.get(expr)
            return self.variables.get(expr) if bound is None else self.of(bound)
        if kind is TensorLoad:
            return self.buffers.get(expr.source)
        if kind in _BY_OPERANDS:
            return _BY_OPERANDS[kind](self.of(expr.a), self.of(expr.b))
        if kind is tirx.Cast:
            return self._cast(expr.value)
        if kind is tirx.Select:
            return hull(self.of(expr.true_value), self.of(expr.false_value))
        if kind is tirx.Let:
            self.bound[expr.var] = expr.value
            return self.of(expr.body)
        return self._call(expr) if kind is Call else None

    def _cast(self, value: tirx.Expr) -> Range | None:
        dtype = dtype_of(value)
        if dtype == "bool" or is_integer(dtype):
            return self.of(value)
        low, high, may_be_nan = self.of_float(value)
        if may_be_nan or math.isinf(low) or math.isinf(high):
            return None
        return math.trunc(low), math.trunc(high)

    def of_float(self, expr: Any) -> tuple[float, float, bool]:
        """Return the bounds of a floating-point expression, and whether it may be NaN."""
        if isinstance(expr, FloatImm):
            value = float(expr.value)
            return (value, value, False) if math.isfinite(value) else (*_UNKNOWN, True)
        if isinstance(expr, tirx.Cast) and is_integer(dtype_of(expr.value)):
            kind = _FLOATS.get(dtype_of(expr))
            if kind is None:
                return (*_UNKNOWN, True)
            low, high = (float(kind(bound)) for bound in self.of(expr.value))
            return low, high, False
        if isinstance(expr, (tirx.Min, tirx.Max)):
            # C computes `a < b ? a : b`, which is `b` if either operand is NaN.
            (a_low, a_high, a_nan), (b_low, b_high, b_nan) = map(self.of_float, (expr.a, expr.b))
            choose = min if isinstance(expr, tirx.Min) else max
            low, high = choose(a_low, b_low), choose(a_high, b_high)
            if a_nan:
                low, high = min(low, b_low), max(high, b_high)
            return low, high, b_nan
        if isinstance(expr, Call) and isinstance(expr.op, Op) and expr.op.name in _ROUNDINGS:
            low, high, may_be_nan = self.of_float(expr.args[0])
            if math.isinf(low) or math.isinf(high):
                return low, high, may_be_nan
            return math.floor(low), math.ceil(high), may_be_nan
        return (*_UNKNOWN, True)

    def _call(self, call: Call) -> Range | None:
        name = call.op.name if isinstance(call.op, Op) else ""
        if name == "prim.if_then_else":
            return hull(self.of(call.args[1]), self.of(call.args[2]))
        if name == "prim.likely":
            return self.of(call.args[0])
        if name != "tirx.call_pure_extern" or not isinstance(call.args[0], StringImm):
            return None
        function = call.args[0].value
        if function in _RESCALED:
            return _RESCALED[function](*map(self.of, call.args[1:]))
        return _RESULTS.get(function)


def _sum(a: Range, b: Range) -> Range:
    return a[0] + b[0], a[1] + b[1]


def _difference(a: Range, b: Range) -> Range:
    return a[0] - b[1], a[1] - b[0]


def _product(a: Range, b: Range) -> Range:
    corners = [x * y for x in a for y in b]
    return min(corners), max(corners)


def _least(a: Range, b: Range) -> Range:
    return min(a[0], b[0]), min(a[1], b[1])


def _greatest(a: Range, b: Range) -> Range:
    return max(a[0], b[0]), max(a[1], b[1])


def _truncated(a: int, b: int) -> int:
    quotient = abs(a) // b
    return quotient if a >= 0 else -quotient


def _quotient(a: Range, b: Range) -> Range | None:
    if b[0] <= 0:
        return None
    corners = [_truncated(x, y) for x in a for y in b]
    return min(corners), max(corners)


def _floor_quotient(a: Range, b: Range) -> Range | None:
    if b[0] <= 0:
        return None
    corners = [x // y for x in a for y in b]
    return min(corners), max(corners)


def _remainder(a: Range, b: Range) -> Range | None:
    if b[0] <= 0:
        return None
    return max(min(a[0], 0), 1 - b[1]), min(max(a[1], 0), b[1] - 1)


def _floor_remainder(a: Range, b: Range) -> Range | None:
    if b[0] <= 0:
        return None
    return (0, min(a[1], b[1] - 1)) if a[0] >= 0 else (0, b[1] - 1)


def _right_shift(a: Range, b: Range) -> Range | None:
    if b[0] < 0 or b[1] > 63:
        return None
    corners = [x >> y for x in a for y in b]
    return min(corners), max(corners)


def _left_shift(a: Range, b: Range) -> Range | None:
    if b[0] < 0 or b[1] > 63:
        return None
    corners = [x << y for x in a for y in b]
    return min(corners), max(corners)


def _masked(a: Range, b: Range) -> Range | None:
    # `a & b` is at most the operand that is not negative.
    bounds = [high for low, high in (a, b) if low >= 0]
    return (0, min(bounds)) if bounds else None


def _joined(a: Range, b: Range) -> Range | None:
    if a[0] < 0 or b[0] < 0:
        return None
    return 0, (1 << max(a[1], b[1]).bit_length()) - 1


_BY_OPERANDS: dict[type, Callable[[Range, Range], Range | None]] = {
    tirx.Add: _sum,
    tirx.Sub: _difference,
    tirx.Mul: _product,
    tirx.Min: _least,
    tirx.Max: _greatest,
    tirx.Div: _quotient,
    tirx.Mod: _remainder,
    tirx.FloorDiv: _floor_quotient,
    tirx.FloorMod: _floor_remainder,
    tirx.RShift: _right_shift,
    tirx.LShift: _left_shift,
    tirx.BitwiseAnd: _masked,
    tirx.BitwiseOr: _joined,
    tirx.BitwiseXor: _joined,
}


def _rescaled_twice(value: Range, multiplier: Range, shift: Range) -> Range | None:
    # Clamp the shift to 32 bits, because with 32 or more only 0 stays within int32.
    left = min(max(shift[1], 0), 32)
    shifted = (value[0] << left, value[1] << left)
    if not is_within(shifted, type_range("int32")):
        return None
    return _scaled(shifted, multiplier, 31 + max(-shift[1], 0))


def _rescaled_once(value: Range, multiplier: Range, shift: Range) -> Range | None:
    return _scaled(value, multiplier, 31 - shift[1])


def _multiplied_by_float(value: Range, factor: Range) -> Range | None:
    """Bound a product with a float; `factor` bounds the float's bits, which grow with the float."""
    if factor[0] <= 0:
        return None
    return _scaled(value, (0, 2**31), 31 - ((factor[1] >> 23) - 126))


def _rescaled_64(value: Range, multiplier: Range, shift: Range) -> Range | None:
    reduced = (0, min(max(multiplier[1], 0) // 2**16 + 1, 2**15))
    return _scaled(value, reduced, 15 - shift[1]) if multiplier[0] >= 0 else None


def _scaled(value: Range, multiplier: Range, right: int) -> Range | None:
    """Bound a product that is shifted right by at least `right` bits, with any rounding."""
    if right < 0:
        return None
    low, high = _product(value, multiplier)
    return min((low >> right) - 1, 0), max((high >> right) + 1, 0)


def _rescaled_channel(accumulator: Range, *record: Range) -> Range | None:
    """Bound a value for any bias and multiplier; the last item of `record` is the shift."""
    return _rescaled_twice(type_range("int32"), (0, 2**31 - 1), record[-1])


def _high_product(value: Range, multiplier: Range) -> Range | None:
    """Bound the high half of a product; kernels keep |value| < 2**30 and multiplier >= 0."""
    small = max(value[0], 1 - 2**30), min(value[1], 2**30 - 1)
    return _scaled(small, (max(multiplier[0], 0), multiplier[1]), 31)


def _rescaled_by_record(
    value: Range, multiplier: Range, shift: Range, rounding: Range
) -> Range | None:
    """Bound a product that is shifted right by the lowest byte of `shift`, or by at least 1.

    Half of the rounding is added to the result."""
    high = _high_product(value, multiplier)
    if high is None:
        return None
    right = shift[0] & 255 if shift[0] == shift[1] else 1
    return (
        min(high[0] >> right, 0) - 1 + (rounding[0] >> 1),
        max(high[1] >> right, 0) + 1 + (rounding[1] >> 1),
    )


_RESCALED: dict[str, Callable[..., Range | None]] = {
    RESCALE_CHANNEL: _rescaled_channel,
    RESCALE_RECORD: _rescaled_by_record,
    MULTIPLY_HIGH: _high_product,
    MULTIPLY_BY_QUANTIZED_MULTIPLIER: _rescaled_twice,
    MULTIPLY_BY_QUANTIZED_MULTIPLIER_SINGLE_ROUNDING: _rescaled_once,
    MULTIPLY_AS_FLOAT: _rescaled_once,
    MULTIPLY_BY_FLOAT: _multiplied_by_float,
    MULTIPLY_BY_QUANTIZED_MULTIPLIER_64: _rescaled_64,
}
