"""RFFT2D, and operators that turn its complex results into real numbers.

Complex tensors exist only inside of a model, as float32 with an axis for real and imaginary part.
"""

from __future__ import annotations

from usmp.frontend.tflite.context import Context, converts
from usmp.frontend.tflite.file.model import TfliteOperator
from usmp.frontend.tflite.options import (
    require_rank,
    require_same_shape,
    require_shape,
    require_tensors,
    require_types,
)
from usmp.ops import signal

_LONGEST = 1 << 16
_RANKS = tuple(range(2, 9))


@converts("RFFT2D", moves=True)
def convert_rfft_2d(context: Context, operator: TfliteOperator) -> None:
    """Append an RFFT2D. Inputs: matrices, and the height and width to crop or pad them to."""
    require_tensors(operator, 2, 1)
    data, output = operator.input(0), operator.output
    require_types(operator, data, "input", ("float32",))
    require_rank(operator, data, "input", _RANKS)
    require_types(operator, output, "output", ("complex64",))
    lengths = operator.input(1)
    require_types(operator, lengths, "lengths", ("int32",))
    require_shape(operator, lengths, "lengths", (2,))
    height, width = operator.constant(1).tolist()
    for name, length, least in (("height", height, 1), ("width", width, 4)):
        if not least <= length <= _LONGEST or length & (length - 1):
            raise operator.unsupported(
                f"the {name} of the transform is {length}; supported: powers of two from {least} "
                f"to {_LONGEST}"
            )
    require_shape(operator, output, "output", (*data.shape[:-2], height, width // 2 + 1))
    value = signal.rfft_2d(context.builder, context.value(data), height, width)
    context.set(output, value)


@converts("REAL", "IMAG", "COMPLEX_ABS", moves=True)
def convert_part(context: Context, operator: TfliteOperator) -> None:
    """Append the real part, imaginary part or magnitude of complex numbers."""
    require_tensors(operator, 1, 1)
    data, output = operator.input(0), operator.output
    require_types(operator, data, "input", ("complex64",))
    require_types(operator, output, "output", ("float32",))
    require_same_shape(operator, data, output)
    value = context.value(data)
    if operator.name == "COMPLEX_ABS":
        context.set(output, signal.magnitude(context.builder, value))
        return
    part = 0 if operator.name == "REAL" else 1
    context.set(output, signal.complex_part(context.builder, value, part))
