"""SVDF and UNIDIRECTIONAL_SEQUENCE_LSTM: state, memory, and what is refused."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from tvm.ir.transform import PassContext

import usmp
from support.micro import assert_equals_micro
from support.poison import poisoned
from support.quantized_models.recurrent import (
    Lstm,
    Svdf,
    add_lstm,
    lstm,
    lstm_graph,
    svdf,
    svdf_graph,
)
from support.tflite_builder import ABSENT, Graph, options, per_channel, per_tensor, write_model
from support.tflite_refusals import message_of
from support.tflite_tensors import graph_tensors, random_inputs
from usmp.frontend.tflite.importer import import_tflite
from usmp.runtime import HostModule

RUNS = 12
TABLE_BYTES = 512
MNIST_ARENA_BYTES = 1536
"""The head of the arena that TFLite Micro takes for the model."""
STRICT = [
    *("-O1", "-fsanitize=undefined", "-fno-sanitize-recover=all"),
    *("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"),
]

LSTM, SVDF = "UNIDIRECTIONAL_SEQUENCE_LSTM", "SVDF"
FEATURES, TIME, BIAS, STATE = 1, 2, 3, 4
"""Inputs of an SVDF."""
HIDDEN, CELL = 18, 19
"""Inputs of an LSTM."""


@functools.cache
def build(content: bytes, **config: object) -> usmp.AOTExecutorFactoryModule:
    with PassContext(opt_level=3, config={f"tir.usmp.{k}": v for k, v in config.items()}):
        return usmp.build(import_tflite(content))


def buffers_of(factory: usmp.AOTExecutorFactoryModule, kind: str) -> list[dict]:
    pools = factory.metadata["modules"]["default"]["memory"]["pools"]
    return [buffer for pool in pools if pool["kind"] == kind for buffer in pool["buffers"]]


def states_of(factory: usmp.AOTExecutorFactoryModule) -> dict[str, int]:
    """Names of the states, and their bytes."""
    placed = buffers_of(factory, "workspace")
    return {b["name"]: b["size"] for b in placed if b["kind"] == "state"}


def edited(graph: Graph, position: int, **fields: object) -> bytes:
    """The file, with other fields of the tensor that is the operator's input at `position`."""
    index = graph.operators[0].inputs[position]
    graph.tensors[index] = replace(graph.tensors[index], **fields)
    return write_model(graph)


def with_input(graph: Graph, position: int, tensor: int) -> bytes:
    """The file, with another tensor as the operator's input at `position`."""
    (operator,) = graph.operators
    inputs = list(operator.inputs)
    inputs[position] = tensor
    graph.operators[0] = replace(operator, inputs=tuple(inputs))
    return write_model(graph)


def with_state_zero_point(case: Svdf) -> bytes:
    graph = svdf_graph(case)
    quantization = graph.tensors[graph.operators[0].inputs[STATE]].quantization
    return edited(graph, STATE, quantization=replace(quantization, zero_points=(5,)))


def stack(second: Lstm | None = None) -> bytes:
    """Two LSTMs of one sequence, one after the other, and LOGISTIC of the second one's output."""
    first = Lstm(dtype="int16", zero_points=(0, 0))
    second = second or replace(first, features=first.units, units=4)
    graph = Graph()
    x = graph.input((1, first.steps, first.features), "int16", per_tensor(first.x_scale))
    y = add_lstm(graph, second, add_lstm(graph, first, x))
    z = graph.tensor((1, first.steps, second.units), "int16", per_tensor(2.0**-15))
    graph.operator("LOGISTIC", [y], [z])
    graph.output(y, z)
    return write_model(graph)


def test_lstm_keeps_its_states_and_no_scratch():
    factory = build(lstm(Lstm(units=7)))
    assert states_of(factory) == {"t13_state": 7, "t14_state": 14}
    assert len(buffers_of(factory, "workspace")) == 2


