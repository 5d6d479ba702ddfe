"""Operators on the bits of elements."""

from __future__ import annotations

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
    """Reinterpret the bits of elements as another element type of the same width."""
    if dtype_of(data) == "bool":
        return relax.op.astype(data, dtype)

    def compute(data: te.Tensor) -> te.Tensor:
        return te.compute(data.shape, lambda *at: tirx.reinterpret(dtype, data(*at)), "bit_cast")

    return call_operator(builder, "bit_cast", compute, [data])
