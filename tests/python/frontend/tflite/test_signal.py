"""TFLite Micro's signal library: state, memory, folded constants, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from flatbuffers import flexbuffers
from tvm.ir.transform import PassContext

import usmp
from support.micro import Micro
from support.poison import poisoned
from support.quantized_models.model import Constant, Spec, add_input, add_tensor
from support.signal_models import front_end
from support.tflite_builder import Graph, write_model
from support.tflite_refusals import message_of
from usmp.frontend.tflite.importer import import_tflite
from usmp.relax.limits import Limits

RUNS = 6
SAMPLES = Spec((8,), 0, 0, "int16")
FLAG, BITS = Spec((), 0, 0, "bool"), Spec((), 0, 0, "int32")
CHANNELS, SUMS = Spec((4,), 0, 0, "uint32"), Spec((4,), 0, 0, "uint64")
SUBTRACTION = {
    "alternate_one_minus_smoothing": 1,
    "alternate_smoothing": 1,
    "clamping": False,
    "min_signal_remaining": 1,
    "num_channels": 4,
    "one_minus_smoothing": 1,
    "smoothing": 1,
    "smoothing_bits": 1,
    "spectral_subtraction_bits": 1,
}
STACKER = {
    "num_channels": 8,
    "stacker_left_context": 1,
    "stacker_right_context": 1,
    "stacker_step": 1,
}


def model(
    code: str,
    inputs: list[Spec | Constant],
    outputs: list[Spec],
    options: Mapping[str, object] | bytes | None = None,
) -> bytes:
    """One custom operator."""
    graph = Graph()
    arguments = [add_input(graph, value) for value in inputs]
    results = [add_tensor(graph, spec) for spec in outputs]
    content = flexbuffers.Dumps(options) if isinstance(options, Mapping) else options
    graph.operator("CUSTOM", arguments, results, custom_code=code, custom_options=content)
    graph.output(*results)
    return write_model(graph)


def refusal(*arguments: object) -> str:
    """Why the model is refused, behind the operator's name, number and results."""
    message = message_of(model(*arguments))
    place, reason = message.split('"): ', 1)
    assert place.startswith(f'operator 0 (CUSTOM "{arguments[0]}", output "')
    return reason


def short(*values: int) -> Constant:
    return Constant(np.array(values, np.int16))


def bank(starts: tuple[int, ...], places: tuple[int, ...], widths: tuple[int, ...]) -> tuple:
    """A filter bank of four channels, over 6 bins, with 9 weights."""
    tables = [short(*values) for values in (starts, places, widths)]
    weights = [short(*range(9))] * 2
    inputs = [Spec((6,), 0, 0, "uint32"), *weights, *tables]
    return "SignalFilterBank", inputs, [SUMS], {"num_channels": 4}


def rfft(length: int, **options: int) -> tuple:
    given = {"T": 7, "fft_length": length, **options}
    return "SignalRfft", [SAMPLES], [SAMPLES(length + 2)], given


