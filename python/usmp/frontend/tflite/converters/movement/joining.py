"""CONCATENATION, PACK and SELECT: several tensors into one."""

from __future__ import annotations

import numpy as np
import tflite
from tvm import relax

from usmp.frontend.tflite.context import Context, converts, reshaped
from usmp.frontend.tflite.file.model import TfliteOperator, TfliteTensor
from usmp.frontend.tflite.options import fused_activation, positive_axis, require_types
from usmp.ops import quantized
from usmp.support.errors import UnsupportedModelError


@converts("CONCATENATION", moves=True)
def convert_concatenation(context: Context, operator: TfliteOperator) -> None:
    """Append a CONCATENATION along an axis; int8 inputs have the output's quantization."""
    options = operator.options(tflite.ConcatenationOptions)
    if fused_activation(options.FusedActivationFunction()) != "NONE":
        name = fused_activation(options.FusedActivationFunction())
        raise operator.unsupported(f"a fused activation, {name}, is not supported")
    output, inputs = operator.output, _required_inputs(operator)
    for tensor in inputs:
        _check_like_first(operator, tensor, inputs[0])
        if output.dtype == "int8" and not _is_quantized_like_output(operator, tensor):
            raise _other_quantization(operator, tensor)
    axis = positive_axis(operator, options.Axis(), len(inputs[0].shape))
    for tensor in inputs:
        _check_joinable(operator, tensor, inputs[0], axis)
    values = [_at_scale_of_output(context, operator, tensor) for tensor in inputs]
    joined = values[0] if len(values) == 1 else relax.op.concat(values, axis)
    context.set_moved(operator, joined)


@converts("PACK", moves=True)
def convert_pack(context: Context, operator: TfliteOperator) -> None:
    """Append the inputs one after the other along a new axis."""
    options = operator.options(tflite.PackOptions)
    inputs = _required_inputs(operator)
    if options.ValuesCount() != len(inputs):
        raise operator.unsupported(f"{len(inputs)} inputs; its options say {options.ValuesCount()}")
    shape = inputs[0].shape
    axis = positive_axis(operator, options.Axis(), len(shape) + 1)
    parts = []
    for tensor in inputs:
        _check_like_first(operator, tensor, inputs[0])
        if tensor.shape != shape:
            raise operator.unsupported(
                f"inputs of shapes {list(shape)} and {list(tensor.shape)}; all must be the same"
            )
        parts.append(reshaped(context, context.value(tensor), (*shape[:axis], 1, *shape[axis:])))
    context.set_moved(operator, parts[0] if len(parts) == 1 else relax.op.concat(parts, axis))


@converts("SELECT", "SELECT_V2", moves=True)
def convert_select(context: Context, operator: TfliteOperator) -> None:
    """Append a SELECT. Inputs (broadcast): condition, elements if true, elements if false."""
    condition, first, second = (operator.input(index) for index in (0, 1, 2))
    require_types(operator, condition, "condition", ("bool",))
    require_types(operator, second, "input", (first.dtype,))
    shapes = [condition.shape, first.shape, second.shape]
    chosen = context.value(condition)
    if operator.name == "SELECT" and len(condition.shape) == 1 < len(first.shape):
        # A condition with one axis selects slices along the first axis, unlike in SELECT_V2.
        shapes[0] = (*condition.shape, *[1] * (len(first.shape) - 1))
        chosen = reshaped(context, chosen, shapes[0])
    try:
        np.broadcast_shapes(*shapes)
    except ValueError as error:
        raise operator.unsupported(
            "shapes " + ", ".join(str(list(shape)) for shape in shapes) + " do not go together"
        ) from error
    values = (context.value(first), context.value(second))
    context.set_moved(operator, relax.op.where(chosen, *values))


def _required_inputs(operator: TfliteOperator) -> list[TfliteTensor]:
    if not operator.inputs:
        raise operator.unsupported("it has no inputs")
    return [operator.input(index) for index in range(len(operator.inputs))]


def _check_like_first(operator: TfliteOperator, tensor: TfliteTensor, first: TfliteTensor) -> None:
    require_types(operator, tensor, "input", (first.dtype,))
    if len(tensor.shape) != len(first.shape):
        raise operator.unsupported(
            f'inputs "{first.name}" of shape {list(first.shape)} and "{tensor.name}" of shape '
            f"{list(tensor.shape)} have not the same number of axes"
        )


def _check_joinable(
    operator: TfliteOperator, tensor: TfliteTensor, first: TfliteTensor, axis: int
) -> None:
    """Check that the tensors have the same extents except along `axis`.

    Raises
    ------
    UnsupportedModelError
        the extents differ along another axis.
    """
    if any(
        one != other and position != axis
        for position, (one, other) in enumerate(zip(tensor.shape, first.shape, strict=True))
    ):
        raise operator.unsupported(
            f'inputs "{first.name}" of shape {list(first.shape)} and "{tensor.name}" of shape '
            f"{list(tensor.shape)} cannot be joined along axis {axis}"
        )


def _is_quantized_like_output(operator: TfliteOperator, tensor: TfliteTensor) -> bool:
    own, wanted = tensor.quantization, operator.output.quantization
    if own is None or wanted is None:
        return own is wanted
    return (own.scales, own.zero_points) == (wanted.scales, wanted.zero_points)


def _other_quantization(operator: TfliteOperator, tensor: TfliteTensor) -> UnsupportedModelError:
    """Return an error for int8 inputs, which the reference kernels do not rescale here."""
    own, wanted = operator.quantization(tensor), operator.quantization(operator.output)
    return operator.unsupported(
        f'input "{tensor.name}" has scale {own.scale} and zero point {own.zero_point}, '
        f"the output {wanted.scale} and {wanted.zero_point}; "
        "quantize the model so that they are the same"
    )


def _at_scale_of_output(
    context: Context, operator: TfliteOperator, tensor: TfliteTensor
) -> relax.Expr:
    """Return an input, in the output's scale if it is uint8; wider integers are not rescaled."""
    value = context.value(tensor)
    if operator.output.dtype != "uint8" or _is_quantized_like_output(operator, tensor):
        return value
    before, after = operator.quantization(tensor), operator.quantization(operator.output)
    return context.builder.emit(quantized.rescale_to_join(context.builder, value, before, after))
