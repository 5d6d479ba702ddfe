"""Operators that fill, repeat, cast or replace elements, or return shapes."""

from __future__ import annotations

import math

import numpy as np
import tflite
from tvm import relax, tirx

from usmp.frontend.tflite.context import Context, converts, reshaped
from usmp.frontend.tflite.file.model import TfliteOperator
from usmp.frontend.tflite.options import (
    positive_axis,
    require_inputs,
    require_rank,
    require_shape,
    require_shape_operand,
    require_types,
    stored_quantization,
)
from usmp.ops import quantized
from usmp.ops.emit import constant

_NUMBERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "float32", "bool")


@converts("SHAPE", moves=True)
def convert_shape(context: Context, operator: TfliteOperator) -> None:
    """Set the output to the input's extents, which are known."""
    output = operator.output
    require_types(operator, output, "output", ("int32", "int64"))
    shape = np.array(operator.input(0).shape, output.dtype)
    context.set_known(operator, shape)


@converts("RANK", moves=True)
def convert_rank(context: Context, operator: TfliteOperator) -> None:
    """Set the output to the input's number of axes, which is known."""
    rank = np.array(len(operator.input(0).shape), np.int32)
    context.set_known(operator, rank)


@converts("ZEROS_LIKE", moves=True)
def convert_zeros_like(context: Context, operator: TfliteOperator) -> None:
    """Append zeros in the stored type, whatever the zero point."""
    data = operator.input(0)
    require_types(operator, data, "input", _NUMBERS)
    context.set_moved(operator, constant(np.zeros(data.shape, data.dtype)))