COMPUTED = [CHANNELS, SAMPLES, SAMPLES, *(SAMPLES(5) for _ in range(3))]
"""What a filter bank reads, none of it constant."""
REFUSED = {
    "shift": (
        ("SignalWindow", [SAMPLES, SAMPLES], [SAMPLES], {"shift": 32}),
        "option shift is 32; supported: 0 to 31",
    ),
    "rows": (
        ("SignalWindow", [SAMPLES(2, 4), SAMPLES], [SAMPLES(2, 4)], {"shift": 1}),
        'input "t0" has shape [2, 4]; its last axis should have the 8 elements of the weight',
    ),
    "type": (
        ("SignalEnergy", [CHANNELS], [CHANNELS(2)], {"end_index": 1, "start_index": 0}),
        'input "t0" is of type uint32; supported: int16',
    ),
    "index": (
        ("SignalEnergy", [SAMPLES], [CHANNELS], {"end_index": 5, "start_index": 0}),
        "option end_index is 5; supported: 0 to 4",
    ),
    "outputs": (
        ("SignalFftAutoScale", [SAMPLES], [SAMPLES]),
        "it has 1 inputs and 1 outputs, not 1 and 2",
    ),
    "prime": (
        rfft(14),
        "option fft_length is 14; supported: even numbers without other prime factors than 2, 3 "
        "and 5, for which the kernels have memory",
    ),
    "odd": (
        rfft(9),
        "option fft_length is 9; supported: even numbers without other prime factors than 2, 3 "
        "and 5, for which the kernels have memory",
    ),
    "long_rows": (
        rfft(6),
        'input "t0" has rows of 8 elements, and option fft_length is 6; supported: rows that are '
        "not longer",
    ),
    "huge": (rfft(8, fft_length=2**31), "option fft_length is 2147483648; supported: 4 to 65536"),
    "other_type": (rfft(8, T=0), "option T is 0; supported: 7 to 7"),
    "irfft_output": (
        ("SignalIrfft", [SAMPLES(10)], [SAMPLES(7)], {"T": 7, "fft_length": 8}),
        'output "t1" has shape [7]; it should be [8]',
    ),
    "beyond_spectrum": (
        bank((0, 1, 2, 3, 4), (0, 0, 0, 0, 0), (1, 1, 1, 1, 3)),
        'input "t0" has 6 elements, and the channels reach over 7',
    ),
    "beyond_weights": (
        bank((0, 0, 0, 0, 0), (0, 1, 2, 3, 8), (1, 1, 1, 1, 2)),
        "a channel of the filter bank reaches beyond its weights",
    ),
    "before_spectrum": (
        bank((0, 0, -1, 0, 0), (0, 0, 0, 0, 0), (1, 1, 1, 1, 1)),
        "a channel of the filter bank reaches beyond its weights",
    ),
    "computed_weights": (
        ("SignalFilterBank", COMPUTED, [SUMS], {"num_channels": 4}),
        'input 1, "t1", is computed; only a constant is supported',
    ),
    "channels": (
        (
            "SignalFilterBankSpectralSubtraction",
            [CHANNELS],
            [CHANNELS, CHANNELS],
            SUBTRACTION | {"num_channels": 5},
        ),
        "option num_channels is 5; supported: 4 to 4",
    ),
    "negative": (
        (
            "SignalFilterBankSpectralSubtraction",
            [CHANNELS],
            [CHANNELS, CHANNELS],
            SUBTRACTION | {"smoothing": -1},
        ),
        "option smoothing is -1; supported: 0 to 2147483647",
    ),
    "small_table": (
        ("SignalPCAN", [CHANNELS, CHANNELS, SAMPLES], [CHANNELS], {"snr_shift": 6}),
        'table "t2" has 8 elements; supported: 125 and more',
    ),
    "scale_bits": (
        ("SignalFilterBankSquareRoot", [SUMS, BITS(1)], [CHANNELS]),
        'scale bits "t1" has shape [1]; supported: 0 axes',
    ),
    "step": (
        (
            "SignalFramer",
            [SAMPLES],
            [SAMPLES(2, 3), FLAG],
            {"frame_size": 3, "frame_step": 4, "prefill": True},
        ),
        "option frame_step is 4, with frame_size 3 and rows of 8 elements; supported: at most "
        "frame_size, and a divisor of the length of the rows",
    ),
    "delay": (
        ("SignalDelay", [SAMPLES], [SAMPLES], {"delay_length": -1}),
        "option delay_length is -1; supported: 0 to 1048576",
    ),
    "long_delay": (
        ("SignalDelay", [SAMPLES(1000, 1)], [SAMPLES(1000, 1)], {"delay_length": 2**20}),
        "the state of shape [1000, 1048576] takes 2097152000 bytes; a tensor may take 268435456, "
        "which --max-model-bytes (in Python max_model_bytes) can raise",
    ),
    "stacker_step": (
        ("SignalStacker", [SAMPLES], [SAMPLES(24), FLAG], STACKER | {"stacker_step": 4}),
        "option stacker_step is 4; supported: 1 to 3, the frames of a result",
    ),
    "overlap": (
        ("SignalOverlapAdd", [SAMPLES(2, 4)], [SAMPLES(10)], {"T": 7, "frame_step": 5}),
        "option frame_step is 5; supported: 1 to 4",
    ),
    "no_options": (
        ("SignalDelay", [SAMPLES], [SAMPLES]),
        'it has no options; it needs "delay_length"',
    ),
    "other_option": (
        ("SignalDelay", [SAMPLES], [SAMPLES], {"delay": 1}),
        'it has the options "delay", not "delay_length"',
    ),
    "text": (
        ("SignalDelay", [SAMPLES], [SAMPLES], {"delay_length": '"; system("x'}),
        'its options are damaged, or no map of 1 integers: it needs "delay_length"',
    ),
    "list": (
        ("SignalDelay", [SAMPLES], [SAMPLES], flexbuffers.Dumps([1, 2])),
        'its options are damaged, or no map of 1 integers: it needs "delay_length"',
    ),
    "bytes": (
        ("SignalDelay", [SAMPLES], [SAMPLES], bytes(range(1, 99))),
        'its options are damaged, or no map of 1 integers: it needs "delay_length"',
    ),
}


