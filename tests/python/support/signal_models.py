"""A keyword spotter's way from samples to features, of the operators of TFLite Micro's signal
library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from flatbuffers import flexbuffers

from support.tflite_builder import Graph, write_model

INT16, INT32, UINT32 = 7, 2, 15
"""Numbers of element types."""


@dataclass
class SignalGraph:
    """A graph that grows by custom operators."""

    graph: Graph = field(default_factory=Graph)

    def add(
        self,
        code: str,
        inputs: Sequence[int],
        results: Sequence[tuple[Sequence[int], str]],
        options: Mapping[str, int | bool] | None = None,
    ) -> list[int]:
        """The results, each of a shape and a type."""
        outputs = [self.graph.tensor(shape, dtype) for shape, dtype in results]
        content = flexbuffers.Dumps(dict(options)) if options else None
        self.graph.operator("CUSTOM", inputs, outputs, custom_code=code, custom_options=content)
        return outputs

    def int16(self, values: Sequence[int] | np.ndarray) -> int:
        return self.graph.constant(np.array(values, np.int16))


def front_end(
    step: int = 20, size: int = 30, length: int = 32, channels: int = 6, context: int = 2
) -> bytes:
    """Frames of samples, their spectrum, a filter bank without its noise, its logarithm, and the
    last of these one after the other."""
    signal, bins = SignalGraph(), length // 2 + 1
    samples = signal.graph.input((step,), "int16", name="samples")
    frame_options = {"frame_size": size, "frame_step": step, "prefill": True}
    frame, _ = signal.add(
        "SignalFramer", [samples], [((1, size), "int16"), ((), "bool")], frame_options
    )
    shape = np.round(4096 * np.sin(np.pi * (np.arange(size) + 0.5) / size) ** 2)
    weights = [frame, signal.int16(shape)]
    (windowed,) = signal.add("SignalWindow", weights, [((1, size), "int16")], {"shift": 12})
    row = signal.graph.tensor((size,), "int16")
    place = signal.graph.constant(np.array([size], np.int32))
    signal.graph.operator("RESHAPE", [windowed, place], [row])
    scaled, bits = signal.add("SignalFftAutoScale", [row], [((size,), "int16"), ((), "int32")])
    (spectrum,) = signal.add(
        "SignalRfft", [scaled], [((length + 2,), "int16")], {"T": INT16, "fft_length": length}
    )
    (energy,) = signal.add(
        "SignalEnergy", [spectrum], [((bins,), "uint32")], {"end_index": bins, "start_index": 0}
    )
    summed = _filter_bank(signal, energy, bins, channels)
    (root,) = signal.add("SignalFilterBankSquareRoot", [summed, bits], [((channels,), "uint32")])
    subtraction = {
        "alternate_one_minus_smoothing": 15401,
        "alternate_smoothing": 983,
        "clamping": False,
        "min_signal_remaining": 819,
        "num_channels": channels,
        "one_minus_smoothing": 15975,
        "smoothing": 409,
        "smoothing_bits": 10,
        "spectral_subtraction_bits": 14,
    }
    both = [((channels,), "uint32")] * 2
    clean, noise = signal.add("SignalFilterBankSpectralSubtraction", [root], both, subtraction)
    gains = signal.int16(np.random.default_rng(0).integers(0, 2**15, 125))
    (even,) = signal.add(
        "SignalPCAN", [clean, noise, gains], [((channels,), "uint32")], {"snr_shift": 6}
    )
    (features,) = signal.add(
        "SignalFilterBankLog",
        [even],
        [((channels,), "int16")],
        {"input_correction_bits": 3, "output_scale": 64},
    )
    stacking = {
        "num_channels": channels,
        "stacker_left_context": context,
        "stacker_right_context": 0,
        "stacker_step": 1,
    }
    stacked, _ = signal.add(
        "SignalStacker",
        [features],
        [((channels * (context + 1),), "int16"), ((), "bool")],
        stacking,
    )
    signal.graph.output(stacked, noise)
    return write_model(signal.graph)


def _filter_bank(signal: SignalGraph, energy: int, bins: int, channels: int) -> int:
    """Triangles that overlap, of about the same width."""
    ends = np.linspace(0, bins, channels + 2).astype(int)
    widths = np.diff(ends)
    weights = np.concatenate([np.linspace(0, 4096, w, endpoint=False) for w in widths]).round()
    (summed,) = signal.add(
        "SignalFilterBank",
        [
            energy,
            signal.int16(weights),
            signal.int16(4096 - weights),
            signal.int16(ends[:-1]),
            signal.int16(ends[:-1]),
            signal.int16(widths),
        ],
        [((channels,), "uint64")],
        {"num_channels": channels},
    )
    return summed
