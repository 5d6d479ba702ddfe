"""Functions of the bits of integers in TIR."""

from __future__ import annotations

from tvm import tirx

from usmp.ops.quantized.rescaling.fixed_point import leading_zeros


def significant_bits(value: tirx.Expr) -> tirx.Expr:
    """Return the number of bits of an int32 or uint32: int32; 0 for 0, 32 for a negative number."""
    if str(value.ty.dtype) == "uint32":
        value = tirx.reinterpret("int32", value)
    return tirx.IntImm("int32", 32) - leading_zeros(value)


def saturated_int16(value: tirx.Expr) -> tirx.Expr:
    """Saturate an int32 to int16."""
    low, high = (tirx.IntImm("int32", limit) for limit in (-(2**15), 2**15 - 1))
    return tirx.max(tirx.min(value, high), low).astype("int16")


def uint32(value: int) -> tirx.Expr:
    """Return a uint32 constant."""
    return tirx.IntImm("uint32", value)


def uint64(value: tirx.Expr | int) -> tirx.Expr:
    """Return a uint64 constant of a number, or a cast of an expression to uint64."""
    return tirx.IntImm("uint64", value) if isinstance(value, int) else value.astype("uint64")
