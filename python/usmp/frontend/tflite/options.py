"""Checks and options that the converters of several TFLite operators share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

import numpy as np
import tflite

from usmp.frontend.tflite.file.model import TfliteOperator, TfliteTensor
from usmp.ops.quantized import OutputLimits, Quantization, activation_limits
from usmp.ops.real.indices import outside
from usmp.ops.window import Window
from usmp.support.errors import UnsupportedModelError

_ACTIVATIONS: dict[int, str] = {
    number: name for name, number in vars(tflite.ActivationFunctionType).items() if name.isupper()
}
_LONGEST_REACH = 2**15 - 1
"""Most elements that a kernel or stride spans: the reference kernels keep paddings in 16 bits."""


def fused_activation(activation: int) -> str:
    """Return the schema's name of a fused activation, or its number if the schema has none."""
    return _ACTIVATIONS.get(activation, str(activation))


def positive_axis(operator: TfliteOperator, axis: int, rank: int) -> int:
    """Return the axis counted from the front; a negative one counts from the end.

    Raises
    ------
    UnsupportedModelError
        there is no such axis.
    """
    if not -rank <= axis < rank:
        raise operator.unsupported(f"axis {axis} of a tensor of {rank} axes")
    return axis + rank if axis < 0 else axis


def fused_limits(activation: int, output: Quantization) -> OutputLimits:
    """Return the limits of the values that an operator may write, given its fused activation.

    Raises
    ------
    UnsupportedModelError
        the activation is not supported.
    """
    return activation_limits(fused_activation(activation), output)


def require_tensors(operator: TfliteOperator, inputs: int, outputs: int) -> None:
    """Check the numbers of inputs and outputs, and that no tensor is empty.

    Raises
    ------
    UnsupportedModelError
        there are more or fewer inputs or outputs, or an empty tensor.
    """
    counts = len(operator.inputs), len(operator.outputs)
    if counts != (inputs, outputs):
        raise operator.unsupported(
            f"it has {counts[0]} inputs and {counts[1]} outputs, not {inputs} and {outputs}"
        )
    for tensor in (*operator.inputs, *operator.outputs):
        if tensor is not None and 0 in tensor.shape:
            raise operator.unsupported(f'"{tensor.name}" of shape {list(tensor.shape)} is empty')


def require_inputs(operator: TfliteOperator, fewest: int, most: int) -> None:
    """Check that an operator has `fewest` to `most` inputs.

    Raises
    ------
    UnsupportedModelError
        the operator has more, or fewer.
    """
    if not fewest <= len(operator.inputs) <= most:
        needed = str(most) if fewest == most else f"{fewest} to {most}"
        raise operator.unsupported(f"its inputs are {len(operator.inputs)} instead of {needed}")


def require_types(
    operator: TfliteOperator, tensor: TfliteTensor, what: str, supported: tuple[str, ...]
) -> None:
    """Check that the tensor's element type is supported.

    Raises
    ------
    UnsupportedModelError
        the element type is not one of `supported`.
    """
    if tensor.dtype not in supported:
        raise operator.unsupported(
            f'{what} "{tensor.name}" is of type {tensor.dtype}; supported: {", ".join(supported)}'
        )


def require_rank(
    operator: TfliteOperator, tensor: TfliteTensor, what: str, ranks: tuple[int, ...]
) -> None:
    """Check that the tensor has one of these numbers of axes.

    Raises
    ------
    UnsupportedModelError
        the tensor has another number of axes.
    """
    if len(tensor.shape) not in ranks:
        raise operator.unsupported(
            f'{what} "{tensor.name}" has shape {list(tensor.shape)}; '
            f"supported: {' or '.join(str(rank) for rank in ranks)} axes"
        )


def require_shape(
    operator: TfliteOperator, tensor: TfliteTensor, what: str, expected: tuple[int, ...]
) -> None:
    """Check that the tensor has these extents.

    Raises
    ------
    UnsupportedModelError
        the tensor has other extents.
    """
    if tensor.shape != expected:
        raise operator.unsupported(
            f'{what} "{tensor.name}" has shape {list(tensor.shape)}; it should be {list(expected)}'
        )


