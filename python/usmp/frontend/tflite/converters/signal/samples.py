"""TFLite Micro's signal library: samples before a Fourier transform, and energies after it."""

from __future__ import annotations

from usmp.frontend.tflite.context import Context, converts
from usmp.frontend.tflite.file.custom_options import integer_options
from usmp.frontend.tflite.file.model import TfliteOperator
from usmp.frontend.tflite.file.read import custom_operator
from usmp.frontend.tflite.options import (
    require_rank,
    require_same_shape,
    require_shape,
    require_tensors,
    require_types,
)
from usmp.ops import signal

_INT16 = ("int16",)


@converts(custom_operator("SignalWindow"), moves=True)
def convert_window(context: Context, operator: TfliteOperator) -> None:
    """Append products with a window. Inputs: rows of samples, weights of the window."""
    require_tensors(operator, 2, 1)
    data, weights, output = operator.input(0), operator.input(1), operator.output
    for tensor, label in ((data, "input"), (weights, "weight"), (output, "output")):
        require_types(operator, tensor, label, _INT16)
    require_rank(operator, weights, "weight", (1,))
    if data.shape[-1:] != weights.shape:
        raise operator.unsupported(
            f'input "{data.name}" has shape {list(data.shape)}; its last axis should have the '
            f"{weights.shape[0]} elements of the weight"
        )
    require_same_shape(operator, data, output)
    shift = integer_options(operator, {"shift": (0, 31)})["shift"]
    value = signal.window(context.builder, context.value(data), context.value(weights), shift)
    context.set(output, value)


@converts(custom_operator("SignalFftAutoScale"), moves=True)
def convert_fft_auto_scale(context: Context, operator: TfliteOperator) -> None:
    """Append a scaling. Outputs: the scaled samples, the number of bits of the shift."""
    require_tensors(operator, 1, 2)
    data, (output, bits) = operator.input(0), operator.outputs
    require_types(operator, data, "input", _INT16)
    require_types(operator, output, "output", _INT16)
    require_types(operator, bits, "output", ("int32",))
    require_rank(operator, data, "input", (1,))
    require_same_shape(operator, data, output)
    require_rank(operator, bits, "output", (0,))
    results = signal.fft_auto_scale(context.builder, context.value(data))
    for tensor, value in zip(operator.outputs, results, strict=True):
        context.set(tensor, value)


@converts(custom_operator("SignalEnergy"), moves=True)
def convert_energy(context: Context, operator: TfliteOperator) -> None:
    """Append the energies of complex numbers, whose real and imaginary parts alternate."""
    require_tensors(operator, 1, 1)
    data, output = operator.input(0), operator.output
    require_types(operator, data, "input", _INT16)
    require_types(operator, output, "output", ("uint32",))
    require_rank(operator, data, "input", (1,))
    require_shape(operator, output, "output", (data.shape[0] // 2,))
    bins = data.shape[0] // 2
    options = integer_options(operator, {"end_index": (0, bins), "start_index": (0, bins)})
    begin, end = options["start_index"], options["end_index"]
    context.set(output, signal.energy(context.builder, context.value(data), begin, end))
