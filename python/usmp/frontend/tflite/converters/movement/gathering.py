"""GATHER, GATHER_ND and EMBEDDING_LOOKUP: slices of a tensor that another tensor selects."""

from __future__ import annotations

import math

import numpy as np
import tflite
from tvm import relax
from tvm.ir import Var

from usmp.frontend.tflite.context import (
    Context,
    converts,
    converts_stored_weight,
    dequantized,
    reshaped,
)
from usmp.frontend.tflite.converters.movement.slicing import part_along
from usmp.frontend.tflite.file.model import TfliteOperator, TfliteTensor
from usmp.frontend.tflite.options import (
    positive_axis,
    require_inside,
    require_rank,
    require_types,
    stored_quantization,
)
from usmp.ops import quantized
from usmp.ops.emit import constant

_INDEX_TYPES = ("int32", "int64", "int16")


@converts("GATHER", moves=True)
def convert_gather(context: Context, operator: TfliteOperator) -> None:
    """Append a GATHER. Inputs: data, indices along one of its axes."""
    context.set_moved(operator, _gathered(context, operator, operator.input(0)))


@converts_stored_weight("GATHER")
def convert_gather_of_stored(context: Context, operator: TfliteOperator) -> None:
    """Append a GATHER from constants before DEQUANTIZE: only its result becomes float32."""
    stored = context.stored[operator.input(0).index]
    value = _gathered(context, operator, stored)
    bound = value if isinstance(value, Var) else context.builder.emit(value)
    context.set_moved(operator, dequantized(context.builder, bound, stored.quantization))


def _gathered(context: Context, operator: TfliteOperator, data: TfliteTensor) -> relax.Expr:
    options, indices = operator.options(tflite.GatherOptions), operator.input(1)
    require_types(operator, indices, "indices", _INDEX_TYPES)
    rank = len(data.shape)
    axis = positive_axis(operator, options.Axis(), rank)
    batch_axes = options.BatchDims() + (len(indices.shape) if options.BatchDims() < 0 else 0)
    if not 0 <= batch_axes <= min(axis, len(indices.shape)) or (
        data.shape[:batch_axes] != indices.shape[:batch_axes]
    ):
        raise operator.unsupported(
            f"{batch_axes} batch axes, of data of shape {list(data.shape)} along axis {axis} and "
            f"indices of shape {list(indices.shape)}"
        )
    require_inside(operator, indices, data.shape, [axis])
    known = indices.data
    if known is not None and _is_run(known) and (batch_axes == 0 or known.size == 1):
        return _run(context, data, axis, int(known.flat[0]), indices.shape[batch_axes:])
    return quantized.gather(
        context.builder,
        context.value(data),
        _index_value(context, indices),
        axis,
        batch_axes,
        stored_quantization(data),
    )


@converts("GATHER_ND", moves=True)
def convert_gather_nd(context: Context, operator: TfliteOperator) -> None:
    """Append a GATHER_ND. Inputs: data, positions. The last axis of the positions has an index for
    each of the first axes of the data."""
    data, indices = operator.input(0), operator.input(1)
    require_types(operator, indices, "indices", _INDEX_TYPES)
    if not indices.shape or not 1 <= indices.shape[-1] <= len(data.shape):
        raise operator.unsupported(
            f"indices of shape {list(indices.shape)} for data of shape {list(data.shape)}"
        )
    require_inside(operator, indices, data.shape, range(indices.shape[-1]))
    gathered = quantized.gather_nd(
        context.builder,
        context.value(data),
        _index_value(context, indices),
        stored_quantization(data),
    )
    context.set_moved(operator, gathered)


@converts("EMBEDDING_LOOKUP", moves=True)
def convert_embedding_lookup(context: Context, operator: TfliteOperator) -> None:
    """Append an EMBEDDING_LOOKUP. Inputs: indices, rows; rows of integers may become float32."""
    indices, data, output = operator.input(0), operator.input(1), operator.output
    require_types(operator, indices, "indices", ("int32",))
    require_rank(operator, indices, "indices", (1,))
    if not data.shape:
        raise operator.unsupported("the rows are one number")
    require_inside(operator, indices, data.shape, [0])
    rows = quantized.gather(
        context.builder,
        context.value(data),
        _index_value(context, indices),
        0,
        0,
        stored_quantization(data),
    )
    if data.dtype in ("int8", "int4") and output.dtype == "float32":
        real = relax.op.astype(context.builder.emit(rows), "float32")
        scales = _scales_of_rows(context, operator)
        rows = relax.op.multiply(context.builder.emit(real), scales)
    context.set_moved(operator, rows)


def _scales_of_rows(context: Context, operator: TfliteOperator) -> relax.Expr:
    """Return the scale of all rows of an EMBEDDING_LOOKUP, or the scale of each row that is read.

    Raises
    ------
    UnsupportedModelError
        there is no scale, or it is along another axis, or the rows have a zero point.
    """
    indices, data = operator.input(0), operator.input(1)
    quantization = operator.weight_quantization(data, 0)
    if any(quantization.zero_points):
        raise operator.unsupported(f"rows with zero point {quantization.zero_points[0]}, not 0")
    if quantization.is_per_tensor:
        return relax.const(quantization.scale, "float32")
    if quantization.axis != 0:
        raise operator.unsupported(
            f'rows "{data.name}" have scales along axis {quantization.axis}; supported: 0'
        )
    scales = np.array(quantization.scales, np.float32)
    places = _index_value(context, indices)
    by_row = context.builder.emit(quantized.gather(context.builder, constant(scales), places, 0, 0))
    shape = (*indices.shape, *(1 for _ in data.shape[1:]))
    return reshaped(context, by_row, shape)


def _index_value(context: Context, indices: TfliteTensor) -> relax.Expr | np.ndarray:
    """Return the indices; known ones, which fit 32 bits, as int32."""
    if indices.data is not None:
        return indices.data.astype(np.int32)
    return context.value(indices)


def _is_run(indices: np.ndarray) -> bool:
    """Return whether each index is greater by one than the index before."""
    flat = indices.reshape(-1).astype(np.int64)
    return bool(flat.size) and bool((np.diff(flat) == 1).all())


def _run(
    context: Context, data: TfliteTensor, axis: int, first: int, shape: tuple[int, ...]
) -> relax.Expr:
    """Return the slice that consecutive indices of `shape` select, which may need no copy."""
    value = context.value(data)
    rows = part_along(value, axis, first, first + math.prod(shape))
    rows = rows if rows is value else context.builder.emit(rows)
    whole = (*data.shape[:axis], *shape, *data.shape[axis + 1 :])
    return reshaped(context, rows, whole)