@converts("RANGE", moves=True)
def convert_range(context: Context, operator: TfliteOperator) -> None:
    """Set the output to a range. Inputs, which must be known: first number, limit, step."""
    output = operator.output
    require_types(operator, output, "output", ("int32", "int64", "float32"))
    for index in (0, 1, 2):
        require_types(operator, operator.input(index), "input", (output.dtype,))
        require_rank(operator, operator.input(index), "input", (0,))
    start, limit, step = (operator.constant(index)[()] for index in (0, 1, 2))
    is_finite = bool(np.isfinite([start, limit, step]).all())
    if not is_finite or step == 0 or (start != limit and (start < limit) != (step > 0)):
        raise operator.unsupported(f"numbers from {start} to {limit} in steps of {step}")
    if output.dtype == "float32":
        # Divide in float32, as the kernel does.
        count = max(0, math.ceil(np.float32(np.float32(limit - start) / step)))
    else:
        count = max(0, -((int(start) - int(limit)) // int(step)))
    output.take_shape((count,))
    require_shape(operator, output, "output", (count,))
    context.builder.limits.check_tensor("its result", (count,), np.dtype(output.dtype).itemsize)
    numbers = np.full(count, step, output.dtype)
    numbers[:1] = start
    # Add one step at a time in the output's type, to round as the kernel does.
    context.set_known(operator, np.add.accumulate(numbers, dtype=output.dtype))


@converts("FILL", moves=True)
def convert_fill(context: Context, operator: TfliteOperator) -> None:
    """Append a FILL. Inputs: the shape of the output, the value of each element."""
    shape = operator.output.shape
    _check_shape_operand(operator, 0)
    value = operator.input(1)
    if value.shape not in ((), (1,)):
        raise operator.unsupported(f"a value of shape {list(value.shape)}, not one number")
    single = reshaped(context, context.value(value), (1,) * len(shape))
    context.set_moved(operator, relax.op.broadcast_to(single, shape) if shape else single)


@converts("BROADCAST_TO", moves=True)
def convert_broadcast_to(context: Context, operator: TfliteOperator) -> None:
    """Append a BROADCAST_TO. Inputs: data, the shape of the output."""
    data, shape = operator.input(0), operator.output.shape
    _check_shape_operand(operator, 1)
    try:
        fits = np.broadcast_shapes(data.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise operator.unsupported(
            f"data of shape {list(data.shape)} cannot be repeated to shape {list(shape)}"
        )
    context.set_moved(operator, relax.op.broadcast_to(context.value(data), shape))


@converts("TILE", moves=True)
def convert_tile(context: Context, operator: TfliteOperator) -> None:
    """Append a TILE. Inputs: data, the number of repetitions on each axis."""
    data, repeats = operator.input(0), operator.integers(1).reshape(-1)
    if len(repeats) != len(data.shape) or (len(repeats) and repeats.min() < 0):
        raise operator.unsupported(
            f"data of shape {list(data.shape)} repeated {repeats.tolist()} times"
        )
    tiled = relax.op.tile(context.value(data), [int(count) for count in repeats])
    context.set_moved(operator, tiled)


@converts("BROADCAST_ARGS", moves=True)
def convert_broadcast_args(context: Context, operator: TfliteOperator) -> None:
    """Append the shape to which data of two shapes is broadcast."""
    rank = operator.output.shape[0] if operator.output.shape else 0
    sides = []
    for index in (0, 1):
        shape = operator.input(index)
        require_types(operator, shape, "input", ("int32", "int64"))
        require_rank(operator, shape, "input", (1,))
        value = context.value(shape)
        if shape.shape[0] < rank:
            ones = constant(np.ones(rank - shape.shape[0], shape.dtype))
            value = context.builder.emit(relax.op.concat([ones, value], 0))
        sides.append(value)
    one = relax.const(1, operator.input(0).dtype)
    is_one = context.builder.emit(relax.op.equal(sides[0], one))
    context.set_moved(operator, relax.op.where(is_one, sides[1], sides[0]))


@converts("ONE_HOT", quantized=False)
def convert_one_hot(context: Context, operator: TfliteOperator) -> None:
    """Append a ONE_HOT. Inputs: indices, depth, the element at the index, the other elements."""
    require_inputs(operator, 4, 4)
    indices, on, off = (operator.input(index) for index in (0, 2, 3))
    require_types(operator, on, "input", ("float32", "int32", "int64", "bool"))
    require_types(operator, off, "input", (on.dtype,))
    require_types(operator, indices, "indices", ("int32", "int64"))
    depth, *elements = (operator.constant(index) for index in (1, 2, 3))
    if any(element.size != 1 for element in (depth, *elements)) or operator.integers(1).item() < 1:
        raise operator.unsupported(
            f"a depth of {depth.tolist()} and elements {elements[0].tolist()} and "
            f"{elements[1].tolist()}; the depth must be at least 1, and each be one number"
        )
    axis = operator.options(tflite.OneHotOptions).Axis()
    if axis < -1:
        raise operator.unsupported(f"axis {axis}; of negative axes, TFLite has only -1")
    positive_axis(operator, axis, len(indices.shape) + 1)
    make = tirx.FloatImm if on.dtype == "float32" else tirx.IntImm
    values = (relax.prim_value(make(on.dtype, element.item())) for element in elements)
    result = relax.op.one_hot(context.value(indices), *values, depth.item(), axis)
    context.set_moved(operator, result)


@converts("CAST", moves=True)
def convert_cast(context: Context, operator: TfliteOperator) -> None:
    """Append the numbers in another type, as C converts them; float16 saturates at integers."""
    data, output = operator.input(0), operator.output
    require_types(operator, data, "input", (*_NUMBERS, "float16"))
    require_types(operator, output, "output", (*_NUMBERS, "float16"))
    value = context.value(data)
    if data.dtype == output.dtype:
        cast = value
    elif data.dtype == "float16" and output.dtype not in ("float32", "bool"):
        cast = _saturated(context, value, output.dtype)
    elif output.dtype == "bool":
        cast = relax.op.not_equal(value, relax.const(0, data.dtype))
    else:
        cast = relax.op.astype(value, output.dtype)
    context.set_moved(operator, cast)


def _saturated(context: Context, value: relax.Expr, dtype: str) -> relax.Expr:
    """Return float16 truncated to integers in the range of `dtype`; NaN becomes the largest one."""
    emit, limits = context.builder.emit, np.iinfo(dtype)
    real = emit(relax.op.astype(value, "float32"))
    infinity = relax.const(np.inf, "float32")
    real = emit(relax.op.where(emit(relax.op.less(real, infinity)), real, infinity))
    if limits.bits < 32:
        real = emit(relax.op.clip(real, int(limits.min), int(limits.max)))
    elif limits.min == 0:
        real = emit(relax.op.maximum(real, relax.const(0, "float32")))
    return relax.op.astype(real, dtype)


@converts("DYNAMIC_UPDATE_SLICE", moves=True)
def convert_dynamic_update_slice(context: Context, operator: TfliteOperator) -> None:
    """Append a DYNAMIC_UPDATE_SLICE. Inputs: data, the part to replace, its begin on each axis."""
    data, update, begins = (operator.input(index) for index in (0, 1, 2))
    require_types(operator, update, "update", (data.dtype,))
    require_types(operator, begins, "begin", ("int32", "int64"))
    require_rank(operator, begins, "begin", (1,))
    fits = len(data.shape) == len(update.shape) == begins.shape[0]
    if not fits or any(u > d for u, d in zip(update.shape, data.shape, strict=True)):
        raise operator.unsupported(
            f"an update of shape {list(update.shape)} at a begin of shape {list(begins.shape)}, "
            f"in data of shape {list(data.shape)}"
        )
    if update.shape == data.shape:
        context.set_moved(operator, context.value(update))
        return
    replaced = quantized.update_slice(
        context.builder,
        context.value(data),
        context.value(update),
        context.value(begins),
        stored_quantization(data),
    )
    context.set_moved(operator, replaced)


def _check_shape_operand(operator: TfliteOperator, index: int) -> None:
    require_types(operator, operator.input(index), "shape", ("int32", "int64"))
    require_shape_operand(operator, index)
