"""TFLite files with several subgraphs: which of them are run, and are they whole?"""

from __future__ import annotations

from random import Random

import flatbuffers
import numpy as np
import pytest
import tflite

import usmp
from support import tflite_refusals
from support.tflite_builder import Graph, options, write_model
from usmp.frontend.tflite.check import check_tflite
from usmp.frontend.tflite.file.read import called_once

F4 = ((1, 4), "float32")


def main_graph() -> Graph:
    graph = Graph()
    x, y = graph.input(*F4, name="x"), graph.tensor(*F4, name="y")
    graph.operator("RELU", [x], [y])
    graph.output(y)
    return graph


def call_once(graph: Graph, number: int) -> None:
    graph.operator("CALL_ONCE", [], [], options("CallOnceOptions", init_subgraph_index=number))


def initialization() -> Graph:
    """VAR_HANDLE, and ASSIGN_VARIABLE of a constant."""
    graph = Graph("once")
    handle = graph.tensor((), "resource", name="handle")
    value = graph.constant(np.ones((1, 4), np.float32))
    graph.operator("VAR_HANDLE", [], [handle], options("VarHandleOptions", shared_name="v"))
    graph.operator("ASSIGN_VARIABLE", [handle, value], [], options("AssignVariableOptions"))
    return graph


def stateful(*more: Graph, number: int = 1) -> bytes:
    main = main_graph()
    call_once(main, number)
    return write_model(main, initialization(), *more)


def message_of(content: bytes) -> str:
    with pytest.raises(usmp.UnsupportedModelError) as error:
        check_tflite(content)
    return str(error.value)


def test_an_initialization():
    model = check_tflite(stateful())
    assert model.SubgraphsLength() == 2
    assert called_once(model.Subgraphs(0).Operators(1)) == 1


def test_a_real_model_with_state(shared_model):
    model = check_tflite(shared_model("mww_okay_nabu_v2_int8").read_bytes())
    assert model.SubgraphsLength() == 2
    assert called_once(model.Subgraphs(0).Operators(0)) == 1


def test_an_initialization_without_operators():
    main = main_graph()
    call_once(main, 1)
    check_tflite(write_model(main, Graph("nothing")))


def test_two_operators_may_run_one_initialization():
    main = main_graph()
    call_once(main, 1)
    call_once(main, 1)
    check_tflite(write_model(main, initialization()))


def test_subgraphs_that_nothing_runs_may_be_anything_whole():
    other = Graph("other")
    x = other.input((1, 4), "float32", name="x")
    y = other.tensor((1, 4), "float32", name="y")
    other.operator("WHILE", [x], [y], options("WhileOptions", cond_subgraph_index=7))
    check_tflite(stateful(other))


@pytest.mark.parametrize("code", ["CALL", "STABLEHLO_WHILE", "STABLEHLO_SORT"])
def test_other_operators_that_run_subgraphs(code):
    main = main_graph()
    main.operator(code, [], [])
    assert tflite_refusals.message_of(write_model(main)).startswith(
        f"operator 1 ({code}, output none): not supported: it "
    )


def test_control_flow_in_an_initialization():
    main, once = main_graph(), initialization()
    call_once(main, 1)
    once.operator("IF", [], [])
    assert tflite_refusals.message_of(write_model(main, once)) == (
        "operator 1 (CALL_ONCE, output none): its graph has operator 2 (IF, output none); "
        "supported: VAR_HANDLE, ASSIGN_VARIABLE"
    )


@pytest.mark.parametrize("number", [2, 1000, -1])
def test_a_subgraph_that_is_not_there(number):
    assert message_of(stateful(number=number)) == (
        f"the file is damaged: operator 1 refers to subgraph {number}, and there are 2"
    )


def test_the_model_as_its_own_initialization():
    assert message_of(stateful(number=0)) == (
        "operator 1 (CALL_ONCE) runs the subgraph that it stands in"
    )


@pytest.mark.parametrize("number", [0, 1, 2])
def test_an_initialization_that_runs_another_one(number):
    main, once = main_graph(), initialization()
    call_once(main, 1)
    call_once(once, number)
    assert message_of(write_model(main, once, initialization())) == (
        "operator 2 of subgraph 1 is CALL_ONCE, and so is what runs this subgraph; an "
        "initialization that runs another one is not supported"
    )


def test_an_initialization_with_inputs():
    main, once = main_graph(), initialization()
    call_once(main, 1)
    once.input(*F4)
    assert message_of(write_model(main, once)) == "subgraph 1, which CALL_ONCE runs, has inputs"


def test_a_call_with_inputs():
    main = main_graph()
    main.operator("CALL_ONCE", [0], [], options("CallOnceOptions", init_subgraph_index=1))
    assert message_of(write_model(main, initialization())) == (
        "operator 1 (CALL_ONCE) has inputs or outputs"
    )


