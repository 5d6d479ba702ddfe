"""Recurrent operators on float32: state, memory, stacked layers, and what is refused.

Random layers: `support.operator_trials.tflite.recurrent`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import usmp
from support.float_recurrent_models import FloatSvdf, Layer, add_layer, float_svdf, layer
from support.float_recurrent_models import layer_graph as graph_of
from support.litert import Reference
from support.poison import poisoned
from support.tflite_builder import Graph, write_model
from support.tflite_refusals import message_of
from usmp.frontend.tflite.importer import import_tflite
from usmp.runtime import HostModule

RUNS = 4
LSTM, BOTH_LSTMS = "UNIDIRECTIONAL_SEQUENCE_LSTM", "BIDIRECTIONAL_SEQUENCE_LSTM"
RNN, BOTH_RNNS = "UNIDIRECTIONAL_SEQUENCE_RNN", "BIDIRECTIONAL_SEQUENCE_RNN"


def stack() -> bytes:
    """An LSTM in both directions, of whose output LSTMs and RNNs in one read each other's."""
    graph = Graph()
    both = Layer(BOTH_LSTMS, merges=True)
    x = graph.input((*both.outer, both.features), "float32")
    (a,) = add_layer(graph, both, x)
    (b,) = add_layer(graph, Layer(LSTM, features=8, cell_clip=0.6), a)
    c, d = add_layer(graph, Layer(BOTH_RNNS, features=4, activation="RELU6"), b)
    (e,) = add_layer(graph, Layer(RNN, features=4), c)
    graph.output(d, e)
    return write_model(graph)


def build(content: bytes) -> usmp.AOTExecutorFactoryModule:
    return usmp.build(import_tflite(content))


def workspace_of(factory: usmp.AOTExecutorFactoryModule) -> list[tuple[str, int]]:
    """Kind and bytes of each buffer."""
    pools = factory.metadata["modules"]["default"]["memory"]["pools"]
    buffers = [b for pool in pools if pool["kind"] == "workspace" for b in pool["buffers"]]
    return sorted((buffer["kind"], buffer["size"]) for buffer in buffers)


def check(module: HostModule, content: bytes, reference: bytes | None = None) -> None:
    """Compare some runs, of which each goes on from the state after the one before."""
    litert = Reference(reference or content)
    for seed in range(RUNS):
        inputs = litert.random_inputs(seed)
        outputs, expected = module.run(inputs), litert.run(inputs)
        joined = np.concatenate(list(expected.values()), -1)
        mine = np.concatenate(list(outputs.values()), -1)
        np.testing.assert_allclose(mine, joined, rtol=1e-5, atol=5e-6)


@pytest.mark.slow
@pytest.mark.models
def test_stacked_layers_like_litert():
    factory = build(stack())
    check(factory.load(), stack())
    module = poisoned(factory).load()
    check(module, stack())
    module.reset()
    check(module, stack())


@pytest.mark.slow
@pytest.mark.models
def test_merged_outputs_of_several_rows():
    """LiteRT reads states beside those of the rows from the second on, if it merges outputs."""
    case = Layer(BOTH_LSTMS, batch=3, steps=3)
    merged = layer(replace(case, merges=True))
    check(build(merged).load(), merged, reference=layer(case))


@pytest.mark.slow
def test_states_are_all_memory():
    states = [("state", 2 * 4 * 4)] * 4
    assert workspace_of(build(layer(Layer(BOTH_LSTMS, batch=2)))) == states
    assert workspace_of(build(layer(Layer("RNN")))) == [("state", 16)]
    svdf = build(float_svdf(FloatSvdf(units=4, rank=2, memory=6)))
    assert workspace_of(svdf) == [("state", 4 * 4 * 2 * 6)]


@pytest.mark.slow
def test_code_does_not_grow_with_the_steps():
    short, long = (build(layer(Layer(BOTH_RNNS, steps=steps))).source for steps in (5, 50))
    assert len(short.splitlines()) == len(long.splitlines())


