"""TFLite files with signatures: which functions they become, and what these share."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
import tflite
from tvm import tirx
from tvm.ir import IRModule

import usmp
from support.quantized_models.model import Spec
from support.tflite_builder import Graph, Signature, options, per_tensor, write_model
from support.tflite_refusals import message_of
from support.tflite_signatures import (
    INTEGER,
    START,
    assign,
    call_once,
    clearing,
    counter_file,
    doubling,
    handle,
    initialization,
    read,
    reading,
    summing,
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


@pytest.mark.parametrize("key", ["2fast", "__", "é", "x" * 65])
def test_keys_that_cannot_become_names_in_c(key):
    message = with_signatures(Signature("a", 0), Signature(key, 1))
    assert message.startswith(f'signature "{key}": an entry cannot be called "')


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


# ---- variables of several functions


def two(first: Graph, second: Graph, *others: Graph) -> bytes:
    signatures = [Signature("a", 0), Signature("b", 1)]
    return write_model(first, second, *others, signatures=signatures)


def test_one_initialization_counts_for_all_functions():
    start = START.astype(np.float32)
    mod = import_tflite(two(reading(), summing(once=2), initialization(start)))
    assert states_of(mod, "a") == {"v_state": (-1, start.tolist())}
    assert states_of(mod, "b") == {"v_state": (1, start.tolist())}


def test_two_initializations_with_the_same_values():
    start = START.astype(np.float32)
    once = (initialization(start), initialization(start))
    mod = import_tflite(two(summing(once=2), summing(once=3), *once))
    assert states_of(mod, "a") == states_of(mod, "b") == {"v_state": (1, start.tolist())}


def test_two_initializations_with_different_values():
    start = START.astype(np.float32)
    once = (initialization(start), initialization(start + 1))
    assert message_of(two(summing(once=2), summing(once=3), *once)) == (
        'signature "b": variable "v" is initialized here and by a signature before with different '
        "values; it is one variable, which has one initial value"
    )


def test_a_variable_that_no_function_changes_is_a_constant():
    start = START.astype(np.float32)
    mod = import_tflite(two(reading(once=2), reading(), initialization(start)))
    for entry in ("a", "b"):
        assert params_of(mod, entry) == []
        assert states_of(mod, entry) == {}


def test_a_function_that_assigns_a_variable_to_itself_does_not_change_it():
    same = reading()
    assign(same, same.operators[0].outputs[0], same.outputs[0])
    mod = import_tflite(two(same, summing()))
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
    mod = import_tflite(two(*graphs))
    names = [*states_of(mod, "a"), *states_of(mod, "b")]
    assert names == (["v_state"] * 2 if count == 1 else ["v_state", "v_state1"])


@pytest.mark.parametrize(
    ("spec", "shown"), [(Spec((1, 5), 0, 0, "float32"), "float32[1, 5]"), (INTEGER, "int8[1, 4]")]
)
def test_a_variable_of_two_shapes_or_types(spec, shown):
    assert message_of(two(summing(), reading(spec))) == (
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
    mod = import_tflite(two(summing(once=1), once))
    assert states_of(mod, "b") == {"v_state": (0, start.tolist())}


# ---- what is refused


def with_signatures(*signatures: Signature) -> str:
    return message_of(write_model(summing(), doubling(), signatures=signatures))


@pytest.mark.parametrize("key", ["", None])
def test_one_of_several_without_name(key):
    assert with_signatures(Signature("a", 0), Signature(key, 1)) == (
        "signature 1 of 2 has no name; each of several becomes a function, which is called by the "
        "name of its signature"
    )


@pytest.mark.parametrize(("one", "other"), [("a", "a"), ("a b", "a_b"), ("A_b", "a_b")])
def test_two_that_become_the_same_name(one, other):
    assert with_signatures(Signature(one, 0), Signature(other, 1)) == (
        f'signatures "{one}" and "{other}" would have the same names in C, of functions {other} or '
        f"of macros {other.upper()}; rename one of them in the model"
    )


@pytest.mark.parametrize("count", [1, 2])
def test_a_subgraph_that_is_not_there(count):
    signatures = [Signature("a", 0, {}, {}), Signature("b", 7, {}, {})][-count:]
    assert with_signatures(*signatures) == (
        f"the file is damaged: signature {count - 1} refers to subgraph 7, and there are 2"
    )


@pytest.mark.parametrize("index", [1, 1000])
def test_an_input_that_is_none_of_the_subgraph(index):
    assert with_signatures(Signature("a", 0), Signature("b", 1, {"x": 0, "y": index})) == (
        f'signature "b": input "y" is tensor {index}, which is no input of its subgraph'
    )


@pytest.mark.parametrize("index", [0, 1000])
def test_an_output_that_is_none_of_the_subgraph(index):
    assert with_signatures(Signature("a", 0), Signature("b", 1, None, {"y": index})) == (
        f'signature "b": output "y" is tensor {index}, which is no output of its subgraph'
    )


@pytest.mark.parametrize(("given", "count"), [({}, 0), ({"x": 0, "z": 0}, 2)])
def test_an_input_that_is_left_out_or_given_twice(given, count):
    assert with_signatures(Signature("a", 0), Signature("b", 1, given)) == (
        f'signature "b": input "x" of its subgraph must be one of its inputs, but {count} of them '
        "are this tensor"
    )


def test_two_outputs_of_one_name():
    twice = Signature("b", 1, None, [("y", 1), ("y", 1)])
    assert with_signatures(Signature("a", 0), twice) == (
        'signature "b": two outputs are called "y"'
    )


def test_an_output_without_name():
    assert with_signatures(Signature("a", 0), Signature("b", 1, None, [(None, 1)])) == (
        'signature "b": output 0 has no name'
    )


def test_a_function_that_computes_nothing():
    assert message_of(two(summing(), Graph())) == (
        'signature "b": it has no outputs and changes no variables'
    )
    once = Graph()
    handle(once)
    assert message_of(two(summing(), once)) == (
        'signature "b": it has no outputs and changes no variables'
    )


def test_errors_in_operators_say_which_signature():
    graph = Graph()
    x = graph.input((1, 4), "int8", per_tensor(0.1))
    y = graph.tensor((1, 4), "int8", per_tensor(0.1))
    graph.operator("FLOOR", [x], [y])
    graph.output(y)
    assert message_of(two(summing(), graph)) == (
        'signature "b": operator 0 (FLOOR, output "t1"): not supported on integers of 8 or 16 '
        "bits; compute it in float32, replace it, or end the model before it"
    )


def test_a_dynamic_shape_says_which_signature():
    graph = Graph()
    x = graph.tensor((1, 4), "float32", name="x", signature=(1, -1))
    graph.inputs.append(x)
    graph.output(x)
    graph.operator("RELU", [x], [graph.tensor((1, 4), "float32")])
    assert message_of(two(summing(), graph)) == (
        'signature "b": input "x" has a dynamic shape, [1, -1]; memory is planned at compile time: '
        "give the shape, with --input-shapes (in Python input_shapes), or convert the model with "
        "fixed input shapes"
    )


def test_control_flow_in_the_second_function():
    graph = doubling()
    graph.operator("WHILE", [], [])
    assert message_of(two(summing(), graph)) == (
        "the file is damaged: the options of WHILE do not say which subgraphs it runs"
    )


def test_the_second_function_as_its_own_initialization():
    graph = doubling()
    call_once(graph, 1)
    assert message_of(two(summing(), graph)) == (
        "operator 1 of subgraph 1 (CALL_ONCE) runs the subgraph that it stands in"
    )


def test_names_that_would_control_a_terminal():
    graph = clearing(np.zeros((1, 4), np.float32))
    signatures = [Signature("a\n\x1b[2J", 0), Signature("b\x7f", 1)]
    graph.operator("FLOOR", [0], [graph.tensor((1, 4), "int8")])
    message = message_of(write_model(summing(), graph, signatures=signatures))
    assert message.startswith('signature "b\\x7f": operator 2 (FLOOR')


def test_more_signatures_than_fit_the_file():
    content = bytearray(counter_file())
    table = tflite.Model.GetRootAsModel(content, 0)._tab
    position = table.Vector(table.Offset(18)) - 4
    content[position : position + 4] = b"\xff\xff\xff\x0f"
    assert message_of(bytes(content)) == (
        f"the file is damaged: 268435455 signatures in {len(content)} bytes"
    )


def test_one_subgraph_in_many_signatures():
    """Each would write it out again: a small file could take forever."""
    graph = summing()
    for _ in range(50):
        handle(graph)
    signatures = [Signature(f"s{number}", 0) for number in range(200)]
    assert message_of(write_model(graph, signatures=signatures)) == (
        "in all its signatures together the model has 10800 operators; there may be 10000, which "
        "--max-operators (in Python max_operators) can raise"
    )


@pytest.mark.slow
def test_many_signatures_that_set_the_variables_of_all(tmp_path):
    """Whichever is the first to run sets them all, so the code would grow with the square."""
    count = 12
    once, graphs = Graph("once"), []
    for number in range(count):
        assign(once, handle(once, f"v{number}"), once.constant(START.astype(np.float32)))
        graph = summing(once=count)
        own, next_one = (handle(graph, f"v{n % count}") for n in (number, number + 1))
        assign(graph, own, read(graph, next_one))
        graphs.append(graph)
    assign(once, handle(once), once.constant(START.astype(np.float32)))
    signatures = [Signature(f"s{number}", number) for number in range(count)]
    path = tmp_path / "many.tflite"
    path.write_bytes(write_model(*graphs, once, signatures=signatures))
    assert entries_of(usmp.import_model(path, max_operators=156))[-1] == "s11"
    with pytest.raises(usmp.UnsupportedModelError) as error:
        usmp.import_model(path, max_operators=155)
    assert str(error.value) == (
        f"{path}: the first runs of its entries set 156 initial values of states; there may be "
        "155, which --max-operators (in Python max_operators) can raise"
    )


def test_many_tensors_in_many_signatures():
    graph = summing()
    graph.outputs += graph.outputs * 2000
    signatures = [Signature(f"s{number}", 0, {}, {}) for number in range(200)]
    content = write_model(graph, signatures=signatures)
    assert message_of(content) == (
        f"the file is damaged: 400400 inputs and outputs of signatures in {len(content)} bytes"
    )


@pytest.mark.slow
def test_damaged_files_are_refused_or_imported():
    content, random = counter_file(INTEGER), Random(0)
    refused = 0
    for _ in range(400):
        damaged = bytearray(content)
        for _ in range(random.randint(1, 3)):
            position = random.randrange(len(damaged))
            damaged[position] = random.choice([0, 1, 255, random.randrange(256)])
        try:
            import_tflite(bytes(damaged))
        except usmp.UnsupportedModelError as error:
            refused += 1
            assert str(error).isprintable()
            assert "fault in usmp" not in str(error)
    assert refused > 200
