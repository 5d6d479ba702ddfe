"""Signatures of TFLite files that are refused or damaged, and with which message."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
import tflite

import usmp
from support.tflite_builder import Graph, Signature, per_tensor, write_model
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
    read,
    summing,
    two_signatures,
)
from usmp.frontend.tflite.importer import import_tflite
from usmp.objects.entries import entries_of


def with_signatures(*signatures: Signature) -> str:
    return message_of(write_model(summing(), doubling(), signatures=signatures))


@pytest.mark.parametrize("key", ["2fast", "__", "é", "x" * 65])
def test_keys_that_cannot_become_names_in_c(key):
    message = with_signatures(Signature("a", 0), Signature(key, 1))
    assert message.startswith(f'signature "{key}": an entry cannot be called "')


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
    assert message_of(two_signatures(summing(), Graph())) == (
        'signature "b": it has no outputs and changes no variables'
    )
    once = Graph()
    handle(once)
    assert message_of(two_signatures(summing(), once)) == (
        'signature "b": it has no outputs and changes no variables'
    )


def test_errors_in_operators_say_which_signature():
    graph = Graph()
    x = graph.input((1, 4), "int8", per_tensor(0.1))
    y = graph.tensor((1, 4), "int8", per_tensor(0.1))
    graph.operator("FLOOR", [x], [y])
    graph.output(y)
    assert message_of(two_signatures(summing(), graph)) == (
        'signature "b": operator 0 (FLOOR, output "t1"): not supported on integers of 8 or 16 '
        "bits; compute it in float32, replace it, or end the model before it"
    )


def test_a_dynamic_shape_says_which_signature():
    graph = Graph()
    x = graph.tensor((1, 4), "float32", name="x", signature=(1, -1))
    graph.inputs.append(x)
    graph.output(x)
    graph.operator("RELU", [x], [graph.tensor((1, 4), "float32")])
    assert message_of(two_signatures(summing(), graph)) == (
        'signature "b": input "x" has a dynamic shape, [1, -1]; memory is planned at compile time: '
        "give the shape, with --input-shapes (in Python input_shapes), or convert the model with "
        "fixed input shapes"
    )


def test_control_flow_in_the_second_function():
    graph = doubling()
    graph.operator("WHILE", [], [])
    assert message_of(two_signatures(summing(), graph)) == (
        "the file is damaged: the options of WHILE do not say which subgraphs it runs"
    )


def test_the_second_function_as_its_own_initialization():
    graph = doubling()
    call_once(graph, 1)
    assert message_of(two_signatures(summing(), graph)) == (
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