def test_a_call_without_options():
    main = main_graph()
    main.operator("CALL_ONCE", [], [])
    assert message_of(write_model(main, initialization())) == (
        "the file is damaged: a CALL_ONCE does not say which subgraph it runs"
    )


def test_a_call_with_options_of_another_operator():
    main = main_graph()
    main.operator("CALL_ONCE", [], [], options("CallOptions", subgraph=1))
    assert message_of(write_model(main, initialization())) == (
        "the file is damaged: a CALL_ONCE does not say which subgraph it runs"
    )


# ---- every subgraph is looked at


def damaged(damage) -> str:
    once = initialization()
    damage(once)
    main = main_graph()
    call_once(main, 1)
    return message_of(write_model(main, once))


def test_index_of_a_tensor_in_another_subgraph():
    assert damaged(lambda g: g.operator("READ_VARIABLE", [9], [])) == (
        "the file is damaged: operator 2 of subgraph 1 refers to tensor 9, and there are 2"
    )


def test_reading_what_nothing_wrote_in_another_subgraph():
    def damage(graph):
        graph.operator("RELU", [graph.tensor(*F4, name="u")], [])

    assert damaged(damage) == (
        'the file is damaged: operator 2 of subgraph 1 reads tensor "u", '
        "which has no content and nothing before writes it"
    )


def test_output_that_nothing_wrote_in_another_subgraph():
    assert damaged(lambda g: g.output(g.tensor(*F4, name="u"))) == (
        'the file is damaged: the graph\'s output of subgraph 1 reads tensor "u", '
        "which has no content and nothing before writes it"
    )


def test_constant_with_too_few_bytes_in_another_subgraph():
    def damage(graph):
        graph.tensor((3,), "float32", name="c", data=np.zeros(2, np.float32))

    assert damaged(damage) == (
        'the file is damaged: tensor 2 of subgraph 1 ("c") of shape [3] takes 12 bytes, '
        "but 8 are stored"
    )


def test_a_resource_has_no_bytes():
    def damage(graph):
        graph.tensor((), "resource", name="h", data=np.zeros(4, np.uint8))

    assert damaged(damage) == (
        'the file is damaged: tensor 2 of subgraph 1 ("h") is the handle of a resource, '
        "but has 4 bytes"
    )


def test_a_handle_that_nothing_made():
    assert damaged(lambda g: g.operator("READ_VARIABLE", [g.tensor((), "resource")], [])) == (
        'the file is damaged: operator 2 of subgraph 1 reads tensor "t2", '
        "which has no content and nothing before writes it"
    )


def test_damage_in_a_subgraph_that_nothing_runs():
    other = Graph("other")
    other.operator("RELU", [5], [])
    assert message_of(stateful(other)) == (
        "the file is damaged: operator 0 of subgraph 2 refers to tensor 5, and there are 0"
    )


def test_no_subgraph():
    assert message_of(write_model()) == "the model has no subgraphs"


def test_one_subgraph_counted_many_times():
    """Each would be looked at again: a small file could take forever."""
    builder = flatbuffers.Builder()
    builder.StartVector(4, 0, 4)
    nothing = builder.EndVector()
    builder.StartVector(4, 100, 4)
    for _ in range(100):
        builder.PrependInt32(0)
    numbers = builder.EndVector()
    tflite.SubGraphStart(builder)
    tflite.SubGraphAddInputs(builder, numbers)
    tflite.SubGraphAddOutputs(builder, numbers)
    tflite.SubGraphAddOperators(builder, numbers)
    graph = tflite.SubGraphEnd(builder)
    builder.StartVector(4, 100, 4)
    for _ in range(100):
        builder.PrependUOffsetTRelative(graph)
    graphs = builder.EndVector()
    tflite.ModelStart(builder)
    tflite.ModelAddSubgraphs(builder, graphs)
    tflite.ModelAddBuffers(builder, nothing)
    tflite.ModelAddOperatorCodes(builder, nothing)
    builder.Finish(tflite.ModelEnd(builder), file_identifier=b"TFL3")
    content = bytes(builder.Output())
    assert message_of(content) == (f"the file is damaged: 300 operators in {len(content)} bytes")


@pytest.mark.slow
def test_damaged_files_are_refused_or_whole():
    content, generator = stateful(main_graph()), Random(0)
    refused = 0
    for _ in range(2000):
        data = bytearray(content)
        for _ in range(generator.randint(1, 3)):
            position = generator.randrange(len(data))
            data[position] = generator.choice([0, 1, 255, generator.randrange(256)])
        try:
            check_tflite(bytes(data))
        except usmp.UnsupportedModelError as error:
            refused += 1
            assert "\n" not in str(error)
    assert refused > 500