def test_svdf_keeps_its_state_and_no_scratch():
    factory = build(svdf(Svdf(units=8, rank=2, memory=6, batch=2)))
    assert states_of(factory) == {"t4_state": 2 * 16 * 6 * 2}
    assert len(buffers_of(factory, "workspace")) == 1


@pytest.mark.models
@pytest.mark.parametrize(
    ("content", "flag"),
    [
        (lstm(Lstm(zero_points=(-3, 20))), True),
        (lstm(Lstm(zero_points=(-3, 0))), False),
        (lstm(Lstm(dtype="int16", zero_points=(7, 300))), False),
        (with_state_zero_point(Svdf(state="int8")), True),
        (with_state_zero_point(Svdf()), False),
    ],
    ids=["lstm_int8", "lstm_int8_zero", "lstm_int16", "svdf_int8", "svdf_int16"],
)
def test_only_states_of_int8_start_from_their_zero_point(content, flag):
    factory = build(content)
    assert ("states_are_set" in states_of(factory)) == flag
    assert_equals_micro(factory.load(), content, RUNS)


@pytest.mark.models
@pytest.mark.parametrize(
    "content", [lstm(Lstm(zero_points=(-3, 20))), svdf(Svdf()), stack()], ids=["lstm", "svdf", "2"]
)
def test_reset_starts_afresh(content):
    module = build(content).load()
    inputs = random_inputs(graph_tensors(content)[0], 0)
    first, second = ({k: v.tobytes() for k, v in module.run(inputs).items()} for _ in range(2))
    assert first != second
    module.reset()
    assert_equals_micro(module, content, RUNS)


@pytest.mark.slow
@pytest.mark.models
@pytest.mark.parametrize("use_workspace_io", [False, True])
def test_stack_of_lstms(use_workspace_io):
    factory = build(stack(), use_workspace_io=use_workspace_io)
    assert list(states_of(factory).values()) == [14, 14, 8, 8]
    assert_equals_micro(factory.load(), stack(), RUNS)
    again = build.__wrapped__(stack(), use_workspace_io=use_workspace_io)
    assert again.source == factory.source


def test_table_of_sigmoids_is_stored_once():
    sizes = [buffer["size"] for buffer in buffers_of(build(stack()), "constant")]
    assert sizes.count(TABLE_BYTES) == 1


@pytest.mark.slow
@pytest.mark.models
def test_equal_lstms_share_their_constants():
    same = Lstm(dtype="int16", zero_points=(0, 0), features=7)
    graph = Graph()
    x = graph.input((1, same.steps, 7), "int16", per_tensor(same.x_scale))
    once, twice = add_lstm(graph, same, x), add_lstm(graph, same, x)
    graph.output(once, twice)
    factory = build(write_model(graph))
    assert len(buffers_of(factory, "constant")) == 1 + 3 * 4
    assert_equals_micro(factory.load(), write_model(graph), RUNS)


def test_svdf_needs_no_table():
    assert TABLE_BYTES not in [b["size"] for b in buffers_of(build(svdf(Svdf())), "constant")]


@pytest.mark.slow
def test_constants_are_those_of_the_file():
    """Weights of 8 bits; biases in the narrowest type that holds them."""
    case = Lstm(units=7, features=6)
    sizes = sorted(buffer["size"] for buffer in buffers_of(build(lstm(case)), "constant"))
    assert sizes == sorted([TABLE_BYTES, *[7 * 6] * 4, *[7 * 7] * 4, *[7 * 2] * 4])


@pytest.mark.slow
@pytest.mark.models
@pytest.mark.parametrize(
    "content", [stack(), lstm(Lstm(zero_points=(-3, 20))), svdf(Svdf(rank=2))], ids=["2", "l", "s"]
)
def test_memory_that_is_not_kept_may_be_overwritten(content):
    factory = build(content)
    assert_equals_micro(poisoned(factory).load(), content, RUNS)


def with_large_sums(zero_point: int) -> bytes:
    """An SVDF whose states saturate, and whose sums over time do not fit 32 bits."""
    graph = svdf_graph(Svdf())
    times = np.full((8, 6), 32767, np.int16)
    edited(graph, TIME, data=times, quantization=per_tensor(0.04))
    return edited(graph, STATE, quantization=per_tensor(1e-7, zero_point))