def require_inside(
    operator: TfliteOperator, indices: TfliteTensor, shape: Sequence[int], axes: Sequence[int]
) -> None:
    """Check that constant indices lie inside their axes; TFLite has no negative indices.

    Parameters
    ----------
    shape
        the extents of the tensor that is read or written.
    axes
        the indexed axes; if there are several, the last axis of `indices` has one entry for each.

    Raises
    ------
    UnsupportedModelError
        an index lies outside.
    """
    if indices.data is None:
        return
    reason = outside(indices.data, [shape[axis] for axis in axes], axes, from_end=False)
    if reason is not None:
        raise operator.unsupported(reason)


def require_shape_operand(operator: TfliteOperator, index: int) -> None:
    """Check that the input for the output's shape, if it is constant, agrees with that shape.

    Raises
    ------
    UnsupportedModelError
        the input names another shape.
    """
    requested, output = operator.input(index).data, operator.output
    if requested is not None and tuple(requested.reshape(-1).tolist()) != output.shape:
        raise operator.unsupported(
            f"the shape is given as {requested.reshape(-1).tolist()}; "
            f'output "{output.name}" has {list(output.shape)}'
        )


def require_same_shape(operator: TfliteOperator, data: TfliteTensor, output: TfliteTensor) -> None:
    """Check that both tensors have the same extents.

    Raises
    ------
    UnsupportedModelError
        their extents differ.
    """
    if data.shape != output.shape:
        raise operator.unsupported(
            f'input "{data.name}" has shape {list(data.shape)} and output "{output.name}" has '
            f"shape {list(output.shape)}; they must be the same"
        )


def require_broadcast(operator: TfliteOperator, left: TfliteTensor, right: TfliteTensor) -> None:
    """Check that two inputs can be broadcast to one shape.

    Raises
    ------
    UnsupportedModelError
        the inputs cannot be broadcast.
    """
    try:
        np.broadcast_shapes(left.shape, right.shape)
    except ValueError as error:
        raise operator.unsupported(
            f"inputs of shapes {list(left.shape)} and {list(right.shape)} do not go together"
        ) from error


def dense_shape(operator: TfliteOperator) -> tuple[int, int, int]:
    """Return the numbers of a FULLY_CONNECTED's rows, data elements per row, and outputs per row.

    The kernels read the data as rows of the weight's depth, whatever its axes are, and write the
    output as rows of its last axis, with or without `keep_num_dims`.

    Raises
    ------
    UnsupportedModelError
        the shapes of data, weight (outputs, depth) and output disagree, or the weight is shuffled.
    """
    data, weight, output = operator.input(0), operator.input(1), operator.output
    require_rank(operator, weight, "weight", (2,))
    if operator.options(tflite.FullyConnectedOptions).WeightsFormat() != 0:
        raise operator.unsupported("shuffled weights are not supported")
    outputs, depth = weight.shape
    size = prod(data.shape)
    fits = depth > 0 and size % depth == 0 and output.shape[-1:] == (outputs,)
    if not fits or prod(output.shape) != size // depth * outputs:
        raise operator.unsupported(
            f"shapes {list(data.shape)} -> {list(output.shape)} do not go with a weight of shape "
            f"{list(weight.shape)}"
        )
    return size // depth, depth, outputs


def stored_quantization(tensor: TfliteTensor) -> Quantization | None:
    """Return the tensor's quantization, or None if it is missing or incomplete: operators that only
    move elements need none."""
    try:
        return tensor.quantization
    except UnsupportedModelError:
        return None


def require_same_quantization(
    operator: TfliteOperator, one: TfliteTensor, other: TfliteTensor
) -> None:
    """Check that both tensors have the same scale and zero point, or both have none.

    Raises
    ------
    UnsupportedModelError
        the scales or zero points differ.
    """
    if one.quantization is None and other.quantization is None:
        return
    first, second = operator.quantization(one), operator.quantization(other)
    if (first.scale, first.zero_point) != (second.scale, second.zero_point):
        raise operator.unsupported(
            f'"{one.name}" and "{other.name}" must have the same scale and zero point, not '
            f"{first.scale} and {first.zero_point}, {second.scale} and {second.zero_point}"
        )


