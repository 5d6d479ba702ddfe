"""Conversions between real and quantized numbers, and between quantizations."""

from __future__ import annotations

from tvm import relax, tirx
from tvm.ir import Call, Op

from usmp.ops.quantized.elementwise import elementwise
from usmp.ops.quantized.rescaling.fixed_point import Rounding, apply_multiplier, centered, factor_of
from usmp.ops.quantized.rescaling.parameters import Quantization
from usmp.ops.records import operator_of
from usmp.ops.records.elementwise import Dequantize, Quantize, Requantize

_REAL = Quantization.unscaled("float32")


def quantize(builder: relax.BlockBuilder, data: relax.Expr, after: Quantization) -> relax.Expr:
    """Round each float32 to the nearest integer, ties away from zero, and clamp to the type.

    NaN becomes the least integer. The division is in single precision.
    """
    limits = after.limits()
    zero_point = tirx.IntImm("int32", after.zero_point)
    least = tirx.FloatImm("float32", limits.minimum - after.zero_point)
    greatest = tirx.FloatImm("float32", limits.maximum - after.zero_point)

    def function(value: tirx.Expr) -> tirx.Expr:
        ratio = value / tirx.FloatImm("float32", after.scale)
        rounded = tirx.call_pure_extern("float32", "roundf", ratio)
        # Clamp before the conversion, which C does not define for a float outside of int32.
        inside = tirx.min(tirx.max(rounded, least), greatest)
        return (inside.astype("int32") + zero_point).astype(after.dtype)

    return elementwise(builder, Quantize((_REAL,), (after,)), function, [data])


def dequantize(builder: relax.BlockBuilder, data: relax.Expr, before: Quantization) -> relax.Expr:
    """Convert each integer of at most 16 bits to the nearest float32."""
    # The difference is a float32 without error, so the product is rounded only once.
    scale = tirx.FloatImm("float32", before.scale)

    def function(value: tirx.Expr) -> tirx.Expr:
        return centered(value, before.zero_point).astype("float32") * scale

    return elementwise(builder, Dequantize((before,), (_REAL,)), function, [data])


def before_dequantization(
    builder: relax.BlockBuilder, data: relax.Expr
) -> tuple[relax.Expr, Quantization | None]:
    """Return the integers that `dequantize` converted to `data`, and their quantization; `data` and
    None if `dequantize` did not compute `data`."""
    call = builder.lookup_binding(data) if isinstance(data, relax.Var) else None
    if not isinstance(call, Call) or not call.op.same_as(Op.get("relax.call_tir")):
        return data, None
    record = operator_of(builder.get()[call.args[0]])
    if not isinstance(record, Dequantize):
        return data, None
    return call.args[1].fields[0], record.inputs[0]


def requantize(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    before: Quantization,
    after: Quantization,
    rounding: Rounding = Rounding.TWICE,
) -> relax.Expr:
    """Convert integers from one quantization to another."""
    factor = factor_of((before.scale,), after.scale, rounding)
    limits = after.limits()

    def function(value: tirx.Expr) -> tirx.Expr:
        scaled = apply_multiplier(centered(value, before.zero_point), factor, rounding)
        return limits.shifted(scaled, after.zero_point)

    record = Requantize((before,), (after,), rounding=rounding)
    return elementwise(builder, record, function, [data])
