"""Operators on the bits of elements."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence

import numpy as np
from tvm import relax, te, tirx
from tvm.ir import Expr

from usmp.ops.emit import call_operator, dtype_of


def shift_by_any(builder: relax.BlockBuilder, data: Expr, amount: Expr, *, is_left: bool) -> Expr:
    """Return integers with their bits shifted by any number.

    A negative or too large number shifts out all bits. Source: ONNX operators, BitShift-28.
    """
    dtype = dtype_of(data)
    is_signed = not dtype.startswith("u")
    zero = relax.const(0, dtype)
    is_outside = relax.op.greater_equal(amount, relax.const(np.iinfo(dtype).bits, dtype))
    if is_signed:
        is_outside = relax.op.logical_or(is_outside, relax.op.less(amount, zero))
    is_outside = builder.emit(is_outside)
    count = relax.op.where(is_outside, zero, amount)
    if is_left and is_signed:
        # In C, a left shift of signed integers must not lose bits.
        unsigned = relax.op.left_shift(*(relax.op.astype(e, f"u{dtype}") for e in (data, count)))
        shifted = relax.op.astype(unsigned, dtype)
    else:
        shifted = (relax.op.left_shift if is_left else relax.op.right_shift)(data, count)
    fill = zero
    if is_signed and not is_left:
        fill = relax.op.where(relax.op.less(data, zero), relax.const(-1, dtype), zero)
    return relax.op.where(is_outside, fill, shifted)


def bit_cast(builder: relax.BlockBuilder, data: Expr, dtype: str) -> Expr:
    """Return the same bits as elements of another type.

    The bytes of elements are in the order of little-endian memory. A truth value is a byte of 0
    or 1.

    Parameters
    ----------
    data
        [...], or if elements of `dtype` are `ratio` times as large, [..., ratio]. Not float16,
        which is computed in float32 (`WidenSmallFloats`).
    dtype
        element type of the result, not bool.

    Returns
    -------
    Expr
        [...], or if elements of `dtype` are a `ratio`-th as large, [..., ratio].
    """
    if dtype_of(data) == "bool":
        data = builder.emit(relax.op.astype(data, "uint8"))
    before, after = (8 * np.dtype(name).itemsize for name in (dtype_of(data), dtype))

    def compute(data: te.Tensor) -> te.Tensor:
        shape = data.shape[:-1] if after > before else data.shape
        shape = [*shape, before // after] if before > after else shape

        def element(*at: tirx.Var) -> tirx.Expr:
            if before > after:
                bits = _part(data(*at[:-1]), at[-1], f"uint{before}", f"uint{after}")
            elif after > before:
                parts = [data(*at, number) for number in range(after // before)]
                bits = _joined(parts, before, f"uint{after}")
            else:
                bits = data(*at)
            return tirx.reinterpret(dtype, bits)

        return te.compute(shape, element, "bit_cast")

    return call_operator(builder, "bit_cast", compute, [data])


def _part(element: tirx.Expr, number: tirx.Expr, whole: str, part: str) -> tirx.Expr:
    """Return a part of the bits of an element; part 0 are the lowest bits."""
    offset = number.astype(whole) * tirx.const(np.iinfo(part).bits, whole)
    return (tirx.reinterpret(whole, element) >> offset).astype(part)


def _joined(elements: Sequence[tirx.Expr], bits: int, whole: str) -> tirx.Expr:
    """Return the bits of several elements as one number; the first element is the lowest bits."""
    parts = [tirx.reinterpret(f"uint{bits}", element).astype(whole) for element in elements]
    shifted = [part << tirx.const(bits * n, whole) for n, part in enumerate(parts)]
    return functools.reduce(operator.or_, shifted)