def require_symmetric_int16(operator: TfliteOperator, tensors: Iterable[TfliteTensor]) -> None:
    """Check that int16 tensors have zero point 0, because the reference kernels ignore it.

    Raises
    ------
    UnsupportedModelError
        an int16 tensor has another zero point.
    """
    for tensor in tensors:
        if tensor.dtype == "int16" and operator.quantization(tensor).zero_point != 0:
            raise operator.unsupported(
                f'"{tensor.name}" is of type int16 and has zero point '
                f"{operator.quantization(tensor).zero_point}; required: 0"
            )


def require_divisor(operator: TfliteOperator) -> None:
    """Check that a constant integer divisor (the second input) has no 0, on which kernels fail.

    Raises
    ------
    UnsupportedModelError
        the constant divisor has a 0.
    """
    divisor = operator.input(1)
    if divisor.data is not None and divisor.data.dtype.kind in "iu" and not divisor.data.all():
        raise operator.unsupported(
            f'input "{divisor.name}" has a 0, by which the kernels divide no integer; replace it '
            "by another number, or divide float32"
        )


def steps(options: Any, axes: str = "HW") -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the strides and dilations of a convolution along the axes with these letters."""
    return (
        tuple(getattr(options, f"Stride{axis}")() for axis in axes),
        tuple(getattr(options, f"Dilation{axis}Factor")() for axis in axes),
    )


def make_window(
    operator: TfliteOperator,
    kernel: tuple[int, int],
    strides: tuple[int, int],
    dilations: tuple[int, int],
    padding: int,
) -> Window:
    """Return the kernel window of an operator whose data and output are NHWC images.

    Raises
    ------
    UnsupportedModelError
        the options are impossible, or contradict the shape of the output.
    """
    data, output = operator.input(0).shape, operator.output.shape
    reach = [(size - 1) * step + 1 for size, step in zip(kernel, dilations, strict=True)]
    if max(*strides, *reach) > _LONGEST_REACH:
        raise operator.unsupported(
            f"kernel {list(kernel)}, strides {list(strides)} and dilations {list(dilations)} "
            f"must reach over at most {_LONGEST_REACH} elements"
        )
    extents, before, _ = window_sides(operator, kernel, strides, dilations, padding)
    if output[1:3] != extents:
        raise operator.unsupported(
            f'output "{operator.output.name}" has shape {list(output)}; '
            f"height and width should be {list(extents)}"
        )
    top, left = before
    return Window(
        (data[1], data[2]), kernel, strides, dilations, (top, left), (output[1], output[2])
    )


def window_sides(
    operator: TfliteOperator,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    padding: int,
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return the output extents between batch and channels, and the paddings before and after.

    Raises
    ------
    UnsupportedModelError
        an option is below 1, the padding is unknown, or the kernel is larger than the data.
    """
    if min(*strides, *dilations, *kernel) < 1:
        raise operator.unsupported(
            f"kernel {list(kernel)}, strides {list(strides)} and dilations {list(dilations)} "
            "must be at least 1"
        )
    data = operator.input(0).shape[1:-1]
    extents, before, after = zip(
        *(
            window_side(operator, *side, padding)
            for side in zip(data, kernel, strides, dilations, strict=True)
        ),
        strict=True,
    )
    return extents, before, after


def window_side(
    operator: TfliteOperator, data: int, kernel: int, stride: int, dilation: int, padding: int
) -> tuple[int, int, int]:
    """Return the output extent and the paddings before and after (TFLite's ComputePadding)."""
    reach = (kernel - 1) * dilation + 1
    if padding == tflite.Padding.SAME:
        output = -(-data // stride)
    elif padding == tflite.Padding.VALID:
        output = -(-(data - reach + 1) // stride)
    else:
        raise operator.unsupported(f"padding {padding} is not supported; supported: SAME, VALID")
    if output < 1:
        raise operator.unsupported(f"a kernel that reaches over {reach} elements in {data}")
    padded = max((output - 1) * stride + reach - data, 0)
    return output, padded // 2, padded - padded // 2
