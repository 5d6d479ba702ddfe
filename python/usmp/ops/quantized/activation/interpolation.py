"""Functions of int16 by linear interpolation in a table of 513 values, at equal steps.

The values are computed in single precision, and adjusted to halve the error in the middle of each
step (TFLite's LUTPopulate and LUTLookup).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from tvm import relax, te, tirx

from usmp.ops.emit import call_operator, shape_of
from usmp.ops.quantized.rescaling.fixed_point import int32
from usmp.ops.quantized.rescaling.parameters import (
    Quantization,
    require_no_zero_points,
    round_half_away,
)
from usmp.ops.records import QuantizedOp
from usmp.support.errors import UnsupportedModelError

STEPS = 512
_SPAN = 65536
_LARGEST = 2.0**126
"""Greatest result, in steps of the output, with which the kernels' sums do not overflow."""


def interpolated(
    builder: relax.BlockBuilder,
    kind: type[QuantizedOp],
    data: relax.Expr,
    function: Callable[[np.float32], np.float32],
    before: Quantization,
    after: Quantization,
) -> relax.Expr:
    """Apply a function of real numbers to `data`, from int16 to int16.

    Raises
    ------
    UnsupportedModelError
        zero points other than 0, or scales at which the results are too great.
    """
    require_no_zero_points((before, after))
    scales = np.float32(before.scale), np.float32(after.scale)
    values = interpolation_table(function, scales[0], 0, scales[1])
    # The reference kernels store slopes and results in 16 bits, which may wrap.
    wraps = bool(np.abs(np.diff(values.astype(np.int32))).max() >= _SPAN // 2)
    shape = shape_of(data)

    def compute(data: te.Tensor, table: te.Tensor) -> te.Tensor:
        def element(*indices: tirx.Var) -> tirx.Expr:
            argument = data[indices].astype("int32")
            value = interpolate(argument, lambda index: table[index].astype("int32"), wraps)
            return value.astype("int16")

        return te.compute(shape, element, "output")

    return call_operator(
        builder,
        kind.kind,
        compute,
        [data, values],
        is_element_wise=True,
        record=kind((before,), (after,)),
    )


def interpolate(
    argument: tirx.Expr, at: Callable[[tirx.Expr], tirx.Expr], wraps: bool = False
) -> tirx.Expr:
    """Interpolate at `argument`, an int16, in a table that `at` reads: int32.

    Parameters
    ----------
    wraps
        whether slopes and results may leave int16, and wrap modulo 2**16.
    """
    index = (argument >> int32(7)) + int32(STEPS // 2)
    low, high = at(index), at(index + int32(1))
    slope = _wrapped(high - low) if wraps else high - low
    value = low + ((slope * (argument & int32(127)) + int32(64)) >> int32(7))
    return _wrapped(value) if wraps else value


def _wrapped(value: tirx.Expr) -> tirx.Expr:
    """Return the low 16 bits of an int32 as a signed number."""
    half = int32(_SPAN // 2)
    return ((value + half) & int32(_SPAN - 1)) - half


def interpolation_table(
    function: Callable[[np.float32], np.float32],
    scale: np.float32,
    zero_point: int,
    after: np.float32,
) -> np.ndarray:
    """Return 513 values of `function` at equal steps over the range of int16 arguments, as int16.

    `scale` and `zero_point` quantize the arguments; `after` is the scale of the values.

    Raises
    ------
    UnsupportedModelError
        results are so great that the kernels' arithmetic on them is undefined.
    """
    f = np.float32
    first, last = scale * f(-32768 - zero_point), scale * f(32767 - zero_point)
    step = (last - first) / f(STEPS)
    inverse = f(_SPAN) / (after * f(32767) - after * f(-32768))

    def scaled(argument: np.float32) -> np.float32:
        with np.errstate(over="ignore"):
            value: np.float32 = function(argument) * inverse
        if not abs(value) < _LARGEST:
            raise UnsupportedModelError(
                f"at {argument}, within an input of scale {scale}, the result is {value} steps of "
                f"scale {after}; less than {_LARGEST} are supported"
            )
        return value

    values = []
    for index in range(STEPS):
        start = first + f(index) * step
        value, middle = scaled(start), scaled(start + step / f(2))
        following = scaled(first + f(index + 1) * step)
        between = _round((following + _round(value)) / f(2))
        values.append(_round(value) - _round((between - _round(middle)) / f(2)))
    values.append(_round(scaled(last)))
    return np.clip(np.array(values), -32768, 32767).astype(np.int16)


def _round(value: np.float32) -> np.float32:
    return np.float32(round_half_away(float(value)))