@pytest.mark.parametrize("start", [-1, 7])
def test_a_channel_without_numbers_begins_anywhere(start):
    """Nothing is read there."""
    arguments = bank((0, 1, start, 3, 4), (0, 0, start + 3, 0, 0), (1, 1, 0, 1, 2))
    assert "R.call_tir(cls.filter_bank, " in import_tflite(model(*arguments)).script()


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    arguments, message = REFUSED[name]
    assert refusal(*arguments) == message


def spectrum(*operators: tuple[str, str], lengths: tuple[int, ...] = (1, 8)) -> bytes:
    """A transform of matrices, and operators of one input, by name and type."""
    graph = Graph()
    tensor = graph.input((1, 8), "float32")
    shape = (lengths[0], lengths[1] // 2 + 1)
    inputs = [tensor, graph.constant(np.array(lengths, np.int32))]
    for code, dtype in (("RFFT2D", "complex64"), *operators):
        tensor = graph.tensor(shape, dtype)
        graph.operator(code, inputs, [tensor])
        inputs = [tensor]
    graph.output(tensor)
    return write_model(graph)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            spectrum(),
            'tensor "t2" is of type complex64; supported only for results of RFFT2D, of which '
            "COMPLEX_ABS, REAL or IMAG makes real numbers",
        ),
        (
            spectrum(("NEG", "complex64"), ("REAL", "float32")),
            'operator 1 (NEG, output "t3"): tensor "t3" is of type complex64; supported only for '
            "results of RFFT2D, of which COMPLEX_ABS, REAL or IMAG makes real numbers",
        ),
        (
            spectrum(("CAST", "float32")),
            'operator 1 (CAST, output "t3"): tensor "t2" is of type complex64; supported only in '
            "RFFT2D, COMPLEX_ABS, REAL, IMAG, RESHAPE, SQUEEZE, EXPAND_DIMS",
        ),
        (
            spectrum(("REAL", "float32"), lengths=(3, 8)),
            'operator 0 (RFFT2D, output "t2"): the height of the transform is 3; supported: powers '
            "of two from 1 to 65536",
        ),
        (
            spectrum(("REAL", "float32"), lengths=(1, 2)),
            'operator 0 (RFFT2D, output "t2"): the width of the transform is 2; supported: powers '
            "of two from 4 to 65536",
        ),
    ],
    ids=["output", "operator", "input", "height", "width"],
)
def test_complex_numbers_are_inside_of_a_model_only(content, message):
    assert message_of(content) == message


@pytest.mark.slow
@pytest.mark.models
def test_a_front_end_is_that_of_tflite_micro_from_the_first_run_and_after_a_reset():
    content = front_end()
    with PassContext(config={"tir.usmp.use_workspace_io": True}):
        factory = usmp.build(import_tflite(content))
    module = poisoned(factory).load()
    generator = np.random.default_rng(0)
    runs = [
        {"samples": (generator.standard_normal(20) * 10**power).clip(-32768, 32767).astype("int16")}
        for power in (2, 3, 5, 4, 1, 3)
    ]
    for _ in range(2):
        reference = Micro(content)
        for inputs in runs:
            actual, expected = module.run(inputs), reference.run(inputs)
            assert {k: v.tobytes() for k, v in actual.items()} == {
                k: v.tobytes() for k, v in expected.items()
            }
        assert all(np.count_nonzero(value) for value in actual.values())
        module.reset()


def test_states_that_are_large_together_are_refused():
    graph = Graph()
    tensor = graph.input((100, 1), "int16")
    for _ in range(3):
        inputs, tensor = [tensor], graph.tensor((100, 1), "int16")
        content = flexbuffers.Dumps({"delay_length": 1000})
        graph.operator(
            "CUSTOM", inputs, [tensor], custom_code="SignalDelay", custom_options=content
        )
    graph.output(tensor)
    content = write_model(graph)
    import_tflite(content, Limits(600_000))
    reason = r": the states up to here take 600000 bytes; they may take 599999, which"
    with pytest.raises(usmp.UnsupportedModelError, match="^operator 2 .*" + reason):
        import_tflite(content, Limits(599_999))


@pytest.mark.slow
def test_a_front_end_has_states_and_no_scratch():
    factory = usmp.build(import_tflite(front_end()))
    buffers = [
        (buffer["kind"], buffer["size"])
        for pool in factory.metadata["modules"]["default"]["memory"]["pools"]
        for buffer in pool["buffers"]
        if pool["kind"] == "workspace"
    ]
    states = sorted(size for kind, size in buffers if kind == "state")
    # The samples of the frame before, the noise of 6 channels, two frames of features, a phase.
    assert states == [4, 2 * 10, 2 * 2 * 6, 4 * 6]
    assert max(size for kind, size in buffers) == 4 * 17
