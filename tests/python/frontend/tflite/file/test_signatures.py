"""TFLite files with signatures: which functions they become, and what these share."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import tirx
from tvm.ir import IRModule

from support.quantized_models.model import Spec
from support.tflite_builder import Graph, Signature, options, write_model
from support.tflite_refusals import message_of
from support.tflite_signatures import (
    INTEGER,
    START,
    assign,
    counter_file,
    doubling,
    handle,
    initialization,
    read,
    reading,
    summing,
    two_signatures,
)
from usmp.frontend.tflite.importer import import_tflite
from usmp.objects.entries import entries_of


def params_of(mod: IRModule, entry: str) -> list[str]:
    return [str(param.name) for param in mod[entry].params]


def outputs_of(mod: IRModule, entry: str) -> list[str]:
    return [str(name) for name in mod[entry].attrs["output_names"]]


def states_of(mod: IRModule, entry: str) -> dict[str, tuple[int, list]]:
    """By name, the index of the result, and the initial value."""
    return {
        str(state.name): (int(state.output), state.initial_value.numpy().tolist())
        for state in mod[entry].attrs["states"]
    }


def test_each_of_several_signatures_is_a_function():
    mod = import_tflite(counter_file())
    assert entries_of(mod) == ["step", "peek", "clear", "twice"]
    assert [str(name) for name in mod.attrs["entries"]] == ["step", "peek", "clear", "twice"]
    assert {v.name_hint for v in mod.functions} == {"step", "peek", "clear", "twice"}
    for entry in entries_of(mod):
        assert mod[entry].attrs["global_symbol"] == entry


def test_inputs_and_outputs_are_called_as_the_signatures_call_them():
    mod = import_tflite(counter_file())
    assert {entry: params_of(mod, entry) for entry in entries_of(mod)} == {
        "step": ["by", "v_state"],
        "peek": ["v_state"],
        "clear": ["v_state"],
        "twice": ["x"],
    }
    assert {entry: outputs_of(mod, entry) for entry in entries_of(mod)} == {
        "step": ["sum"],
        "peek": ["held"],
        "clear": [],
        "twice": ["y"],
    }


def test_a_variable_is_one_state_of_the_functions_that_use_it():
    mod = import_tflite(counter_file())
    start = START.astype(float).tolist()
    assert {entry: states_of(mod, entry) for entry in entries_of(mod)} == {
        "step": {"v_state": (1, start)},
        "peek": {"v_state": (-1, start)},
        "clear": {"v_state": (0, start)},
        "twice": {},
    }


def test_every_function_says_what_its_integers_are():
    mod = import_tflite(counter_file(INTEGER))
    parameters = pytest.approx([0.05, -7])
    assert mod["step"].attrs["input_quantization"]["by"] == parameters
    for entry in ("step", "peek", "twice"):
        assert mod[entry].attrs["output_quantization"][0] == parameters
    assert len(mod["clear"].attrs["output_quantization"]) == 0


@pytest.mark.parametrize("key", ["serving_default", "", None])
def test_one_signature_is_main(key):
    graph = summing()
    content = write_model(
        graph, signatures=[Signature(key, 0, {"by": graph.inputs[0]}, {"sum": graph.outputs[0]})]
    )
    mod = import_tflite(content)
    assert entries_of(mod) == ["main"]
    assert not mod.attrs
    assert params_of(mod, "main") == ["x", "v_state"]
    assert outputs_of(mod, "main") == ["y"]


def test_one_signature_says_which_subgraph_is_main():
    mod = import_tflite(write_model(summing(), doubling(), signatures=[Signature("twice", 1)]))
    assert {v.name_hint for v in mod.functions} == {"main"}
    assert params_of(mod, "main") == ["x"]


def test_other_subgraphs_are_no_functions():
    mod = import_tflite(
        write_model(
            doubling(),
            summing(),
            reading(),
            signatures=[Signature("a", 2), Signature("b", 1)],
        )
    )
    assert entries_of(mod) == ["a", "b"]


def test_signatures_may_have_one_subgraph():
    mod = import_tflite(write_model(summing(), signatures=[Signature("a", 0), Signature("b", 0)]))
    for entry in ("a", "b"):
        assert params_of(mod, entry) == ["x", "v_state"]


def test_keys_become_names_in_c():
    graphs = [doubling(), doubling()]
    signatures = [Signature("__fast/é 2", 0), Signature("int", 1)]
    assert entries_of(import_tflite(write_model(*graphs, signatures=signatures))) == [
        "fast____2",
        "int",
    ]


@pytest.mark.parametrize("keys", [("add", "twice"), ("twice", "add"), ("add", "add_1")])
def test_functions_may_be_called_as_operators_are(keys):
    signatures = [Signature(key, number) for number, key in enumerate(keys)]
    mod = import_tflite(write_model(summing(INTEGER), doubling(INTEGER), signatures=signatures))
    assert entries_of(mod) == list(keys)
    assert params_of(mod, keys[0]) == ["x", "v_state"]
    assert params_of(mod, keys[1]) == ["x"]
    operators = {v.name_hint for v in mod.functions} - set(keys)
    assert operators
    for name in operators:
        assert isinstance(mod[name], tirx.PrimFunc)


def test_inputs_are_in_the_order_of_the_signature():
    graph = Graph()
    x, y = (graph.input((1, 4), "float32", name=name) for name in "xy")
    z = graph.tensor((1, 4), "float32", name="z")
    graph.operator("SUB", [x, y], [z], options("SubOptions"))
    graph.output(z, x)
    signature = Signature("a", 0, {"second": y, "first": x}, {"again": x, "z": z, "same": z})
    mod = import_tflite(write_model(graph, signatures=[signature, Signature("b", 0)]))
    assert params_of(mod, "a") == ["second", "first"]
    assert outputs_of(mod, "a") == ["again", "z", "same"]
    assert params_of(mod, "b") == ["x", "y"]
    assert outputs_of(mod, "b") == ["z", "x"]


def test_one_initialization_counts_for_all_functions():
    start = START.astype(np.float32)
    mod = import_tflite(two_signatures(reading(), summing(once=2), initialization(start)))
    assert states_of(mod, "a") == {"v_state": (-1, start.tolist())}
    assert states_of(mod, "b") == {"v_state": (1, start.tolist())}


def test_two_initializations_with_the_same_values():
    start = START.astype(np.float32)
    once = (initialization(start), initialization(start))
    mod = import_tflite(two_signatures(summing(once=2), summing(once=3), *once))
    assert states_of(mod, "a") == states_of(mod, "b") == {"v_state": (1, start.tolist())}


def test_two_initializations_with_different_values():
    start = START.astype(np.float32)
    once = (initialization(start), initialization(start + 1))
    assert message_of(two_signatures(summing(once=2), summing(once=3), *once)) == (
        'signature "b": variable "v" is initialized here and by a signature before with different '
        "values; it is one variable, which has one initial value"
    )


def test_a_variable_that_no_function_changes_is_a_constant():
    start = START.astype(np.float32)
    mod = import_tflite(two_signatures(reading(once=2), reading(), initialization(start)))
    for entry in ("a", "b"):
        assert params_of(mod, entry) == []
        assert states_of(mod, entry) == {}


def test_a_function_that_assigns_a_variable_to_itself_does_not_change_it():
    same = reading()
    assign(same, same.operators[0].outputs[0], same.outputs[0])
    mod = import_tflite(two_signatures(same, summing()))
    assert states_of(mod, "a") == {"v_state": (-1, [[0.0] * 4])}


@pytest.mark.parametrize(
    ("containers", "count"), [(("", ""), 1), (("c", "c"), 1), (("c", "d"), 2), (("c", ""), 1)]
)
def test_variables_are_those_of_a_container(containers, count):
    graphs = []
    for container in containers:
        graph = Graph()
        x = graph.input((1, 4), "float32", name="x")
        variable = handle(graph, container=container)
        graph.output(read(graph, variable))
        assign(graph, variable, x)
        graphs.append(graph)
    mod = import_tflite(two_signatures(*graphs))
    names = [*states_of(mod, "a"), *states_of(mod, "b")]
    assert names == (["v_state"] * 2 if count == 1 else ["v_state", "v_state1"])


@pytest.mark.parametrize(
    ("spec", "shown"), [(Spec((1, 5), 0, 0, "float32"), "float32[1, 5]"), (INTEGER, "int8[1, 4]")]
)
def test_a_variable_of_two_shapes_or_types(spec, shown):
    assert message_of(two_signatures(summing(), reading(spec))) == (
        f'signature "b": operator 1 (READ_VARIABLE, output "k"): "k" is {shown}; variable "v" is '
        "float32[1, 4]"
    )


def test_states_are_called_like_no_input():
    first, second = summing(), doubling()
    signatures = [
        Signature("a", 0),
        Signature("b", 1, {"v_state": second.inputs[0]}),
    ]
    mod = import_tflite(write_model(first, second, signatures=signatures))
    assert params_of(mod, "a") == ["x", "v_state1"]
    assert params_of(mod, "b") == ["v_state"]


def test_an_initialization_may_be_a_signature_too():
    start = START.astype(np.float32)
    once = initialization(start)
    mod = import_tflite(two_signatures(summing(once=1), once))
    assert states_of(mod, "b") == {"v_state": (0, start.tolist())}
