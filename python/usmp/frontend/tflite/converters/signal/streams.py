"""TFLite Micro's signal library: operators that keep samples, each in states of its own.

The kernels leave elements unwritten while they have too few samples. Here, these elements are
computed with zeros, or with the first frame, in place of the missing samples.
"""

from __future__ import annotations

import math

import numpy as np

from usmp.frontend.tflite.context import Context, converts, reshaped
from usmp.frontend.tflite.converters.signal.transforms import TYPE_NUMBERS
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
from usmp.ops.emit import constant

_MOST = 1 << 20
"""Most samples, frames or channels that an option may ask to keep."""


@converts(custom_operator("SignalFramer"), moves=True)
def convert_framer(context: Context, operator: TfliteOperator) -> None:
    """Append a framer. Outputs: overlapping frames of samples, whether all of them are full."""
    require_tensors(operator, 1, 2)
    data, (output, is_full) = operator.input(0), operator.outputs
    new = _require_samples(operator, data, output)
    _require_flag(operator, is_full)
    options = integer_options(
        operator, {"frame_size": (1, _MOST), "frame_step": (1, new), "prefill": (0, 1)}
    )
    size, step = options["frame_size"], options["frame_step"]
    if step > size or new % step:
        raise operator.unsupported(
            f"option frame_step is {step}, with frame_size {size} and rows of {new} elements; "
            "supported: at most frame_size, and a divisor of the length of the rows"
        )
    count = new // step
    require_shape(operator, output, "output", (*data.shape[:-1], count, size))
    writes = -(-size // step) - 1
    kept = size - step if options["prefill"] else writes * step
    window = context.value(data)
    if kept:
        state = context.kept_of(output, (*data.shape[:-1], kept), "int16")
        window, state.after = signal.extended(context.builder, state.after, window)
    context.set(output, signal.frames(context.builder, window, count, size, step))
    if options["prefill"] or not writes:
        context.set(is_full, constant(np.array(True)))
        return
    counter = context.kept_of(is_full, (), "int32")
    reached, counter.after = signal.counted_to(context.builder, counter.after, count, writes)
    context.set(is_full, reached)


@converts(custom_operator("SignalDelay"), moves=True)
def convert_delay(context: Context, operator: TfliteOperator) -> None:
    """Append a delay of the samples."""
    require_tensors(operator, 1, 1)
    data, output = operator.input(0), operator.output
    new = _require_samples(operator, data, output)
    require_same_shape(operator, data, output)
    length = integer_options(operator, {"delay_length": (0, _MOST)})["delay_length"]
    window = context.value(data)
    if length:
        state = context.kept_of(output, (*data.shape[:-1], length), "int16")
        window, state.after = signal.extended(context.builder, state.after, window)
    context.set(output, signal.part(context.builder, window, 0, new))


@converts(custom_operator("SignalStacker"), moves=True)
def convert_stacker(context: Context, operator: TfliteOperator) -> None:
    """Append a stacker. Outputs: the last frames in order, whether there are enough of them."""
    require_tensors(operator, 1, 2)
    data, (output, is_valid) = operator.input(0), operator.outputs
    channels = _require_samples(operator, data, output)
    require_rank(operator, data, "input", (1,))
    _require_flag(operator, is_valid)
    options = integer_options(
        operator,
        {
            "num_channels": (channels, channels),
            "stacker_left_context": (0, _MOST),
            "stacker_right_context": (0, _MOST),
            "stacker_step": (1, _MOST),
        },
    )
    right, step = options["stacker_right_context"], options["stacker_step"]
    before = options["stacker_left_context"] + right
    require_shape(operator, output, "output", (channels * (before + 1),))
    if step > before + 1:
        raise operator.unsupported(
            f"option stacker_step is {step}; supported: 1 to {before + 1}, the frames of a result"
        )
    if not before:
        context.set(output, context.value(data))
        context.set(is_valid, constant(np.array(True)))
        return
    history = context.kept_of(output, (channels * before,), "int16")
    phase = context.kept_of(is_valid, (), "int32")
    history.after, phase.after, frames, flag = signal.stacked(
        context.builder, context.value(data), history.after, phase.after, right, step
    )
    context.set(output, frames)
    context.set(is_valid, flag)


@converts(custom_operator("SignalOverlapAdd"), moves=True)
def convert_overlap_add(context: Context, operator: TfliteOperator) -> None:
    """Append sums of overlapping frames."""
    require_tensors(operator, 1, 1)
    data, output = operator.input(0), operator.output
    require_types(operator, data, "input", ("int16", "float32"))
    require_types(operator, output, "output", (data.dtype,))
    if len(data.shape) < 2:
        raise operator.unsupported(
            f'input "{data.name}" has shape {list(data.shape)}; supported: 2 axes and more'
        )
    *outer, count, size = data.shape
    number = TYPE_NUMBERS[data.dtype]
    limits = {"T": (number, number), "frame_step": (1, size)}
    step = integer_options(operator, limits)["frame_step"]
    require_shape(operator, output, "output", (*outer, count * step))
    value = context.value(data)
    if step == size:
        context.set(output, reshaped(context, value, output.shape))
        return
    state = context.kept_of(output, (math.prod(outer), size - step), data.dtype)
    state.after, value = signal.overlap_add(context.builder, value, state.after, step)
    context.set(output, value)


def _require_samples(operator: TfliteOperator, data: TfliteTensor, output: TfliteTensor) -> int:
    """Check that both tensors are int16 samples, and return the length of the data's rows."""
    require_types(operator, data, "input", ("int16",))
    require_types(operator, output, "output", ("int16",))
    if not data.shape:
        raise operator.unsupported(f'input "{data.name}" has no axes; supported: 1 and more')
    return data.shape[-1]


def _require_flag(operator: TfliteOperator, tensor: TfliteTensor) -> None:
    require_types(operator, tensor, "output", ("bool",))
    require_rank(operator, tensor, "output", (0,))
