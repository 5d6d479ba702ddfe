"""TFLite files of one recurrent operator on float32; their state lives in variable tensors."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from support.quantized_models.model import ACTIVATIONS, generator_of
from support.tflite_builder import ABSENT, Graph, options, write_model

_TABLES = {
    "UNIDIRECTIONAL_SEQUENCE_LSTM": "UnidirectionalSequenceLSTMOptions",
    "BIDIRECTIONAL_SEQUENCE_LSTM": "BidirectionalSequenceLSTMOptions",
    "RNN": "RNNOptions",
    "UNIDIRECTIONAL_SEQUENCE_RNN": "SequenceRNNOptions",
    "BIDIRECTIONAL_SEQUENCE_RNN": "BidirectionalSequenceRNNOptions",
}
FUSED = {**ACTIVATIONS, "TANH": 4}


@dataclass(frozen=True)
class Layer:
    """Input is (batch, steps, features), (steps, batch, features) if `time_major`, or of `RNN`
    (batch, features). The second number of units is that of the backward direction."""

    operator: str
    batch: int = 1
    steps: int = 5
    features: int = 3
    units: tuple[int, int] = (4, 4)
    time_major: bool = False
    activation: str = "TANH"
    cell_clip: float = 0.0
    merges: bool = False
    strength: float = 1.0

    @property
    def is_lstm(self) -> bool:
        return self.operator.endswith("LSTM")

    @property
    def directions(self) -> int:
        return 2 if self.operator.startswith("BIDIRECTIONAL") else 1

    @property
    def outer(self) -> tuple[int, ...]:
        """The axes of input and output but the last."""
        if self.operator == "RNN":
            return (self.batch,)
        return (self.steps, self.batch) if self.time_major else (self.batch, self.steps)


def layer(case: Layer) -> bytes:
    """The file of `layer_graph`."""
    return write_model(layer_graph(case))


def layer_graph(case: Layer) -> Graph:
    """One operator."""
    graph = Graph()
    x = graph.input((*case.outer, case.features), "float32")
    graph.output(*add_layer(graph, case, x))
    return graph


def add_layer(graph: Graph, case: Layer, x: int) -> list[int]:
    """Append an operator without peepholes, projection, normalization and auxiliary inputs, which
    reads `x`; its outputs. Merged ones are of the same weights as others."""
    generator = generator_of(replace(case, merges=False))

    def weight(*shape: int) -> int:
        values = generator.uniform(-case.strength, case.strength, shape)
        return graph.constant(values.astype(np.float32))

    def state(units: int) -> int:
        return graph.tensor((case.batch, units), "float32", is_variable=True)

    inputs, states = [x], []
    for units in case.units[: case.directions]:
        if case.is_lstm:
            inputs += [weight(units, case.features) for _ in range(4)]
            inputs += [weight(units, units) for _ in range(4)]
            inputs += [ABSENT] * 3 + [weight(units) for _ in range(4)] + [ABSENT] * 2
            states += [state(units), state(units)]
        else:
            inputs += [weight(units, case.features), weight(units, units), weight(units)]
            inputs.append(state(units))
    inputs += states
    fields: dict[str, object] = {"fused_activation_function": FUSED[case.activation]}
    if case.is_lstm:
        fields["cell_clip"] = case.cell_clip
    if case.operator != "RNN":
        fields["time_major"] = case.time_major
    if case.directions == 2:
        fields["merge_outputs"] = case.merges
        inputs += [ABSENT] * (9 if case.is_lstm else 3)
    elif case.is_lstm:
        inputs += [ABSENT] * 4
    widths = [sum(case.units)] if case.merges else list(case.units[: case.directions])
    outputs = [graph.tensor((*case.outer, width), "float32") for width in widths]
    graph.operator(case.operator, inputs, outputs, options(_TABLES[case.operator], **fields))
    return outputs


@dataclass(frozen=True)
class FloatSvdf:
    """`units` outputs, each of `rank` filters that remember `memory` inputs."""

    batch: int = 1
    features: int = 5
    units: int = 4
    rank: int = 1
    memory: int = 6
    activation: str = "NONE"
    has_bias: bool = True


def float_svdf(case: FloatSvdf) -> bytes:
    """One SVDF."""
    graph, generator = Graph(), generator_of(case)
    filters = case.units * case.rank

    def weight(*shape: int) -> int:
        return graph.constant(generator.uniform(-1, 1, shape).astype(np.float32))

    x = graph.input((case.batch, case.features), "float32")
    inputs = [x, weight(filters, case.features), weight(filters, case.memory)]
    inputs.append(weight(case.units) if case.has_bias else ABSENT)
    state = (case.batch, filters * case.memory)
    inputs.append(graph.tensor(state, "float32", is_variable=True))
    y = graph.tensor((case.batch, case.units), "float32")
    table = options("SVDFOptions", rank=case.rank, fused_activation_function=FUSED[case.activation])
    graph.operator("SVDF", inputs, [y], table)
    graph.output(y)
    return write_model(graph)
