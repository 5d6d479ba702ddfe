"""Resource variables in every form that streaming models have, run by run as in tflite-micro."""

from __future__ import annotations

import numpy as np
import pytest
from tvm.ir.transform import PassContext

import usmp
from support.micro import assert_equals_micro
from support.poison import poisoned
from support.quantized_models.model import Spec
from support.streaming_models import FORMS, Streaming, X
from support.tflite_builder import Graph, Signature, write_model
from support.tflite_refusals import message_of
from support.tflite_signatures import assign, call_once, handle, initialization, read, summing
from usmp.frontend.tflite.importer import import_tflite

RUNS = 50
INT8 = Spec(X, 0.05, -7)
SPECS = {
    "float32": Spec(X, 0, 0, "float32"),
    "int16": Spec(X, 0.0003, 0, "int16"),
    "int32": Spec(X, 0, 0, "int32"),
}
NOT_IN_MICRO = [("int32", "transposed"), ("int32", "transposed_square")]
"""Its TRANSPOSE does not take int32."""


def build(content: bytes, **config: object) -> usmp.AOTExecutorFactoryModule:
    with PassContext(opt_level=3, config={f"tir.usmp.{k}": v for k, v in config.items()}):
        return usmp.build(import_tflite(content))


def states_of(content: bytes) -> dict[str, tuple[int, list]]:
    """By name, the index of the result, and the initial value."""
    return {
        str(state.name): (int(state.output), state.initial_value.numpy().tolist())
        for state in import_tflite(content)["main"].attrs["states"]
    }


@pytest.mark.models
@pytest.mark.parametrize("form", FORMS)
def test_outputs_are_those_of_tflite_micro(form):
    content = FORMS[form](Streaming(INT8))
    assert_equals_micro(build(content).load(), content, RUNS)


@pytest.mark.models
@pytest.mark.parametrize("form", FORMS)
def test_memory_that_is_not_kept_may_be_overwritten(form):
    content = FORMS[form](Streaming(INT8))
    factory = build(content, use_workspace_io=True)
    assert_equals_micro(poisoned(factory).load(), content, RUNS)


@pytest.mark.models
@pytest.mark.parametrize(
    ("dtype", "form"), [(d, f) for d in SPECS for f in FORMS if (d, f) not in NOT_IN_MICRO]
)
def test_variables_of_other_types(dtype, form):
    content = FORMS[form](Streaming(SPECS[dtype]))
    assert_equals_micro(build(content).load(), content, RUNS)


def test_a_variable_that_is_never_assigned_is_a_constant():
    content = FORMS["never_assigned"](Streaming(INT8))
    assert states_of(content) == {}
    pools = build(content).metadata["modules"]["default"]["memory"]["pools"]
    assert [b["kind"] for p in pools for b in p["buffers"] if b["kind"] == "state"] == []


def test_a_variable_that_keeps_its_value_is_no_result():
    ((output, _),) = states_of(FORMS["assigned_itself"](Streaming(INT8))).values()
    assert output == -1


def test_a_variable_without_initialization_starts_as_the_zero_point():
    ((_, value),) = states_of(FORMS["never_initialized"](Streaming(INT8))).values()
    assert value == np.full(X, -7).tolist()


def test_an_initialization_after_a_use_is_marked_by_a_state():
    content = FORMS["initialized_after_use"](Streaming(INT8))
    states = states_of(content)
    assert list(states) == ["v_state", "call_once_1_state"]
    assert states["v_state"][1] == np.full(X, -7).tolist()
    assert states["call_once_1_state"] == (3, 0)


def late(*numbers: int) -> Graph:
    """The variable v is used before each of these subgraphs is run."""
    graph = Graph()
    x = graph.input((1, 4), "float32", name="x")
    variable = handle(graph)
    graph.output(read(graph, variable))
    assign(graph, variable, x)
    for number in numbers:
        call_once(graph, number)
        assign(graph, variable, read(graph, variable))
    return graph


def test_an_initialization_that_is_run_again_after_a_use():
    """TFLite Micro would run it twice, LiteRT once."""
    once = initialization(np.ones((1, 4), np.float32))
    assert message_of(write_model(late(1, 1), once)) == (
        'operator 6 (CALL_ONCE, output none): variable "v" is used before it'
    )


def test_an_initialization_after_a_use_in_one_of_several_functions():
    once = initialization(np.ones((1, 4), np.float32))
    signatures = [Signature("a", 0), Signature("b", 1)]
    assert message_of(write_model(summing(), late(2), once, signatures=signatures)) == (
        'signature "b": operator 3 (CALL_ONCE, output none): variable "v" is used before it'
    )


def test_a_late_initialization_of_another_type():
    once = initialization(np.ones((1, 5), np.float32))
    assert message_of(write_model(late(1), once)) == (
        'operator 3 (CALL_ONCE, output none): "CALL_ONCE" is float32[1, 5]; variable "v" is '
        "float32[1, 4]"
    )
