"""Reductions over axes."""

from __future__ import annotations

import math

import tflite
from tvm import relax

from usmp.frontend.tflite.context import Context, converts, reshaped
from usmp.frontend.tflite.file.model import TfliteOperator
from usmp.frontend.tflite.options import (
    require_same_quantization,
    require_same_shape,
    require_types,
    stored_quantization,
)
from usmp.ops import quantized
from usmp.ops.quantization import stored_as
from usmp.ops.real.extremes import first_extreme
from usmp.ops.real.running import running


@converts("MEAN", "SUM")
def convert_mean(context: Context, operator: TfliteOperator) -> None:
    """Append a MEAN or SUM of integers; the output has its own quantization."""
    data, output = operator.input(0), operator.output
    require_types(operator, data, "input", ("int8", "int16", "uint8"))
    require_types(operator, output, "output", (data.dtype,))
    axes = _axes(operator)
    before, after = operator.quantization(data), operator.quantization(output)
    function = quantized.mean if operator.name == "MEAN" else quantized.reduce_sum
    result = function(context.builder, context.value(data), axes, before, after)
    context.set(output, reshaped(context, context.builder.emit(result), output.shape))


@converts("MEAN", quantized=False)
def convert_unquantized_mean(context: Context, operator: TfliteOperator) -> None:
    """Append a MEAN of numbers without scales; that of integers is truncated toward zero."""
    data, output = operator.input(0), operator.output
    require_types(operator, data, "input", ("float32", "int32", "int64"))
    require_types(operator, output, "output", (data.dtype,))
    axes, value, emit = _axes(operator), context.value(data), context.builder.emit
    if data.dtype == "float32":
        result = relax.op.mean(value, axes)
    else:
        count = math.prod(data.shape[axis] for axis in axes)
        total = emit(relax.op.sum(emit(relax.op.astype(value, "int64")), axes))
        mean = emit(relax.op.divide(total, relax.const(count, "int64")))
        result = relax.op.astype(mean, data.dtype)
    context.set(output, reshaped(context, emit(result), output.shape))


_NUMBERS = ("float32", "int32", "int64")
_REDUCTIONS = {
    "REDUCE_ALL": (relax.op.min, ("bool",)),
    "REDUCE_ANY": (relax.op.max, ("bool",)),
    "REDUCE_MAX": (relax.op.max, _NUMBERS),
    "REDUCE_MIN": (relax.op.min, _NUMBERS),
    "REDUCE_PROD": (relax.op.prod, _NUMBERS),
    "SUM": (relax.op.sum, _NUMBERS),
}


@converts(*_REDUCTIONS, quantized=False)
def convert_unquantized_reduction(context: Context, operator: TfliteOperator) -> None:
    """Append a reduction of numbers without scales; sums and products of integers wrap."""
    data, output = operator.input(0), operator.output
    reduce, types = _REDUCTIONS[operator.name]
    require_types(operator, data, "input", types)
    require_types(operator, output, "output", (data.dtype,))
    axes, value, emit = _axes(operator), context.value(data), context.builder.emit
    if data.dtype == "bool":
        value = emit(relax.op.astype(value, "int8"))
    result = emit(reduce(value, axes))
    if data.dtype == "bool":
        result = emit(relax.op.astype(result, "bool"))
    context.set(output, reshaped(context, result, output.shape))


@converts("REDUCE_MAX", "REDUCE_MIN")
def convert_reduce_max_min(context: Context, operator: TfliteOperator) -> None:
    """Append a REDUCE_MAX or REDUCE_MIN; input and output have the same quantization."""
    data, output = operator.input(0), operator.output
    require_types(operator, data, "input", ("int8", "int16", "uint8"))
    require_types(operator, output, "output", (data.dtype,))
    require_same_quantization(operator, data, output)
    reduce = quantized.reduce_max if operator.name == "REDUCE_MAX" else quantized.reduce_min
    value = context.value(data)
    result = reduce(context.builder, value, _axes(operator), stored_as(value, data.quantization))
    context.set(output, reshaped(context, context.builder.emit(result), output.shape))


@converts("ARG_MAX", "ARG_MIN")
def convert_arg(context: Context, operator: TfliteOperator) -> None:
    """Append the position of the largest or least integer along one axis."""
    data, output = operator.input(0), operator.output
    require_types(operator, data, "input", ("int8", "uint8"))
    axis = _axis_of_position(operator)
    function = quantized.argmax if operator.name == "ARG_MAX" else quantized.argmin
    value, dtype = context.value(data), output.dtype
    result = function(context.builder, value, axis, dtype, stored_quantization(data))
    context.set(output, result)


