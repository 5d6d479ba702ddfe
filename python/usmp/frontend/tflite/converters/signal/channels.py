"""TFLite Micro's signal library: the channels of a filter bank."""

from __future__ import annotations

from usmp.frontend.tflite.context import Context, converts
from usmp.frontend.tflite.file.custom_options import integer_options
from usmp.frontend.tflite.file.model import TfliteOperator, TfliteTensor
from usmp.frontend.tflite.file.read import custom_operator
from usmp.frontend.tflite.options import (
    require_rank,
    require_same_shape,
    require_shape,
    require_tensors,
    require_types,
)
from usmp.ops import signal

_POSITIVE = (0, 2**31 - 1)
_MOST_CHANNELS = 2**15 - 1
"""Most channels of a filter bank, whose tables are int16."""


@converts(custom_operator("SignalFilterBank"), moves=True)
def convert_filter_bank(context: Context, operator: TfliteOperator) -> None:
    """Append a filter bank. Inputs: spectrum; weights, unweights; for each channel its start in the
    spectrum, its start in the weights, and its width."""
    require_tensors(operator, 6, 1)
    data, output = operator.input(0), operator.output
    require_types(operator, data, "input", ("uint32",))
    require_rank(operator, data, "input", (1,))
    require_types(operator, output, "output", ("uint64",))
    for index in range(1, 6):
        require_types(operator, operator.input(index), f"input {index},", ("int16",))
        require_rank(operator, operator.input(index), f"input {index},", (1,))
    limits = {"num_channels": (1, _MOST_CHANNELS)}
    channels = integer_options(operator, limits)["num_channels"]
    require_shape(operator, output, "output", (channels,))
    for index in range(3, 6):
        require_shape(operator, operator.input(index), f"input {index},", (channels + 1,))
    tables = [operator.constant(index) for index in range(1, 6)]
    try:
        filters = signal.FilterBank(*tables)
    except ValueError as error:
        raise operator.unsupported(str(error)) from error
    if filters.bins > data.shape[0]:
        raise operator.unsupported(
            f'input "{data.name}" has {data.shape[0]} elements, and the channels reach over '
            f"{filters.bins}"
        )
    context.set(output, signal.filter_bank(context.builder, context.value(data), filters))


@converts(custom_operator("SignalFilterBankSquareRoot"), moves=True)
def convert_square_root(context: Context, operator: TfliteOperator) -> None:
    """Append square roots. Inputs: the channels, the bits by which roots are shifted right."""
    require_tensors(operator, 2, 1)
    data, bits, output = operator.input(0), operator.input(1), operator.output
    require_types(operator, data, "input", ("uint64",))
    require_types(operator, bits, "scale bits", ("int32",))
    require_rank(operator, bits, "scale bits", (0,))
    _require_channels(operator, (data,), (output,), data)
    value = signal.square_root(context.builder, context.value(data), context.value(bits))
    context.set(output, value)


@converts(custom_operator("SignalFilterBankSpectralSubtraction"), moves=True)
def convert_spectral_subtraction(context: Context, operator: TfliteOperator) -> None:
    """Append a noise reduction. Outputs: the channels without noise, and its estimate, a state."""
    require_tensors(operator, 1, 2)
    data, (output, noise) = operator.input(0), operator.outputs
    require_types(operator, data, "input", ("uint32",))
    _require_channels(operator, (data,), (output, noise), data)
    channels = data.shape[0]
    options = integer_options(
        operator,
        {
            "alternate_one_minus_smoothing": _POSITIVE,
            "alternate_smoothing": _POSITIVE,
            "clamping": (0, 1),
            "min_signal_remaining": _POSITIVE,
            "num_channels": (channels, channels),
            "one_minus_smoothing": _POSITIVE,
            "smoothing": _POSITIVE,
            "smoothing_bits": (0, 31),
            "spectral_subtraction_bits": (0, 63),
        },
    )
    smoothing = signal.Smoothing(
        (options["smoothing"], options["alternate_smoothing"]),
        (options["one_minus_smoothing"], options["alternate_one_minus_smoothing"]),
        options["min_signal_remaining"],
        options["spectral_subtraction_bits"],
        options["smoothing_bits"],
        bool(options["clamping"]),
    )
    state = context.kept_of(noise, noise.shape, "uint32")
    value, state.after = signal.spectral_subtraction(
        context.builder, context.value(data), state.after, smoothing
    )
    context.set(output, value)
    context.set(noise, state.after)


@converts(custom_operator("SignalPCAN"), moves=True)
def convert_gain_control(context: Context, operator: TfliteOperator) -> None:
    """Append a gain control. Inputs: the channels, estimates of their noise, a table of gains."""
    require_tensors(operator, 3, 1)
    data, noise, table = map(operator.input, range(3))
    require_types(operator, data, "input", ("uint32",))
    require_types(operator, noise, "noise", ("uint32",))
    _require_channels(operator, (data, noise), (operator.output,), data)
    require_types(operator, table, "table", ("int16",))
    require_rank(operator, table, "table", (1,))
    if table.shape[0] < signal.GAIN_TABLE_SIZE:
        raise operator.unsupported(
            f'table "{table.name}" has {table.shape[0]} elements; supported: '
            f"{signal.GAIN_TABLE_SIZE} and more"
        )
    shift = integer_options(operator, {"snr_shift": (0, 63)})["snr_shift"]
    values = [context.value(tensor) for tensor in (data, noise, table)]
    context.set(operator.output, signal.gain_control(context.builder, *values, shift=shift))


@converts(custom_operator("SignalFilterBankLog"), moves=True)
def convert_logarithm(context: Context, operator: TfliteOperator) -> None:
    """Append the logarithms of the channels."""
    require_tensors(operator, 1, 1)
    data, output = operator.input(0), operator.output
    require_types(operator, data, "input", ("uint32",))
    require_types(operator, output, "output", ("int16",))
    require_rank(operator, data, "input", (1,))
    require_same_shape(operator, data, output)
    limits = {"input_correction_bits": (0, 31), "output_scale": _POSITIVE}
    options = integer_options(operator, limits)
    shift, scale = options["input_correction_bits"], options["output_scale"]
    context.set(output, signal.logarithm(context.builder, context.value(data), shift, scale))


def _require_channels(
    operator: TfliteOperator,
    inputs: tuple[TfliteTensor, ...],
    outputs: tuple[TfliteTensor, ...],
    data: TfliteTensor,
) -> None:
    """Check that all tensors have one axis, that of the channels, and that outputs are uint32."""
    for tensor in inputs:
        require_rank(operator, tensor, "input", (1,))
        require_same_shape(operator, data, tensor)
    for tensor in outputs:
        require_types(operator, tensor, "output", ("uint32",))
        require_same_shape(operator, data, tensor)
