"""Quantization to int8 at runtime, as in TFLite's hybrid kernels.

These kernels multiply real data by integer weights. They first quantize each slice of the data to
the range of its elements (tensor_utils::SymmetricQuantizeFloats, AsymmetricQuantizeFloats).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tvm import relax, tirx
from tvm.script import tirx as T

from usmp.ops.emit import add_prim_func, shape_of

_GREATEST = 127
_STEPS = 255


@dataclass(frozen=True)
class QuantizedSlices:
    """A quantized tensor: `value = (integer - offset) * scale` in each slice of its first axis.

    Parameters
    ----------
    integers
        the integers, of int8, in the shape of the tensor.
    scales
        (slices) of float32.
    offsets
        (slices) of int32, from -128 to 127; None if all are 0.
    """

    integers: relax.Expr
    scales: relax.Expr
    offsets: relax.Expr | None


def quantize_slices(
    builder: relax.BlockBuilder, data: relax.Expr, *, asymmetric: bool
) -> QuantizedSlices:
    """Quantize each slice of the first axis, of float32, to int8.

    Parameters
    ----------
    asymmetric
        whether -128 to 127 represent the range of the elements and 0; else -127 to 127 represent
        the greatest magnitude, negative and positive.
    """
    shape = shape_of(data)
    slices, length = shape[0], math.prod(shape[1:])
    make = _asymmetric if asymmetric else _symmetric
    function = add_prim_func(builder, make(slices, length), "quantize_slices", None)
    types = [
        relax.TensorType((slices, length), "int8"),
        relax.TensorType((slices,), "float32"),
        *([relax.TensorType((slices,), "int32")] if asymmetric else []),
    ]
    rows = builder.emit(relax.op.reshape(data, (slices, length)))
    outputs = builder.emit(relax.call_tir(function, [rows], out_ty=types))
    integers, *rest = [builder.emit(relax.TupleGetItem(outputs, i)) for i in range(len(types))]
    return QuantizedSlices(
        builder.emit(relax.op.reshape(integers, shape)), rest[0], rest[1] if asymmetric else None
    )


def _symmetric(slices: int, length: int) -> tirx.PrimFunc:
    @T.prim_func(s_tir=True, private=True)  # type: ignore[untyped-decorator]
    def quantize_slices(
        data: T.Buffer((slices, length), "float32"),  # type: ignore[valid-type]
        integers: T.Buffer((slices, length), "int8"),  # type: ignore[valid-type]
        scales: T.Buffer((slices,), "float32"),  # type: ignore[valid-type]
    ) -> None:
        for i in range(slices):
            with T.sblock("slice"):
                row = T.axis.remap("S", [i])
                greatest = T.sblock_alloc_buffer((1,), "float32", scope="local")
                inverse = T.sblock_alloc_buffer((1,), "float32", scope="local")
                greatest[0] = _real(0)
                for k in range(length):
                    greatest[0] = T.max(greatest[0], T.fabs(data[row, k]))
                scales[row] = T.if_then_else(
                    greatest[0] == _real(0), _real(1), greatest[0] / _real(_GREATEST)
                )
                inverse[0] = T.if_then_else(
                    greatest[0] == _real(0), _real(1), _real(_GREATEST) / greatest[0]
                )
                for k in range(length):
                    integers[row, k] = T.Cast(
                        "int8", _rounded(data[row, k] * inverse[0], -_GREATEST, _GREATEST)
                    )

    function: tirx.PrimFunc = quantize_slices
    return function


def _asymmetric(slices: int, length: int) -> tirx.PrimFunc:
    @T.prim_func(s_tir=True, private=True)  # type: ignore[untyped-decorator]
    def quantize_slices(
        data: T.Buffer((slices, length), "float32"),  # type: ignore[valid-type]
        integers: T.Buffer((slices, length), "int8"),  # type: ignore[valid-type]
        scales: T.Buffer((slices,), "float32"),  # type: ignore[valid-type]
        offsets: T.Buffer((slices,), "int32"),  # type: ignore[valid-type]
    ) -> None:
        for i in range(slices):
            with T.sblock("slice"):
                row = T.axis.remap("S", [i])
                limits = T.sblock_alloc_buffer((2,), "float32", scope="local")
                scale = T.sblock_alloc_buffer((1,), "float32", scope="local")
                inverse = T.sblock_alloc_buffer((1,), "float32", scope="local")
                offset = T.sblock_alloc_buffer((1,), "int32", scope="local")
                limits[0] = _real(0)
                limits[1] = _real(0)
                for k in range(length):
                    limits[0] = T.min(limits[0], data[row, k])
                    limits[1] = T.max(limits[1], data[row, k])
                scale[0] = _real(1)
                offset[0] = 0
                if limits[0] < limits[1]:
                    scale[0] = (limits[1] - limits[0]) / _real(_STEPS)
                    offset[0] = _offset(limits[0], limits[1])
                # The scale of subnormal numbers may be 0; the kernels then quantize them to 0.
                inverse[0] = T.if_then_else(scale[0] == _real(0), _real(0), _real(1) / scale[0])
                scales[row] = scale[0]
                offsets[row] = offset[0]
                for k in range(length):
                    integers[row, k] = T.Cast(
                        "int8",
                        _rounded(
                            data[row, k] * inverse[0],
                            -_GREATEST - 1 - offset[0],
                            _GREATEST - offset[0],
                        )
                        + offset[0],
                    )

    function: tirx.PrimFunc = quantize_slices
    return function


def _real(value: float) -> tirx.Expr:
    return tirx.FloatImm("float32", value)


def _rounded(value: tirx.Expr, least: tirx.Expr | int, greatest: tirx.Expr | int) -> tirx.Expr:
    """Round to the nearest integer, ties away from zero, and clamp: int32.

    The clamp precedes the conversion, which C does not define for a float outside of int32.
    """
    rounded = tirx.call_pure_extern("float32", "roundf", value)
    bounds = [tirx.const(b, "int32") if isinstance(b, int) else b for b in (least, greatest)]
    low, high = (bound.astype("float32") for bound in bounds)
    return tirx.min(tirx.max(rounded, low), high).astype("int32")


def _offset(least: tirx.Expr, greatest: tirx.Expr) -> tirx.Expr:
    """Return the integer that represents 0, computed in double precision like the kernels: int32.

    It is computed from the end of the range that gives the more exact result.
    """
    low, high = least.astype("float64"), greatest.astype("float64")
    scale = (greatest - least).astype("float64") / tirx.FloatImm("float64", _STEPS)
    first, last = (tirx.FloatImm("float64", end) for end in (-_GREATEST - 1, _GREATEST))
    # Compare magnitudes without abs, because `low` is at most 0 and `high` at least 0.
    is_nearer = tirx.FloatImm("float64", _GREATEST + 1) - low / scale < last + high / scale
    offset = tirx.if_then_else(is_nearer, first - low / scale, last - high / scale)
    limited = tirx.min(tirx.max(offset, first), last)
    return tirx.call_pure_extern("float64", "round", limited).astype("int32")
