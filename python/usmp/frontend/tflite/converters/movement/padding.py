"""PAD, PADV2 and MIRROR_PAD: elements around the data."""

from __future__ import annotations

import math

import tflite
from tvm import relax

from usmp.frontend.tflite.context import Context, converts
from usmp.frontend.tflite.file.model import TfliteOperator
from usmp.frontend.tflite.options import require_types, stored_quantization
from usmp.ops import quantized


@converts("PAD", "PADV2", moves=True)
def convert_pad(context: Context, operator: TfliteOperator) -> None:
    """Append a PAD. Inputs: data, paddings (axes, 2); for PADV2 the value, else the zero point."""
    data = operator.input(0)
    value = _pad_value(operator)
    # TVM stores and prints the value as a double, which has to be finite and exact.
    if not math.isfinite(value) or float(value) != value:
        raise operator.unsupported(f"padding with {value} is not supported")
    amounts = padding_amounts(operator)
    padded = context.value(data)
    if any(before or after for before, after in amounts):
        width = [amount for pair in amounts for amount in pair]
        padded = relax.op.nn.pad(padded, width, "constant", value)
    context.set_moved(operator, padded)


def padding_amounts(operator: TfliteOperator) -> list[tuple[int, int]]:
    """Return the numbers of elements before and after the data on each axis.

    Raises
    ------
    UnsupportedModelError
        the numbers are computed, negative, or not a pair for each axis.
    """
    data, paddings = operator.input(0), operator.integers(1)
    if paddings.shape != (len(data.shape), 2):
        raise operator.unsupported(
            f"paddings of shape {list(paddings.shape)} for data of shape {list(data.shape)}; "
            f"they should have shape {[len(data.shape), 2]}"
        )
    if paddings.size and paddings.min() < 0:
        raise operator.unsupported(f"negative paddings, {paddings.tolist()}")
    return [(int(before), int(after)) for before, after in paddings]


def _pad_value(operator: TfliteOperator) -> int | float:
    data, output = operator.input(0), operator.output
    tensor = operator.optional_input(2)
    if tensor is not None:
        require_types(operator, tensor, "padding value", (data.dtype,))
        value = operator.constant(2)
        if value.size != 1:
            raise operator.unsupported(f"a padding value of shape {list(value.shape)}")
        number: int | float = value.reshape(-1)[0].item()
        return number
    if output.quantization is None:
        return 0
    return operator.quantization(output).zero_point


@converts("MIRROR_PAD", moves=True)
def convert_mirror_pad(context: Context, operator: TfliteOperator) -> None:
    """Append a MIRROR_PAD. Inputs: data, paddings (axes, 2)."""
    options = operator.options(tflite.MirrorPadOptions)
    data, amounts = operator.input(0), padding_amounts(operator)
    modes = {tflite.MirrorPadMode.REFLECT: False, tflite.MirrorPadMode.SYMMETRIC: True}
    if options.Mode() not in modes:
        raise operator.unsupported(f"mode {options.Mode()}; supported: REFLECT (0), SYMMETRIC (1)")
    repeats_border = modes[options.Mode()]
    for extent, pair in zip(data.shape, amounts, strict=True):
        longest = extent if repeats_border else extent - 1
        if max(pair) > longest:
            raise operator.unsupported(
                f"{max(pair)} elements beside an axis whose mirror image has {longest}"
            )
    value = context.value(data)
    if any(before or after for before, after in amounts):
        stored = stored_quantization(data)
        value = quantized.mirror_pad(context.builder, value, amounts, repeats_border, stored)
    context.set_moved(operator, value)
