"""QUANTIZE, DEQUANTIZE and BITCAST."""

from __future__ import annotations

import numpy as np
from tvm import relax

from usmp.frontend.tflite.context import Context, converts
from usmp.frontend.tflite.file.model import TfliteOperator
from usmp.frontend.tflite.options import require_same_shape, require_types
from usmp.ops import quantized
from usmp.ops.real.bits import bit_cast

_SMALL = ("int8", "uint8", "int16")
_OUTPUTS = {
    "float32": _SMALL,
    "int8": (*_SMALL, "int32"),
    "uint8": _SMALL,
    "int16": ("int8", "int16", "int32"),
    "int32": ("int8", "int16"),
}
"""Input type of a QUANTIZE -> the output types of the reference kernels."""
_WITH_BITS = tuple("float32 float64 int8 uint8 int16 uint16 int32 uint32 int64 uint64".split())
"""Element types in which all bit patterns are valid, so that a BITCAST may result in them."""


@converts("QUANTIZE")
def convert_quantize(context: Context, operator: TfliteOperator) -> None:
    """Append a QUANTIZE, from float32 or from another quantization."""
    data, output = operator.input(0), operator.output
    require_types(operator, data, "input", tuple(_OUTPUTS))
    require_types(operator, output, "output", _OUTPUTS[data.dtype])
    require_same_shape(operator, data, output)
    after, value = operator.quantization(output), context.value(data)
    if data.dtype == "float32":
        context.set(output, quantized.quantize(context.builder, value, after))
        return
    before = operator.quantization(data)
    context.set(output, quantized.requantize(context.builder, value, before, after))


@converts("DEQUANTIZE")
def convert_dequantize(context: Context, operator: TfliteOperator) -> None:
    """Append a DEQUANTIZE to float32; a constant is converted at its readers."""
    data, output = operator.input(0), operator.output
    require_types(operator, data, "input", _SMALL if data.data is None else (*_SMALL, "int4"))
    require_types(operator, output, "output", ("float32",))
    require_same_shape(operator, data, output)
    if data.data is not None:
        _check_scales(operator)
        context.stored[output.index] = data
        return
    before = operator.quantization(data)
    context.set(output, quantized.dequantize(context.builder, context.value(data), before))


def _check_scales(operator: TfliteOperator) -> None:
    """Check that a constant has a scale, or one for each index of an axis.

    Raises
    ------
    UnsupportedModelError
        the constant has another number of scales.
    """
    data = operator.input(0)
    axis = data.quantization.axis if data.quantization is not None else 0
    if not (data.quantization and data.quantization.is_per_tensor) and axis not in range(
        len(data.shape)
    ):
        raise operator.unsupported(
            f'tensor "{data.name}" is quantized along axis {axis}, and has {len(data.shape)} axes'
        )
    operator.weight_quantization(data, axis)


@converts("DEQUANTIZE", quantized=False)
def convert_float16(context: Context, operator: TfliteOperator) -> None:
    """Append a DEQUANTIZE of float16 to float32; a constant is converted at its readers."""
    data, output = operator.input(0), operator.output
    require_types(operator, data, "input", ("float16",))
    require_types(operator, output, "output", ("float32",))
    if data.data is not None:
        require_same_shape(operator, data, output)
        context.stored[output.index] = data
    else:
        context.set_moved(operator, relax.op.astype(context.value(data), "float32"))


@converts("BITCAST", moves=True)
def convert_bitcast(context: Context, operator: TfliteOperator) -> None:
    """Append a BITCAST, which reads the bits as elements of another type.

    If output elements are smaller, the parts of an element become a last axis. If they are larger,
    the elements along the last axis become one element.
    """
    data, output = operator.input(0), operator.output
    require_types(operator, data, "input", (*_WITH_BITS, "bool"))
    require_types(operator, output, "output", _WITH_BITS)
    ratio = np.dtype(output.dtype).itemsize // np.dtype(data.dtype).itemsize
    if ratio > 1 and data.shape[-1:] != (ratio,):
        raise operator.unsupported(
            f'input "{data.name}" is {data.dtype}{list(data.shape)}; {ratio} elements on its last '
            f"axis make one of {output.dtype}"
        )
    context.set_moved(operator, bit_cast(context.builder, context.value(data), output.dtype))
