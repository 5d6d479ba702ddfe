"""SVDF and UNIDIRECTIONAL_SEQUENCE_LSTM: their state lives in variable tensors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from support.tflite_builder import ABSENT, Graph, options, per_tensor, write_model

from .model import ACTIVATIONS, QuantizedModel, generator_of, models

TANH = 4
_STATE_DEVIATION = 8000
"""Of 32767, so that an int16 state seldom saturates."""


@dataclass(frozen=True)
class Svdf:
    """`units` outputs, each of `rank` filters that remember `memory` inputs."""

    batch: int = 1
    features: int = 12
    units: int = 8
    rank: int = 1
    memory: int = 6
    state: str = "int16"
    zero_points: tuple[int, int] = (-3, 5)
    activation: str = "NONE"
    time_low: int = -1
    y_scale: float = 0.07


def svdf(case: Svdf) -> bytes:
    """The file of `svdf_graph`."""
    return write_model(svdf_graph(case))


def svdf_graph(case: Svdf) -> Graph:
    """One SVDF with weights of int8, and time weights of the type of the state."""
    generator = generator_of(case)
    filters, taps = case.units * case.rank, case.memory * case.rank
    x_scale, feature_scale = 0.05, 0.004
    deviation, largest = (_STATE_DEVIATION, 32767) if case.state == "int16" else (35, 127)
    # The sum over time must fit in int32 even if every state is as large as it can be.
    limit = min(2**30 // (32767 * taps), largest)
    state_scale = x_scale * feature_scale * 73 * 74 * np.sqrt(case.features) / deviation
    total = deviation * limit / np.sqrt(3) * np.sqrt(taps)
    time_scale = case.y_scale * 50 / (state_scale * total)
    features = generator.integers(-127, 127, (filters, case.features), np.int8, endpoint=True)
    times = generator.integers(case.time_low * limit, limit, (filters, case.memory), endpoint=True)
    bias = generator.uniform(-total / 2, total / 2, case.units).astype(np.int32)

    graph = Graph()
    x = graph.input((case.batch, case.features), "int8", per_tensor(x_scale, case.zero_points[0]))
    weights = graph.constant(features, per_tensor(feature_scale))
    time = graph.constant(times.astype(case.state), per_tensor(time_scale))
    bias_scale = float(np.float32(state_scale) * np.float32(time_scale))
    biases = graph.constant(bias, per_tensor(bias_scale))
    state = graph.tensor(
        (case.batch, case.memory * filters), case.state, per_tensor(state_scale), is_variable=True
    )
    y_quantization = per_tensor(case.y_scale, case.zero_points[1])
    y = graph.tensor((case.batch, case.units), "int8", y_quantization)
    activation = ACTIVATIONS[case.activation]
    table = options("SVDFOptions", rank=case.rank, fused_activation_function=activation)
    graph.operator("SVDF", [x, weights, time, biases, state], [y], table)
    graph.output(y)
    return graph


@dataclass(frozen=True)
class Lstm:
    """Input is (batch, steps, features), or (steps, batch, features) if `time_major`."""

    batch: int = 1
    steps: int = 5
    features: int = 6
    units: int = 7
    time_major: bool = False
    cell_clip: float = 10.0
    cell_power: int = 12
    zero_points: tuple[int, int] = (-3, 0)
    dtype: str = "int8"
    strength: float = 1.5

    @property
    def outer(self) -> tuple[int, int]:
        """The first two axes of input and output."""
        return (self.steps, self.batch) if self.time_major else (self.batch, self.steps)

    @property
    def x_scale(self) -> float:
        """The scale of the input."""
        return 2 / np.iinfo(self.dtype).max


def lstm(case: Lstm) -> bytes:
    """The file of `lstm_graph`."""
    return write_model(lstm_graph(case))


def lstm_graph(case: Lstm) -> Graph:
    """One UNIDIRECTIONAL_SEQUENCE_LSTM without peepholes, projection or normalization."""
    graph = Graph()
    shape = (*case.outer, case.features)
    x = graph.input(shape, case.dtype, per_tensor(case.x_scale, case.zero_points[0]))
    graph.output(add_lstm(graph, case, x))
    return graph


def add_lstm(graph: Graph, case: Lstm, x: int) -> int:
    """Append an LSTM that reads `x`; its output."""
    generator = generator_of(case)
    limit = np.iinfo(case.dtype).max
    x_scale, h_scale = case.x_scale, 1 / limit
    bias_type = np.int32 if case.dtype == "int8" else np.int64
    h_quantization = per_tensor(h_scale, case.zero_points[1])

    def weights(columns: int, input_scale: float) -> tuple[int, float]:
        data = generator.integers(-127, 127, (case.units, columns), np.int8, endpoint=True)
        # A sum of `columns` products is then about `strength` large.
        scale = case.strength / (input_scale * limit / np.sqrt(3) * 73 * np.sqrt(columns))
        scale *= float(generator.uniform(0.7, 1.3))
        return graph.constant(data, per_tensor(scale)), scale

    of_input = [weights(case.features, x_scale) for _ in range(4)]
    of_state = [weights(case.units, h_scale) for _ in range(4)]
    biases = []
    for _, scale in of_input:
        product = float(np.float32(scale) * np.float32(x_scale))
        values = (generator.uniform(-1, 1, case.units) / product).astype(bias_type)
        biases.append(graph.constant(values, per_tensor(product)))
    shape = (case.batch, case.units)
    hidden = graph.tensor(shape, case.dtype, h_quantization, is_variable=True)
    cell = graph.tensor(shape, "int16", per_tensor(2.0**-case.cell_power), is_variable=True)
    intermediates = [graph.tensor((0,), "float32") for _ in range(4)]
    intermediates.append(graph.tensor((0,), case.dtype, h_quantization))
    y = graph.tensor((*case.outer, case.units), case.dtype, h_quantization)
    inputs = [x, *(tensor for tensor, _ in of_input), *(tensor for tensor, _ in of_state)]
    inputs += [ABSENT] * 3 + biases + [ABSENT] * 2 + [hidden, cell] + [ABSENT] * 4
    table = options(
        "UnidirectionalSequenceLSTMOptions",
        fused_activation_function=TANH,
        cell_clip=case.cell_clip,
        time_major=case.time_major,
    )
    graph.operator("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, [y], table, intermediates=intermediates)
    return y


SVDFS = {
    "plain": Svdf(),
    "rank_2": Svdf(rank=2),
    "rank_3_odd": Svdf(rank=3, units=5, features=7, memory=3),
    "two_batches": Svdf(batch=2),
    "memory_1": Svdf(memory=1),
    "one_unit": Svdf(units=1, features=3),
    "relu": Svdf(activation="RELU", zero_points=(-128, -128), y_scale=0.04),
    "zero_points_highest": Svdf(zero_points=(127, 90), y_scale=0.07),
    "int8_state": Svdf(state="int8"),
    "int8_state_rank_2": Svdf(state="int8", rank=2, batch=2),
}
LSTMS = {
    "plain": Lstm(),
    "one_step": Lstm(steps=1),
    "two_batches": Lstm(batch=2),
    "time_major": Lstm(batch=3, time_major=True),
    "small_cell_scale": Lstm(cell_power=15),
    "large_cell_scale": Lstm(cell_power=9),
    "cell_clip": Lstm(cell_clip=0.7),
    "no_cell_clip": Lstm(cell_clip=0.0),
    "lowest_zero_points": Lstm(zero_points=(-128, -10)),
    "highest_zero_points": Lstm(zero_points=(127, 20)),
    "strong": Lstm(strength=8.0),
    "weak": Lstm(strength=0.3, units=3),
    "int16": Lstm(dtype="int16", zero_points=(0, 0)),
    # In single precision, the product of two scales rounds to another multiplier of 16 bits.
    "int16_product_of_scales": Lstm(
        features=3,
        time_major=True,
        cell_clip=0.0,
        cell_power=10,
        zero_points=(0, 0),
        dtype="int16",
        strength=0.334964394569397,
    ),
}

MODELS: list[QuantizedModel] = [
    *models("svdf", svdf, SVDFS),
    *models("lstm", lstm, LSTMS),
]
