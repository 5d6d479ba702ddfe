"""Unary operators on 8-bit integers: a table of 256 results, filled at compile time."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from tvm import relax, te, tirx

from usmp.ops.emit import call_operator, shape_of
from usmp.ops.quantized.rescaling.parameters import Quantization, integer_limits, round_half_away
from usmp.ops.records import QuantizedOp


def tabulated(
    builder: relax.BlockBuilder,
    record: QuantizedOp,
    data: relax.Expr,
    function: Callable[[int], int],
) -> relax.Expr:
    """Apply `function` to each element of `data` (int8 or uint8), by a table of the output's type.

    The PrimFunc is named after the kind of operator.
    """
    shape = shape_of(data)
    least, greatest = integer_limits(str(data.ty.dtype))
    (after,) = record.outputs
    table = np.array([function(value) for value in range(least, greatest + 1)], after.dtype)

    def compute(data: te.Tensor, table: te.Tensor) -> te.Tensor:
        def element(*indices: tirx.Var) -> tirx.Expr:
            return table[data[indices].astype("int32") - tirx.IntImm("int32", least)]

        return te.compute(shape, element, "output")

    return call_operator(
        builder, record.kind, compute, [data, table], is_element_wise=True, record=record
    )


def nearest_integer(steps: float, after: Quantization) -> int:
    """Return the integer `steps` from the zero point, ties away from it, clamped to the type.

    NaN becomes the least integer.
    """
    least, greatest = integer_limits(after.dtype)
    if not abs(steps) < 2**30:
        return greatest if steps > 0 else least
    return min(max(round_half_away(steps) + after.zero_point, least), greatest)


def exponential(x: np.float32) -> np.float32:
    """Return exp in single precision; infinity if it overflows."""
    return np.float32(math.exp(float(x))) if x < 88.8 else np.float32(math.inf)


def tabulated_real(
    builder: relax.BlockBuilder,
    kind: type[QuantizedOp],
    data: relax.Expr,
    function: Callable[[np.float32], np.float32],
    before: Quantization,
    after: Quantization,
) -> relax.Expr:
    """Apply a function of real numbers, computed in single precision for each integer."""
    inverse = np.float32(1) / np.float32(after.scale)

    def of_integer(value: int) -> int:
        real = np.float32(before.scale) * np.float32(value - before.zero_point)
        return nearest_integer(float(function(real) * inverse), after)

    return tabulated(builder, kind((before,), (after,)), data, of_integer)
