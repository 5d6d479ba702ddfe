"""Resource variables in every form that streaming models have, run by run as in tflite-micro."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from tvm.ir.transform import PassContext

import usmp
from support.levels import sample
from support.micro import assert_equals_micro
from support.poison import poisoned
from support.quantized_models.model import Spec
from support.streaming_forms import FORMS
from support.streaming_models import Streaming, X
from support.tflite_builder import Graph, Signature, write_model
from support.tflite_refusals import message_of
from support.tflite_signatures import assign, call_once, handle, initialization, read, summing
from usmp.frontend.tflite.importer import import_tflite

RUNS = 12
INT8 = Spec(X, 0.05, -7)
SPECS = {
    "float32": Spec(X, 0, 0, "float32"),
    "int16": Spec(X, 0.0003, 0, "int16"),
    "int32": Spec(X, 0, 0, "int32"),
}
NOT_IN_MICRO = [("int32", "transposed"), ("int32", "transposed_square")]
"""Its TRANSPOSE does not take int32."""


def states_of(content: bytes) -> dict[str, tuple[int, list]]:
    """By name, the index of the result, and the initial value."""
    return {
        str(state.name): (int(state.output), state.initial_value.numpy().tolist())
        for state in import_tflite(content)["main"].attrs["states"]
    }


def check_like_micro(spec: Spec, forms: Iterable[str], is_poisoned: bool = False) -> None:
    """Compare all forms, as entries of one program."""
    contents = {form: FORMS[form](Streaming(spec)) for form in forms}
    mods = {form: import_tflite(content) for form, content in contents.items()}
    with PassContext(config={"tir.usmp.use_workspace_io": is_poisoned}):
        factory = usmp.build(mods)
    module = (poisoned(factory) if is_poisoned else factory).load()
    differences = {}
    for form, content in contents.items():
        try:
            assert_equals_micro(module, content, RUNS, form)
        except AssertionError as error:
            differences[form] = str(error)
    assert differences == {}


@pytest.mark.slow
@pytest.mark.models
def test_outputs_are_those_of_tflite_micro():
    check_like_micro(INT8, FORMS)


@pytest.mark.slow
@pytest.mark.models
def test_memory_that_is_not_kept_may_be_overwritten():
    check_like_micro(INT8, sample(FORMS, 12), is_poisoned=True)


@pytest.mark.slow
@pytest.mark.models
@pytest.mark.parametrize("dtype", SPECS)
def test_variables_of_other_types(dtype):
    forms = [form for form in FORMS if (dtype, form) not in NOT_IN_MICRO]
    check_like_micro(SPECS[dtype], sample(forms, 12))


def test_a_variable_that_is_never_assigned_is_a_constant():
    content = FORMS["never_assigned"](Streaming(INT8))
    assert states_of(content) == {}
    pools = usmp.build(import_tflite(content)).metadata["modules"]["default"]["memory"]["pools"]
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
