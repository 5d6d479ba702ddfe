"""BATCH_MATMUL, and FULLY_CONNECTED on float32."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import tflite
from tvm import relax

from usmp.frontend.tflite.context import Context, converts, reshaped
from usmp.frontend.tflite.file.model import TfliteOperator
from usmp.frontend.tflite.fused_activations import activated
from usmp.frontend.tflite.options import (
    dense_shape,
    require_shape,
    require_symmetric_int16,
    require_types,
)
from usmp.ops import quantized
from usmp.ops.quantized import Rescale, Rounding, quantize_multiplier

_RIGHT_TYPES = {"int8": ("int8",), "int16": ("int16", "int8")}
"""Type of the left matrix -> types of the right one."""


@converts("BATCH_MATMUL")
def convert_batch_matmul(context: Context, operator: TfliteOperator) -> None:
    """Append a BATCH_MATMUL of integers; either matrix may be transposed or computed."""
    left, right, output = operator.input(0), operator.input(1), operator.output
    transposed = _check(operator, _RIGHT_TYPES)
    if right.quantization is not None and not right.quantization.is_per_tensor:
        _multiply_by_weight(context, operator, transposed)
        return
    first, second, after = (operator.quantization(t) for t in (left, right, output))
    values = (context.value(left), context.value(right))
    # Only LiteRT has a kernel for two different types. It multiplies scales in single precision.
    product_scale = None
    if right.dtype != left.dtype:
        product_scale = float(np.float32(first.scale) * np.float32(second.scale))
    product = quantized.batch_matmul(
        context.builder,
        *values,
        (first, second, after),
        transposed,
        product_scale=product_scale,
    )
    context.set(output, product)


def _multiply_by_weight(
    context: Context, operator: TfliteOperator, transposed: tuple[bool, bool]
) -> None:
    """Append a FULLY_CONNECTED, for a right matrix with a scale for each of its columns.

    Raises
    ------
    UnsupportedModelError
        the scales are along another axis, or FULLY_CONNECTED does not support a matrix.
    """
    left, right, output = operator.input(0), operator.input(1), operator.output
    columns = len(right.shape) - (2 if transposed[1] else 1)
    scales = operator.weight_quantization(right, columns)
    if scales.axis != columns or right.data is None or transposed[0] or len(right.shape) != 2:
        raise operator.unsupported(
            f'input "{right.name}" of shape {list(right.shape)} has {len(scales.scales)} scales '
            f"along axis {scales.axis}; supported: one scale, or one for each column of a single "
            "constant matrix, by which a matrix that is not transposed is multiplied"
        )
    first, after = operator.quantization(left), operator.quantization(output)
    require_symmetric_int16(operator, (left, output))
    factors = [quantize_multiplier(first.scale * s / after.scale) for s in scales.scales]
    rounding = Rounding.ONCE_16_BITS if left.dtype == "int16" else Rounding.TWICE
    depth = left.shape[-1]
    product = quantized.fully_connected(
        context.builder,
        reshaped(context, context.value(left), (math.prod(left.shape) // depth, depth)),
        right.data if transposed[1] else np.ascontiguousarray(right.data.T),
        None,
        first,
        scales,
        Rescale(tuple(factors), after, after.limits(), rounding),
    )
    context.set(output, reshaped(context, context.builder.emit(product), output.shape))


@converts("BATCH_MATMUL", quantized=False)
def convert_float_batch_matmul(context: Context, operator: TfliteOperator) -> None:
    """Append a BATCH_MATMUL of float32; either matrix may be transposed or computed."""
    factors = []
    for index, is_transposed in enumerate(_check(operator, {"float32": ("float32",)})):
        value, rank = context.value(operator.input(index)), len(operator.input(index).shape)
        if is_transposed:
            order = [*range(rank - 2), rank - 1, rank - 2]
            value = context.builder.emit(relax.op.permute_dims(value, order))
        factors.append(value)
    context.set(operator.output, relax.op.matmul(*factors))


@converts("FULLY_CONNECTED", quantized=False)
def convert_float_fully_connected(context: Context, operator: TfliteOperator) -> None:
    """Append a FULLY_CONNECTED of rows of `depth` elements; its weight is (outputs, depth)."""
    options = operator.options(tflite.FullyConnectedOptions)
    data, weight, output = operator.input(0), operator.input(1), operator.output
    for tensor, label in ((data, "input"), (weight, "weight"), (output, "output")):
        require_types(operator, tensor, label, ("float32",))
    rows, depth, outputs = dense_shape(operator)
    if rows == 0:
        # TVM cannot multiply matrices without rows.
        context.set(output, relax.op.zeros(output.shape, output.dtype))
        return
    value = context.value(data)
    if (*data.shape[:-1], outputs) != output.shape or data.shape[-1:] != (depth,):
        value = reshaped(context, value, (rows, depth))
    transposed = relax.op.permute_dims(context.value(weight), [1, 0])
    result = context.builder.emit(relax.op.matmul(value, transposed))
    bias = operator.optional_input(2)
    if bias is not None:
        require_types(operator, bias, "bias", ("float32",))
        require_shape(operator, bias, "bias", (outputs,))
        result = context.builder.emit(relax.op.add(result, context.value(bias)))
    result = activated(result, options.FusedActivationFunction())
    context.set(output, reshaped(context, context.builder.normalize(result), output.shape))


def _check(
    operator: TfliteOperator, right_types: Mapping[str, tuple[str, ...]]
) -> tuple[bool, bool]:
    """Check types and shapes, and return which of the two matrices are transposed.

    Raises
    ------
    UnsupportedModelError
        the matrices or the output have other types, or their shapes do not go together.
    """
    left = operator.input(0)
    require_types(operator, left, "input", tuple(right_types))
    require_types(operator, operator.input(1), "input", right_types[left.dtype])
    require_types(operator, operator.output, "output", (left.dtype,))
    return transposed_matrices(operator)


def transposed_matrices(operator: TfliteOperator) -> tuple[bool, bool]:
    """Check the shapes, and return which of the two matrices are transposed.

    Raises
    ------
    UnsupportedModelError
        the shapes of the matrices and the output do not go together.
    """
    options = operator.options(tflite.BatchMatMulOptions)
    left, right, output = operator.input(0), operator.input(1), operator.output
    transposed = (bool(options.AdjX()), bool(options.AdjY()))
    if output.shape != _shape(operator, transposed):
        raise operator.unsupported(
            f"matrices of shapes {list(left.shape)} and {list(right.shape)}, transposed: "
            f'{list(transposed)}, do not give output "{output.name}" of shape '
            f"{list(output.shape)}"
        )
    return transposed


def _shape(operator: TfliteOperator, transposed: tuple[bool, bool]) -> tuple[int, ...] | None:
    """Return the shape of the product, or None if the matrices cannot be multiplied."""
    left, right = operator.input(0).shape, operator.input(1).shape
    if min(len(left), len(right)) < 2:
        return None
    rows, depth = left[-2:][::-1] if transposed[0] else left[-2:]
    other, columns = right[-2:][::-1] if transposed[1] else right[-2:]
    try:
        batches = np.broadcast_shapes(left[:-2], right[:-2])
    except ValueError:
        return None
    return (*batches, rows, columns) if depth == other else None
