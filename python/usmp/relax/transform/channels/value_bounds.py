"""Interval arithmetic on the form of an operator, for all channels at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from tvm import tirx
from tvm.ir import Call, TensorLoad, Var

from usmp.analysis.integers.integer_ranges import is_integer, type_range
from usmp.ops.form import Form
from usmp.ops.quantized.rescaling.rescaled_arrays import never_wraps, rescaled
from usmp.ops.rounding import Rounding, rounding_of
from usmp.tir.op_names import is_op

Ends: TypeAlias = "tuple[np.ndarray, np.ndarray]"
"""The least and greatest integer of each channel: (channels) of int64 each."""


def elementwise_ends(form: Form, operands: Mapping[Var, Ends]) -> Ends | None:
    """Return the bounds of the output, or None if the form has a reduction or no integer output.

    Parameters
    ----------
    operands
        parameter -> its bounds.
    """
    if any(nest.spatial != nest.extents.keys() for nest in form.nests):
        return None
    buffers = dict(operands)
    for nest in form.nests:
        if _is_integer(str(nest.buffer.dtype)):
            buffers[nest.buffer] = _bounds(nest.value, buffers)
    return buffers.get(form.output)


def scaled_ends(
    ends: Ends, multiplier: np.ndarray | int, shift: np.ndarray | int, rounding: Rounding
) -> Ends:
    """Return the bounds of 32-bit integers times a fixed-point multiplier, or the limits of int32
    where the product might wrap.

    Parameters
    ----------
    multiplier, shift
        as in `QuantizedMultiplier`: one for all channels, or (channels) of int64.
    """
    factor = np.asarray(multiplier, np.int64), np.asarray(shift, np.int64), rounding
    fits = never_wraps(ends[0], *factor) & never_wraps(ends[1], *factor)
    least, greatest = (
        np.where(fits, rescaled(end, *factor), limit)
        for end, limit in zip(ends, type_range("int32"), strict=True)
    )
    return least, greatest


def _is_integer(dtype: str) -> bool:
    return dtype == "bool" or is_integer(dtype)


def _bounds(expr: tirx.Expr, buffers: Mapping[Var, Ends]) -> Ends:
    """Return the bounds of an expression, or those of its type if it may wrap or is unknown."""
    count = len(next(iter(buffers.values()))[0])
    limits = type_range(str(expr.ty.dtype))
    least, greatest = (np.full(count, limit, np.int64) for limit in limits)
    exact = _exact(expr, buffers)
    if exact is None:
        return least, greatest
    fits = (least <= exact[0]) & (exact[1] <= greatest)
    return np.where(fits, exact[0], least), np.where(fits, exact[1], greatest)


def _exact(expr: Any, buffers: Mapping[Var, Ends]) -> Ends | None:
    """Return the bounds of an expression that does not wrap, or None if they are not known.

    Bounds of 64-bit integers are not known, because they could overflow int64 here.
    """
    if str(expr.ty.dtype) in ("int64", "uint64"):
        return None
    if isinstance(expr, tirx.IntImm):
        value = np.array(expr.value, np.int64)
        return value, value
    if isinstance(expr, TensorLoad):
        return buffers.get(expr.source)
    if isinstance(expr, tirx.Cast):
        return _bounds(expr.value, buffers) if _is_integer(str(expr.value.ty.dtype)) else None
    if isinstance(expr, tirx.Select):
        return _hull(*(_bounds(value, buffers) for value in (expr.true_value, expr.false_value)))
    if type(expr) in _ARITHMETIC:
        return _ARITHMETIC[type(expr)](*(_bounds(value, buffers) for value in (expr.a, expr.b)))
    if is_op(expr, "prim.if_then_else"):
        return _hull(*(_bounds(value, buffers) for value in expr.args[1:]))
    rounding = rounding_of(expr)
    return None if rounding is None else _rescaled(expr, rounding, buffers)


def _hull(left: Ends, right: Ends) -> Ends:
    return np.minimum(left[0], right[0]), np.maximum(left[1], right[1])


def _product(left: Ends, right: Ends) -> Ends | None:
    if np.abs(left).max().astype(float) * np.abs(right).max() >= 2.0**62:
        return None
    products = [a * b for a in left for b in right]
    return np.min(products, axis=0), np.max(products, axis=0)


def _shifted(shift: Callable[[Any, Any], Any]) -> Callable[[Ends, Ends], Ends | None]:
    """Return a function that bounds shifts by a constant."""

    def shifted(value: Ends, amount: Ends) -> Ends | None:
        if (amount[0] != amount[1]).any() or amount[0].min() < 0 or amount[0].max() > 31:
            return None
        return shift(value[0], amount[0]), shift(value[1], amount[0])

    return shifted


def _rescaled(call: Call, rounding: Rounding, buffers: Mapping[Var, Ends]) -> Ends | None:
    """Return the bounds of a product with a constant fixed-point multiplier."""
    value, multiplier, shift = (_bounds(argument, buffers) for argument in call.args[1:])
    if any((ends[0] != ends[1]).any() for ends in (multiplier, shift)):
        return None
    if multiplier[0].min() < 0:
        return None
    return scaled_ends(value, multiplier[0], shift[0], rounding)


_ARITHMETIC: dict[type, Callable[[Ends, Ends], Ends | None]] = {
    tirx.Add: lambda left, right: (left[0] + right[0], left[1] + right[1]),
    tirx.Sub: lambda left, right: (left[0] - right[1], left[1] - right[0]),
    tirx.Mul: _product,
    tirx.Min: lambda left, right: (np.minimum(left[0], right[0]), np.minimum(left[1], right[1])),
    tirx.Max: lambda left, right: (np.maximum(left[0], right[0]), np.maximum(left[1], right[1])),
    tirx.LShift: _shifted(np.left_shift),
    tirx.RShift: _shifted(np.right_shift),
}
