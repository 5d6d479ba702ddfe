"""BATCH_MATMUL, and FULLY_CONNECTED on float32."""

from __future__ import annotations

import numpy as np
import tflite
from tvm import relax

from usmp.frontend.tflite.context import Context, converts, reshaped
from usmp.frontend.tflite.fused_activations import activated
from usmp.frontend.tflite.model import TfliteOperator
from usmp.frontend.tflite.options import dense_shape, require_shape, require_types
from usmp.ops import quantized


@converts("BATCH_MATMUL")
def convert_batch_matmul(context: Context, operator: TfliteOperator) -> None:
    """Either matrix may be transposed, and either may be computed."""
    left, right, output = operator.input(0), operator.input(1), operator.output
    transposed = _check(operator, ("int8", "int16"))
    first, second, after = (operator.quantization(t) for t in (left, right, output))
    values = (context.value(left), context.value(right))
    context.set(
        output,
        quantized.batch_matmul(context.builder, *values, (first, second, after), transposed),
    )


@converts("BATCH_MATMUL", quantized=False)
def convert_float_batch_matmul(context: Context, operator: TfliteOperator) -> None:
    """Either matrix may be transposed, and either may be computed."""
    factors = []
    for index, is_transposed in enumerate(_check(operator, ("float32",))):
        value, rank = context.value(operator.input(index)), len(operator.input(index).shape)
        if is_transposed:
            order = [*range(rank - 2), rank - 1, rank - 2]
            value = context.builder.emit(relax.op.permute_dims(value, order))
        factors.append(value)
    context.set(operator.output, relax.op.matmul(*factors))


@converts("FULLY_CONNECTED", quantized=False)
def convert_float_fully_connected(context: Context, operator: TfliteOperator) -> None:
    """The weight is (outputs, depth); the data is taken as rows of that depth."""
    options = operator.options(tflite.FullyConnectedOptions)
    data, weight, output = operator.input(0), operator.input(1), operator.output
    for tensor, what in ((data, "input"), (weight, "weight"), (output, "output")):
        require_types(operator, tensor, what, ("float32",))
    rows, depth, outputs = dense_shape(operator)
    if rows == 0:
        # TVM has no product of no rows.
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


def _check(operator: TfliteOperator, types: tuple[str, ...]) -> tuple[bool, bool]:
    """Which of the two matrices are transposed.

    Raises
    ------
    UnsupportedModelError
        they, or the output, are of other types, or do not go together.
    """
    left = operator.input(0)
    require_types(operator, left, "input", types)
    require_types(operator, operator.input(1), "input", (left.dtype,))
    require_types(operator, operator.output, "output", (left.dtype,))
    return transposed_matrices(operator)


def transposed_matrices(operator: TfliteOperator) -> tuple[bool, bool]:
    """Which of the two matrices are transposed.

    Raises
    ------
    UnsupportedModelError
        they, or the output, do not go together.
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
    """The shape of the product; None if there is none."""
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
