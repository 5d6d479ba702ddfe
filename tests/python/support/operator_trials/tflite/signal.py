"""The operators of TFLite Micro's signal library, whose options are FlexBuffers.

Where a kernel leaves elements unwritten, only the others are an output of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

import numpy as np
from flatbuffers import flexbuffers

from support.operator_trials.tflite.draw import Draw, Model, describe, trial
from support.operator_trials.trial import EXACT, Generator, Tolerance, Trial
from support.quantized_models.model import Constant, Spec, add_input, add_tensor
from support.tflite_builder import Graph, options, write_model
from support.tflite_tensors import GraphTensor, graph_tensors, random_inputs
from usmp.frontend.tflite.file.read import custom_operator

RUNS = 8
TYPE_NUMBERS = {"float32": 0, "int32": 2, "int16": 7}
REAL_LENGTHS = (4, 6, 8, 10, 12, 16, 18, 20, 24, 30, 32, 40, 50, 54, 60, 64, 90, 96, 128, 150, 512)
NO_INTEGERS = Tolerance(1e-5, 2e-5)


@dataclass(frozen=True)
class SignalModel:
    """One custom operator, and what of its results is an output of the model.

    Parameters
    ----------
    part
        of the first output, from a begin to an end; all if None.
    is_masked
        whether the first output counts where the second one is true.
    """

    inputs: Sequence[Spec | Constant]
    outputs: Sequence[Spec]
    options: Mapping[str, int | bool] = field(default_factory=dict)
    part: tuple[int, int] | None = None
    is_masked: bool = False
    tolerance: Tolerance = EXACT

    def content(self, code: str) -> bytes:
        graph = Graph()
        arguments = [add_input(graph, value) for value in self.inputs]
        results = [add_tensor(graph, spec) for spec in self.outputs]
        given = flexbuffers.Dumps(dict(self.options)) if self.options else None
        graph.operator("CUSTOM", arguments, results, custom_code=code, custom_options=given)
        if self.part is not None:
            results[0] = add_part(graph, results[0], self.part)
        if self.is_masked:
            zeros = graph.constant(np.zeros(self.outputs[0].shape, np.int16))
            shown = graph.tensor(self.outputs[0].shape, "int16")
            graph.operator("SELECT_V2", [results[1], results[0], zeros], [shown])
            results[0] = shown
        graph.output(*results)
        return write_model(graph)


def add_part(graph: Graph, data: int, part: tuple[int, int]) -> int:
    """Some of the elements, as int32, which TFLite Micro can slice."""
    (count,) = graph.tensors[data].shape
    cast = graph.tensor((count,), "int32")
    table = options("CastOptions", in_data_type=15, out_data_type=2)
    graph.operator("CAST", [data], [cast], table)
    size = part[1] - part[0]
    shown = graph.tensor((size,), "int32")
    begin, extent = (graph.constant(np.array([number], np.int32)) for number in (part[0], size))
    graph.operator("SLICE", [cast, begin, extent], [shown])
    return shown


def plain(shape: Sequence[int], dtype: str) -> Spec:
    return Spec(tuple(shape), 0, 0, dtype)


def whole_range(draw: Draw, shape: Sequence[int], dtype: str) -> Constant:
    limits = np.iinfo(dtype)
    return Constant(draw.generator.integers(limits.min, limits.max, shape, dtype, endpoint=True))


def rows(draw: Draw, length: int) -> tuple[int, ...]:
    return (*(draw.number(1, 3) for _ in range(draw.choice((0, 0, 1, 2)))), length)


def window(draw: Draw) -> SignalModel:
    shape = rows(draw, draw.number(1, 40))
    data, weights = plain(shape, "int16"), whole_range(draw, shape[-1:], "int16")
    computed = plain(shape[-1:], "int16")
    inputs = [data, computed if draw.flag(0.3) else weights]
    return SignalModel(inputs, [data], {"shift": draw.choice((0, 3, 12, 15, 31))})


def fft_auto_scale(draw: Draw) -> SignalModel:
    data = plain((draw.number(1, 40),), "int16")
    return SignalModel([data], [data, plain((), "int32")])


def rfft(draw: Draw) -> SignalModel:
    length, dtype = draw.choice(REAL_LENGTHS), draw.choice(tuple(TYPE_NUMBERS))
    given = length if draw.flag() else draw.number(1, length)
    shape = rows(draw, given)
    return SignalModel(
        [plain(shape, dtype)],
        [plain((*shape[:-1], length + 2), dtype)],
        {"T": TYPE_NUMBERS[dtype], "fft_length": length},
        tolerance=NO_INTEGERS,
    )


def irfft(draw: Draw) -> SignalModel:
    length, dtype = draw.choice(REAL_LENGTHS), draw.choice(tuple(TYPE_NUMBERS))
    shape = rows(draw, length)
    return SignalModel(
        [plain((*shape[:-1], length + 2), dtype)],
        [plain(shape, dtype)],
        {"T": TYPE_NUMBERS[dtype], "fft_length": length},
        tolerance=NO_INTEGERS,
    )


def energy(draw: Draw) -> SignalModel:
    bins = draw.number(1, 40)
    begin = draw.number(0, bins - 1)
    end = draw.number(begin + 1, bins)
    return SignalModel(
        [plain((2 * bins,), "int16")],
        [plain((bins,), "uint32")],
        {"end_index": end, "start_index": begin},
        (begin, end),
    )


def filter_bank(draw: Draw) -> SignalModel:
    channels, bins = draw.number(1, 12), draw.number(4, 60)
    widths = draw.generator.integers(0, min(bins, 9), channels + 1)
    count = int(widths.sum()) + 3
    starts = [draw.number(0, bins - width) for width in widths.tolist()]
    places = [draw.number(0, count - width) for width in widths.tolist()]
    tables = [Constant(np.array(values, np.int16)) for values in (starts, places, widths)]
    weights = [whole_range(draw, (count,), "int16") for _ in range(2)]
    inputs = [plain((bins,), "uint32"), *weights, *tables]
    return SignalModel(inputs, [plain((channels,), "uint64")], {"num_channels": channels})


def square_root(draw: Draw) -> SignalModel:
    count = draw.number(1, 30)
    bits = Constant(np.array(draw.number(0, 31), np.int32))
    inputs = [plain((count,), "uint64"), bits if draw.flag() else plain((), "int32")]
    return SignalModel(inputs, [plain((count,), "uint32")])


def spectral_subtraction(draw: Draw) -> SignalModel:
    data = plain((draw.number(1, 20),), "uint32")
    bits = draw.choice((0, 4, 14, 16, 30))
    factors = [draw.number(0, 1 << bits) if draw.flag(0.8) else 2**31 - 1 for _ in range(2)]
    rest = [(1 << bits) - f if draw.flag(0.8) else draw.number(0, 2**31 - 1) for f in factors]
    return SignalModel(
        [data],
        [data, data],
        {
            "alternate_one_minus_smoothing": max(rest[1], 0),
            "alternate_smoothing": factors[1],
            "clamping": draw.flag(),
            "min_signal_remaining": draw.number(0, 1 << bits),
            "num_channels": data.shape[0],
            "one_minus_smoothing": max(rest[0], 0),
            "smoothing": factors[0],
            "smoothing_bits": draw.choice((0, 5, 10, 31)),
            "spectral_subtraction_bits": bits,
        },
    )


def gain_control(draw: Draw) -> SignalModel:
    data = plain((draw.number(1, 30),), "uint32")
    table = whole_range(draw, (draw.choice((125, 128)),), "int16")
    if draw.flag(0.2):
        table = plain(table.data.shape, "int16")
    shift = draw.choice((0, 6, 20, 40, 63))
    return SignalModel([data, data, table], [data], {"snr_shift": shift})


def logarithm(draw: Draw) -> SignalModel:
    shape = (draw.number(1, 40),)
    scale = draw.choice((1, 64, 1600, 2**16, 2**31 - 1))
    return SignalModel(
        [plain(shape, "uint32")],
        [plain(shape, "int16")],
        {"input_correction_bits": draw.choice((0, 3, 16, 31)), "output_scale": scale},
    )


def framer(draw: Draw) -> SignalModel:
    size = draw.number(1, 20)
    step, count = draw.number(1, size), draw.number(1, 4)
    shape = rows(draw, step * count)
    return SignalModel(
        [plain(shape, "int16")],
        [plain((*shape[:-1], count, size), "int16"), plain((), "bool")],
        {"frame_size": size, "frame_step": step, "prefill": draw.flag()},
        is_masked=True,
    )


def delay(draw: Draw) -> SignalModel:
    data = plain(rows(draw, draw.number(1, 12)), "int16")
    return SignalModel([data], [data], {"delay_length": draw.number(0, 30)})


def stacker(draw: Draw) -> SignalModel:
    channels, left, right = draw.number(1, 6), draw.number(0, 3), draw.number(0, 3)
    frames = left + right + 1
    return SignalModel(
        [plain((channels,), "int16")],
        [plain((channels * frames,), "int16"), plain((), "bool")],
        {
            "num_channels": channels,
            "stacker_left_context": left,
            "stacker_right_context": right,
            "stacker_step": draw.number(1, frames),
        },
        is_masked=True,
    )


def overlap_add(draw: Draw) -> SignalModel:
    size, count, dtype = draw.number(1, 16), draw.number(1, 4), draw.choice(("int16", "float32"))
    step = draw.number(1, size)
    outer = rows(draw, count)
    return SignalModel(
        [plain((*outer, size), dtype)],
        [plain((*outer[:-1], count * step), dtype)],
        {"T": TYPE_NUMBERS[dtype], "frame_step": step},
    )


DRAFTS: dict[str, Callable[[Draw], SignalModel]] = {
    "SignalDelay": delay,
    "SignalEnergy": energy,
    "SignalFftAutoScale": fft_auto_scale,
    "SignalFilterBank": filter_bank,
    "SignalFilterBankLog": logarithm,
    "SignalFilterBankSpectralSubtraction": spectral_subtraction,
    "SignalFilterBankSquareRoot": square_root,
    "SignalFramer": framer,
    "SignalIrfft": irfft,
    "SignalOverlapAdd": overlap_add,
    "SignalPCAN": gain_control,
    "SignalRfft": rfft,
    "SignalStacker": stacker,
    "SignalWindow": window,
}


def values(draw: Draw, tensor: GraphTensor) -> np.ndarray:
    """Loud, quiet or silent samples, or the limits of the type; each may be anywhere."""
    if tensor.dtype.kind == "f":
        scale = draw.choice((1e-3, 1.0, 100.0))
        return (draw.generator.standard_normal(tensor.shape) * scale).astype(tensor.dtype)
    low, high = (int(limit) for limit in tensor.limits)
    bits = draw.generator.integers(0, tensor.dtype.itemsize * 8, tensor.shape)
    kind = draw.choice(("whole", "sizes", "few", "limits", "zero"))
    if kind == "whole":
        return draw.generator.integers(low, high, tensor.shape, tensor.dtype, endpoint=True)
    if kind == "limits":
        return draw.generator.choice(
            np.array([low, low + 1, 0, high - 1, high], tensor.dtype), tensor.shape
        )
    if kind == "few":
        return draw.generator.integers(max(low, -3), 4, tensor.shape, tensor.dtype)
    if kind == "zero":
        return np.zeros(tensor.shape, tensor.dtype)
    whole = draw.generator.integers(low, high, tensor.shape, tensor.dtype, endpoint=True)
    return np.asarray(whole >> bits.astype(tensor.dtype), tensor.dtype)


def signal_generator(code: str) -> Generator:
    """The trials of one of the operators."""

    def generate(random: Random) -> Trial:
        draw = Draw(random)
        model = DRAFTS[code](draw)
        content = model.content(code)
        tensors, _ = graph_tensors(content)
        runs = [{t.name: np.asarray(values(draw, t)) for t in tensors} for _ in range(RUNS)]
        shown = f"{dict(model.options)} {describe(Model(model.inputs, model.outputs))}"
        drawn = Model([], [], tolerance=model.tolerance)
        return trial(custom_operator(code), content, shown, drawn, random, runs)

    return generate


def spectrum_generator(code: str) -> Generator:
    """Trials of a transform of matrices, and of what makes real numbers of it."""

    def generate(random: Random) -> Trial:
        draw = Draw(random)
        height, width = draw.choice((1, 1, 2, 4, 8, 32)), draw.choice((4, 8, 16, 64))
        shape = (*rows(draw, draw.number(1, 9))[:-1], draw.number(1, 9), draw.number(1, 70))
        spectrum = (*shape[:-2], height, width // 2 + 1)
        flat = (int(np.prod(spectrum)),) if draw.flag() else spectrum
        graph = Graph()
        x, lengths = (
            graph.input(shape, "float32"),
            graph.constant(np.array([height, width], np.int32)),
        )
        numbers, result = graph.tensor(spectrum, "complex64"), graph.tensor(flat, "float32")
        graph.operator("RFFT2D", [x, lengths], [numbers])
        if flat != spectrum:
            moved, to = graph.tensor(flat, "complex64"), graph.constant(np.array(flat, np.int32))
            graph.operator("RESHAPE", [numbers, to], [moved])
            numbers = moved
        kind = draw.choice(("REAL", "IMAG", "COMPLEX_ABS")) if code == "RFFT2D" else code
        graph.operator(kind, [numbers], [result])
        graph.output(result)
        content = write_model(graph)
        shown = f"float32{list(shape)} to {height}, {width}, {kind}"
        tolerance = Tolerance(1e-5, 2e-6 * float(np.sqrt(height * width)))
        tensors, _ = graph_tensors(content)
        runs = [random_inputs(tensors, draw.number(0, 2**32)) for _ in range(RUNS)]
        return trial(code, content, shown, Model([], [], tolerance=tolerance), random, runs)

    return generate


GENERATORS = {
    **{custom_operator(code): signal_generator(code) for code in DRAFTS},
    **{code: spectrum_generator(code) for code in ("RFFT2D", "REAL", "IMAG", "COMPLEX_ABS")},
}