def edited(case: Layer, position: int, **fields: object) -> Callable[[], bytes]:
    """The file, with other fields of the tensor that is the operator's input at `position`."""

    def make() -> bytes:
        graph = graph_of(case)
        index = graph.operators[0].inputs[position]
        graph.tensors[index] = replace(graph.tensors[index], **fields)
        return write_model(graph)

    return make


def with_input(case: Layer, position: int, shape: tuple[int, ...] | None) -> Callable[[], bytes]:
    """The file, with a constant of ones in the place of an input; with none if it has no shape."""

    def make() -> bytes:
        graph = graph_of(case)
        (operator,) = graph.operators
        inputs = list(operator.inputs)
        absent = shape is None
        inputs[position] = -1 if absent else graph.constant(np.ones(shape or (), np.float32))
        graph.operators[0] = replace(operator, inputs=tuple(inputs))
        return write_model(graph)

    return make


def with_weight_as_input() -> bytes:
    graph = graph_of(Layer(RNN))
    graph.tensors[1] = replace(graph.tensors[1], data=None)
    graph.inputs.append(1)
    return write_model(graph)


REFUSED: dict[str, tuple[Callable[[], bytes], str]] = {
    "peephole": (
        with_input(Layer(BOTH_LSTMS), 27, (4,)),
        'peephole connections (input 27, "t31") is not supported',
    ),
    "projection": (with_input(Layer(LSTM), 16, (4, 4)), "a projection (input 16,"),
    "normalization": (with_input(Layer(LSTM), 20, (4,)), "layer normalization (input 20,"),
    "auxiliary": (with_input(Layer(BOTH_RNNS), 9, (1, 5, 3)), "an auxiliary input (input 9,"),
    "coupled": (
        with_input(Layer(LSTM), 1, None),
        "an input gate that is coupled to the forget gate (input 1 is missing) is not supported",
    ),
    "activation_of_lstm": (
        lambda: layer(Layer(LSTM, activation="RELU")),
        "fused activation RELU is not supported; only TANH is",
    ),
    "weight_shape": (
        with_input(Layer(RNN), 2, (4, 3)),
        'weight "t6" has shape [4, 3]; it should be [4, 4]',
    ),
    "bias_shape": (
        with_input(Layer(LSTM), 13, (3,)),
        'forget gate\'s bias "t16" has shape [3]; it should be [4]',
    ),
    "computed_weight": (
        with_weight_as_input,
        'input 1, "t1", is computed; only a constant is supported',
    ),
    "half_weight": (
        edited(Layer(RNN), 1, dtype="float16", data=np.zeros((4, 3), np.float16)),
        'tensor "t1" is of type float16, which is moved and converted, but not computed with',
    ),
    "int8_weight": (
        edited(Layer(LSTM), 1, dtype="int8", data=np.zeros((4, 3), np.int8)),
        'data "t0" of float32 with weight "t1" of int8',
    ),
    "state_shape": (edited(Layer(RNN), 4, shape=(4,)), 'state "t4" has shape [4]; it should be'),
    "state_not_variable": (
        edited(Layer(LSTM), 18, is_variable=False, data=np.zeros((1, 4), np.float32)),
        'input 18, "t13", is not a variable tensor, which the state must be',
    ),
    "units_of_merged": (
        lambda: layer(Layer(BOTH_RNNS, merges=True, units=(4, 3))),
        "directions of 4 and 3 units are not supported; give both as many",
    ),
    "units_of_lstms": (
        lambda: layer(Layer(BOTH_LSTMS, units=(4, 3))),
        "directions of 4 and 3 units are not supported; give both as many",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case):
    make, reason = REFUSED[case]
    assert message_of(make()).split("): ", 1)[1].startswith(reason)


def test_two_states_in_one_tensor_are_refused():
    graph = graph_of(Layer(LSTM))
    (operator,) = graph.operators
    inputs = list(operator.inputs)
    inputs[19] = inputs[18]
    graph.operators[0] = replace(operator, inputs=tuple(inputs))
    message = message_of(write_model(graph))
    assert message.endswith("two of its states (inputs [18, 19]) are the same tensor")