WRAPPING = {
    "sum_over_time": with_large_sums(0),
    "sum_of_largest_products": with_large_sums(-32768),
    "bias": edited(svdf_graph(Svdf()), BIAS, data=np.full(8, 2**31 - 1, np.int32)),
    "lstm": lstm(Lstm(strength=8.0, batch=2, zero_points=(127, -128))),
    "lstm_int16": lstm(Lstm(dtype="int16", strength=8.0, zero_points=(-32768, 32767))),
}


@pytest.mark.slow
@pytest.mark.models
@pytest.mark.parametrize("case", WRAPPING)
def test_no_undefined_behavior(case):
    """What overflows in the reference kernels wraps around."""
    factory = build(WRAPPING[case])
    interface = factory.metadata["modules"]["default"]
    assert_equals_micro(HostModule(factory.files(), interface, STRICT), WRAPPING[case], RUNS)


@pytest.mark.slow
def test_mnist_lstm_takes_little_memory(shared_model):
    content = shared_model("tflm_mnist_lstm_int8").read_bytes()
    factory = build(content, use_workspace_io=True)
    pools = factory.metadata["modules"]["default"]["memory"]["pools"]
    (peak,) = (pool["peak_bytes"] for pool in pools if pool["kind"] == "workspace")
    assert peak <= MNIST_ARENA_BYTES + 256
    assert_equals_micro(factory.load(), content, RUNS)


def with_part(position: int, columns: int = 7) -> bytes:
    """An LSTM with an input that it should not have."""
    graph = lstm_graph(Lstm())
    return with_input(graph, position, graph.constant(np.ones((7, columns), np.int8)))


def with_options(graph: Graph, table: str, **fields: object) -> bytes:
    graph.operators[0] = replace(graph.operators[0], options=options(table, **fields))
    return write_model(graph)


def of_lstm(position: int, **fields: object) -> Callable[[], bytes]:
    return lambda: edited(lstm_graph(Lstm()), position, **fields)


def of_svdf(position: int, **fields: object) -> Callable[[], bytes]:
    return lambda: edited(svdf_graph(Svdf()), position, **fields)


