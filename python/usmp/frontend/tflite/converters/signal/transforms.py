"""TFLite Micro's signal library: Fourier transforms of rows of real numbers."""

from __future__ import annotations

import tflite

from usmp.frontend.tflite.context import Context, converts
from usmp.frontend.tflite.file.custom_options import integer_options
from usmp.frontend.tflite.file.model import TfliteOperator
from usmp.frontend.tflite.file.read import custom_operator
from usmp.frontend.tflite.options import require_shape, require_tensors, require_types
from usmp.ops import signal

TYPE_NUMBERS = {
    "int16": tflite.TensorType.INT16,
    "int32": tflite.TensorType.INT32,
    "float32": tflite.TensorType.FLOAT32,
}
"""Element type of the data -> the value of the option "T"."""
_LONGEST = 1 << 16
"""Longest transform; tables of longer ones do not fit in flash memory."""


@converts(custom_operator("SignalRfft"), moves=True)
def convert_rfft(context: Context, operator: TfliteOperator) -> None:
    """Append a transform to alternating real and imaginary parts, up to half the sampling rate."""
    length, data, output = _length(operator), operator.input(0), operator.output
    if data.shape[-1] > length:
        raise operator.unsupported(
            f'input "{data.name}" has rows of {data.shape[-1]} elements, and option fft_length is '
            f"{length}; supported: rows that are not longer"
        )
    require_shape(operator, output, "output", (*data.shape[:-1], length + 2))
    context.set(output, signal.rfft(context.builder, context.value(data), length))


@converts(custom_operator("SignalIrfft"), moves=True)
def convert_irfft(context: Context, operator: TfliteOperator) -> None:
    """Append an inverse transform of alternating real and imaginary parts."""
    length, data, output = _length(operator), operator.input(0), operator.output
    require_shape(operator, data, "input", (*data.shape[:-1], length + 2))
    require_shape(operator, output, "output", (*data.shape[:-1], length))
    context.set(output, signal.irfft(context.builder, context.value(data)))


def _length(operator: TfliteOperator) -> int:
    """Return the length of the transform, after checks of the tensors.

    Raises
    ------
    UnsupportedModelError
        the tensors have another type than the options say, or there are no rows.
    """
    require_tensors(operator, 1, 1)
    data, output = operator.input(0), operator.output
    require_types(operator, data, "input", tuple(TYPE_NUMBERS))
    require_types(operator, output, "output", (data.dtype,))
    number = TYPE_NUMBERS[data.dtype]
    options = integer_options(operator, {"T": (number, number), "fft_length": (4, _LONGEST)})
    length = options["fft_length"]
    if not data.shape:
        raise operator.unsupported(f'input "{data.name}" has no axes; supported: 1 and more')
    if not signal.has_real_fft(length):
        raise operator.unsupported(
            f"option fft_length is {length}; supported: even numbers without other prime factors "
            "than 2, 3 and 5, for which the kernels have memory"
        )
    return length
