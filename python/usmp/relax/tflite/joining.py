"""CONCATENATION and PACK."""

from __future__ import annotations

import tflite
from tvm import relax

from usmp.relax.tflite.context import Context, converts, reshaped
from usmp.relax.tflite.model import TfliteOperator, TfliteTensor
from usmp.relax.tflite.options import fused_activation, positive_axis, require_types


@converts("CONCATENATION", moves=True)
def convert_concatenation(context: Context, operator: TfliteOperator) -> None:
    """The inputs one after the other along an axis; 8-bit ones all have one quantisation."""
    options = operator.options(tflite.ConcatenationOptions)
    if fused_activation(options.FusedActivationFunction()) != "NONE":
        name = fused_activation(options.FusedActivationFunction())
        raise operator.unsupported(f"a fused activation, {name}, is not supported")
    output, inputs = operator.output, _given_inputs(operator)
    for tensor in inputs:
        _check_like_first(operator, tensor, inputs[0])
        if output.dtype in ("int8", "uint8"):
            _check_quantised_like_output(operator, tensor)
    axis = positive_axis(operator, options.Axis(), len(inputs[0].shape))
    values = [context.value(tensor) for tensor in inputs]
    joined = values[0] if len(values) == 1 else relax.op.concat(values, axis)
    context.set_moved(operator, joined)


@converts("PACK", moves=True)
def convert_pack(context: Context, operator: TfliteOperator) -> None:
    """The inputs one after the other along a new axis."""
    options = operator.options(tflite.PackOptions)
    inputs = _given_inputs(operator)
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


def _given_inputs(operator: TfliteOperator) -> list[TfliteTensor]:
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


def _check_quantised_like_output(operator: TfliteOperator, tensor: TfliteTensor) -> None:
    """The reference kernels bring nothing to another scale here; converters see to that."""
    given, wanted = tensor.quantisation, operator.output.quantisation
    if given is None or wanted is None:
        return
    if (given.scales, given.zero_points) != (wanted.scales, wanted.zero_points):
        raise operator.unsupported(
            f'input "{tensor.name}" has scale {given.scales[0]} and zero point '
            f"{given.zero_points[0]}, the output {wanted.scales[0]} and {wanted.zero_points[0]}; "
            "quantise the model so that they are the same"
        )
