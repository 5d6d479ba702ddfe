"""BATCH_MATMUL."""

from __future__ import annotations

import numpy as np
import tflite
from tvm import relax

from usmp.frontend.tflite.context import Context, converts
from usmp.frontend.tflite.model import TfliteOperator
from usmp.frontend.tflite.options import require_types
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
