"""SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND."""

from __future__ import annotations

from math import prod

import numpy as np

from usmp.frontend.tflite.context import Context, converts
from usmp.frontend.tflite.file.model import TfliteOperator
from usmp.frontend.tflite.options import stored_quantization
from usmp.ops import quantized


@converts("SPACE_TO_BATCH_ND", moves=True)
def convert_space_to_batch(context: Context, operator: TfliteOperator) -> None:
    """Append a SPACE_TO_BATCH_ND. Inputs: data, extents of a block, paddings of each axis."""
    data, output = operator.input(0), operator.output
    block, paddings = _block_and_amounts(operator)
    for axis, (size, amounts) in enumerate(zip(block, paddings, strict=True), start=1):
        extent = data.shape[axis] + sum(amounts)
        if extent % size:
            raise operator.unsupported(
                f"axis {axis} has {extent} elements with padding, no multiple of the block's {size}"
            )
        if axis < len(output.shape) and output.shape[axis] != extent // size:
            raise operator.unsupported(
                f'output "{output.name}" has shape {list(output.shape)}; '
                f"axis {axis} should have {extent // size} elements"
            )
    value = 0 if output.quantization is None else operator.quantization(output).zero_point
    stored = stored_quantization(data)
    moved = quantized.space_to_batch(
        context.builder, context.value(data), block, paddings, value, stored
    )
    context.set_moved(operator, moved)


@converts("BATCH_TO_SPACE_ND", moves=True)
def convert_batch_to_space(context: Context, operator: TfliteOperator) -> None:
    """Append a BATCH_TO_SPACE_ND. Inputs: data, extents of a block, elements to crop."""
    data = operator.input(0)
    block, crops = _block_and_amounts(operator)
    if data.shape[0] % prod(block):
        raise operator.unsupported(
            f"a batch of {data.shape[0]} is no multiple of blocks of {prod(block)} elements"
        )
    for axis, (size, amounts) in enumerate(zip(block, crops, strict=True), start=1):
        if data.shape[axis] * size < sum(amounts):
            raise operator.unsupported(
                f"axis {axis} has {data.shape[axis] * size} elements, fewer than {sum(amounts)} "
                "to crop"
            )
    context.set_moved(
        operator,
        quantized.batch_to_space(
            context.builder, context.value(data), block, crops, stored_quantization(data)
        ),
    )


def _block_and_amounts(operator: TfliteOperator) -> tuple[list[int], list[tuple[int, int]]]:
    """Return the extents of a block, and the paddings or crops before and after on its axes."""
    data = operator.input(0)
    block: np.ndarray = operator.integers(1).reshape(-1)
    amounts = operator.integers(2)
    axes = len(block)
    if axes == 0 or axes >= len(data.shape) or amounts.shape != (axes, 2):
        raise operator.unsupported(
            f"blocks of {axes} axes with amounts of shape {list(amounts.shape)}, of data of shape "
            f"{list(data.shape)}"
        )
    if block.min() < 1 or amounts.min() < 0:
        raise operator.unsupported(
            f"blocks of {block.tolist()} elements with amounts of {amounts.tolist()}"
        )
    return [int(size) for size in block], [(int(a), int(b)) for a, b in amounts]