@converts("ARG_MAX", "ARG_MIN", quantized=False)
def convert_unquantized_arg(context: Context, operator: TfliteOperator) -> None:
    """Append the position of the largest or least number, the first one of equal numbers."""
    data, output = operator.input(0), operator.output
    require_types(operator, data, "input", ("float32", "int32", "bool"))
    axis, is_largest = _axis_of_position(operator), operator.name == "ARG_MAX"
    value = context.value(data)
    if data.dtype == "bool":
        value = context.builder.emit(relax.op.astype(value, "int8"))
    result = first_extreme(context.builder, value, axis, output.dtype, is_largest=is_largest)
    context.set(output, result)


@converts("CUMSUM")
def convert_cumsum(context: Context, operator: TfliteOperator) -> None:
    """Append running sums of int8 along one axis; the output has its own quantization."""
    options = operator.options(tflite.CumsumOptions)
    data, output = operator.input(0), operator.output
    require_types(operator, data, "input", ("int8",))
    require_types(operator, output, "output", ("int8",))
    require_same_shape(operator, data, output)
    result = quantized.cumulative_sum(
        context.builder,
        context.value(data),
        _axis(operator),
        operator.quantization(data),
        operator.quantization(output),
        exclusive=bool(options.Exclusive()),
        backwards=bool(options.Reverse()),
    )
    context.set(output, result)


@converts("CUMSUM", quantized=False)
def convert_unquantized_cumsum(context: Context, operator: TfliteOperator) -> None:
    """Append running sums of numbers without scales along one axis, from either end."""
    options = operator.options(tflite.CumsumOptions)
    data, output = operator.input(0), operator.output
    require_types(operator, data, "input", ("float32", "int32", "int64"))
    require_types(operator, output, "output", (data.dtype,))
    require_same_shape(operator, data, output)
    result = running(
        context.builder,
        context.value(data),
        _axis(operator),
        lambda total, element: total + element,
        0,
        exclusive=bool(options.Exclusive()),
        backwards=bool(options.Reverse()),
    )
    context.set(output, result)


def _axis_of_position(operator: TfliteOperator) -> int:
    """Return the axis along which a position is searched; the output lacks this axis.

    Raises
    ------
    UnsupportedModelError
        the output has another shape or type.
    """
    data, output, axis = operator.input(0), operator.output, _axis(operator)
    require_types(operator, output, "output", ("int32", "int64"))
    if output.shape != (*data.shape[:axis], *data.shape[axis + 1 :]):
        raise operator.unsupported(
            f"shapes {list(data.shape)} -> {list(output.shape)} do not go with axis {axis}"
        )
    return axis


def _axis(operator: TfliteOperator) -> int:
    """Return the only axis, as a non-negative index.

    Raises
    ------
    UnsupportedModelError
        the axis is computed, or not one of the input's, or the input is empty.
    """
    data = operator.input(0)
    axes = [int(axis) for axis in operator.integers(1).reshape(-1)]
    rank = len(data.shape)
    if len(axes) != 1 or not -rank <= axes[0] < rank or math.prod(data.shape) == 0:
        raise operator.unsupported(f"axes {axes} of an input of shape {list(data.shape)}")
    return axes[0] % rank


def _axes(operator: TfliteOperator) -> list[int]:
    """Return the axes to reduce, as ascending non-negative indices.

    Raises
    ------
    UnsupportedModelError
        an axis is computed, or not one of the input's, or the output has another shape than the
        reduced one.
    """
    data, output = operator.input(0), operator.output
    rank = len(data.shape)
    listed = [int(axis) for axis in operator.integers(1).reshape(-1)]
    if not all(-rank <= axis < rank for axis in listed):
        raise operator.unsupported(f"axes {listed} of an input of {rank} axes")
    axes = sorted({axis % rank for axis in listed})
    options = operator.options(tflite.ReducerOptions)
    extents = [
        1 if axis in axes else extent
        for axis, extent in enumerate(data.shape)
        if options.KeepDims() or axis not in axes
    ]
    if math.prod(data.shape) == 0 or list(output.shape) != extents:
        raise operator.unsupported(
            f"shapes {list(data.shape)} -> {list(output.shape)} do not go with axes {listed}"
        )
    return axes