REFUSED_LSTMS: dict[str, tuple[Callable[[], bytes], str]] = {
    "peephole": (lambda: with_part(9), 'peephole connections (input 9, "t21") is not supported'),
    "projection": (lambda: with_part(16), 'a projection (input 16, "t21") is not supported'),
    "normalization": (
        lambda: with_part(22),
        'layer normalization (input 22, "t21") is not supported',
    ),
    "coupled": (
        lambda: with_input(lstm_graph(Lstm()), 1, ABSENT),
        "an input gate that is coupled to the forget gate (input 1 is missing) is not supported",
    ),
    "no_bias": (lambda: with_input(lstm_graph(Lstm()), 13, ABSENT), "input 13 is missing"),
    "activation": (
        lambda: with_options(
            lstm_graph(Lstm()), "UnidirectionalSequenceLSTMOptions", fused_activation_function=1
        ),
        "fused activation RELU is not supported; only TANH is",
    ),
    "one_tensor_for_both_states": (
        lambda: with_input(lstm_graph(Lstm()), CELL, 13),
        "its hidden state and its cell state are the same tensor",
    ),
    "float_cell": (
        of_lstm(CELL, dtype="float32"),
        'cell state "t14" is of type float32; supported: int16',
    ),
    "wide_hidden": (
        of_lstm(HIDDEN, dtype="int16"),
        'hidden state "t13" is of type int16; supported: int8',
    ),
    "wide_bias": (
        of_lstm(13, dtype="int64", data=np.zeros(7, np.int64)),
        'forget gate\'s bias "t10" is of type int64; supported: int32',
    ),
    "per_channel": (
        of_lstm(2, quantization=per_channel([0.1] * 7, 0)),
        'weight "t2" has 7 scales; supported: one for the tensor',
    ),
    "weight_zero_point": (
        of_lstm(2, quantization=per_tensor(0.1, 3)),
        'weight "t2" has zero point 3; supported: 0',
    ),
    "weight_shape": (
        of_lstm(6, shape=(7, 6), data=np.zeros((7, 6), np.int8)),
        'forget gate\'s weight "t6" has shape [7, 6]; it should be [7, 7]',
    ),
    "state_shape": (
        of_lstm(HIDDEN, shape=(7,)),
        'state "t13" has shape [7]; it should be [1, 7]',
    ),
    "state_not_variable": (
        of_lstm(CELL, is_variable=False, data=np.zeros((1, 7), np.int16)),
        'input 19, "t14", is not a variable tensor, which the state must be',
    ),
    "cell_scale": (
        of_lstm(CELL, quantization=per_tensor(0.3)),
        "the cell state has scale 0.30000001192092896; supported: powers of two from 2**-30 to "
        "2**2",
    ),
    "no_scale": (of_lstm(HIDDEN, quantization=None), 'tensor "t13" has no scale and zero point'),
    "sums": (
        of_lstm(12, data=np.full(7, 2**31 - 1, np.int32)),
        "its accumulators could reach 2147428957 or 2147537917, more than 32 bits hold",
    ),
    "wide_factor": (
        lambda: edited(
            lstm_graph(Lstm(dtype="int16", zero_points=(0, 0))), 2, quantization=per_tensor(1e6)
        ),
        "the product of the scales of an int16 input and its weight is 61.0370",
    ),
}
REFUSED_SVDFS: dict[str, tuple[Callable[[], bytes], str]] = {
    "no_bias": (
        lambda: with_input(svdf_graph(Svdf()), BIAS, ABSENT),
        "no bias (input 3 is missing) is not supported",
    ),
    "rank": (
        lambda: with_options(svdf_graph(Svdf()), "SVDFOptions", rank=3),
        "8 filters are not a multiple of rank 3",
    ),
    "no_rank": (
        lambda: with_options(svdf_graph(Svdf()), "SVDFOptions"),
        "8 filters are not a multiple of rank 0",
    ),
    "mixed": (of_svdf(STATE, dtype="int8"), 'state "t4" is of type int8; supported: int16'),
    "wide_input": (of_svdf(0, dtype="int16"), 'input "t0" is of type int16; supported: int8'),
    "float_time": (
        of_svdf(TIME, dtype="float32", data=np.zeros((8, 6), np.float32)),
        'weight "t2" is of type float32; supported: int8, int16',
    ),
    "bias_scale": (
        of_svdf(BIAS, quantization=per_tensor(0.5)),
        'bias "t3" has scale 0.5; required: 5.66488',
    ),
    "bias_shape": (
        of_svdf(BIAS, shape=(4,), data=np.zeros(4, np.int32)),
        'bias "t3" has shape [4]; it should be [8]',
    ),
    "state_shape": (of_svdf(STATE, shape=(1, 47)), 'state "t4" has shape [1, 47]; it should be'),
    "state_not_variable": (
        of_svdf(STATE, is_variable=False, data=np.zeros((1, 48), np.int16)),
        'input 4, "t4", is not a variable tensor, which the state must be',
    ),
    "per_channel": (
        of_svdf(FEATURES, quantization=per_channel([0.1] * 8, 0)),
        'weight "t1" has 8 scales; supported: one for the tensor',
    ),
}


@pytest.mark.parametrize("case", REFUSED_LSTMS)
def test_refused_lstms(case):
    make, reason = REFUSED_LSTMS[case]
    assert message_of(make()).startswith(f'operator 0 ({LSTM}, output "t20"): {reason}')


@pytest.mark.parametrize("case", REFUSED_SVDFS)
def test_refused_svdfs(case):
    make, reason = REFUSED_SVDFS[case]
    assert message_of(make()).startswith(f'operator 0 ({SVDF}, output "t5"): {reason}')
