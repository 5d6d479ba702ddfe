"""Operators of a file that nothing runs for are with those that do, or in one line after them."""

from __future__ import annotations

import io

import numpy as np
import pytest
import tflite
from rich.console import Console

import usmp
from support.levels import in_long_run
from support.tflite_builder import Graph, Signature, options, per_channel, per_tensor, write_model
from support.tflite_signatures import (
    START,
    assign,
    call_once,
    counter_file,
    handle,
    initialization,
    read,
    summing,
)
from usmp.frontend.tflite import folded as folded_operators
from usmp.frontend.tflite.importer import import_tflite
from usmp.relax import limits
from usmp.relax.limits import Limits
from usmp.report import print_operators
from usmp.support.model_operators import names
from usmp.tir.model_operator import operators_in
from usmp.tir.spans import joined_or

QUANTIZATION = per_tensor(0.05, 5)
LINE = "Not computed at run time"
SET_ONCE = "0 CALL_ONCE; 1 ASSIGN_VARIABLE of subgraph 1"


def metadata_of(model) -> dict:
    return usmp.build(model).metadata["modules"]["default"]


def made_from(module: dict) -> list[str]:
    """What each statement is for."""
    table = module["model_operators"]
    return [names([table[n] for n in o["model_operators"]]) for o in module["operators"]]


def shown(module: dict) -> list[str]:
    """The sentences after the table of operators."""
    text = io.StringIO()
    print_operators(module, Console(file=text, width=1000))
    return [line for line in text.getvalue().splitlines() if line.startswith(LINE)]


def padded_convolution() -> bytes:
    """RESHAPE to the same shape, PAD, CONV_2D."""
    graph = Graph()
    x = graph.input((1, 5, 5, 2), "int8", QUANTIZATION)
    same = graph.tensor((1, 5, 5, 2), "int8", QUANTIZATION)
    graph.operator("RESHAPE", [x, graph.constant(np.array([1, 5, 5, 2], np.int32))], [same])
    wide = graph.tensor((1, 7, 7, 2), "int8", QUANTIZATION)
    sides = graph.constant(np.array([[0, 0], [1, 1], [1, 1], [0, 0]], np.int32))
    graph.operator("PAD", [same, sides], [wide])
    y = graph.tensor((1, 5, 5, 3), "int8", per_tensor(0.1, -3))
    weight = graph.constant(np.ones((3, 3, 3, 2), np.int8), per_channel(np.full(3, 0.01), 0))
    table = options("Conv2DOptions", padding=1, stride_h=1, stride_w=1)
    graph.operator("CONV_2D", [wide, weight, graph.constant(np.zeros(3, np.int32))], [y], table)
    graph.output(y)
    return write_model(graph)


@pytest.mark.slow
def test_what_a_convolution_takes_over_is_with_it():
    module = metadata_of(import_tflite(padded_convolution()))
    assert made_from(module) == ["0 RESHAPE to 2 CONV_2D"]
    assert shown(module) == []


def test_a_reshape_to_the_same_shape_before_an_output_is_with_what_writes_it():
    graph = Graph()
    x = graph.input((1, 4), "int8", QUANTIZATION)
    y, same = (graph.tensor((1, 4), "int8", QUANTIZATION) for _ in range(2))
    graph.operator("ADD", [x, x], [y], options("AddOptions"))
    graph.operator("RESHAPE", [y, graph.constant(np.array([1, 4], np.int32))], [same])
    graph.output(same)
    assert made_from(metadata_of(import_tflite(write_model(graph)))) == ["0 ADD, 1 RESHAPE"]


def test_what_is_computed_of_constants_is_with_what_reads_it_and_the_rest_is_in_the_line():
    """TRANSPOSE of a constant; QUANTIZE to the same type; an ADD whose result nothing reads."""
    graph = Graph()
    x = graph.input((2, 3), "int8", QUANTIZATION)
    weight = graph.constant(np.arange(6, dtype=np.int8).reshape(3, 2), QUANTIZATION)
    turned, sums, same, unused = (graph.tensor((2, 3), "int8", QUANTIZATION) for _ in range(4))
    order = graph.constant(np.array([1, 0], np.int32))
    graph.operator("TRANSPOSE", [weight, order], [turned], options("TransposeOptions"))
    graph.operator("ADD", [x, turned], [sums], options("AddOptions"))
    graph.operator("QUANTIZE", [sums], [same], options("QuantizeOptions"))
    graph.operator("ADD", [x, x], [unused], options("AddOptions"))
    graph.output(same)
    module = metadata_of(import_tflite(write_model(graph)))
    assert made_from(module) == ["0 TRANSPOSE to 2 QUANTIZE"]
    assert shown(module) == [f"{LINE}: 3 ADD."]


def test_variables_are_with_what_reads_and_writes_them():
    graph = summing(once=1)
    module = metadata_of(import_tflite(write_model(graph, initialization(START.astype("float32")))))
    # What stores the state behind it is for no operator of its own.
    assert made_from(module) == [SET_ONCE, "2 READ_VARIABLE to 4 ASSIGN_VARIABLE", ""]
    assert shown(module) == [f"{LINE}: 1 VAR_HANDLE; 0 VAR_HANDLE of subgraph 1."]


def test_setting_zeros_is_not_computed():
    """Memory is zero before the first run."""
    zeros = initialization(np.zeros((1, 4), np.float32))
    module = metadata_of(import_tflite(write_model(summing(once=1), zeros)))
    assert made_from(module) == ["2 READ_VARIABLE to 4 ASSIGN_VARIABLE", ""]
    assert shown(module) == [
        f"{LINE}: 0 CALL_ONCE, 1 VAR_HANDLE; 0 VAR_HANDLE, 1 ASSIGN_VARIABLE of subgraph 1."
    ]


def test_what_sets_a_variable_behind_a_use_of_it_is_computed_there():
    graph = summing()
    call_once(graph, 1)
    module = metadata_of(import_tflite(write_model(graph, initialization(START.astype("float32")))))
    assert any("4 CALL_ONCE; 1 ASSIGN_VARIABLE of subgraph 1" in each for each in made_from(module))
    assert shown(module) == [f"{LINE}: 0 VAR_HANDLE; 0 VAR_HANDLE of subgraph 1."]


@pytest.mark.slow
def test_each_entry_sets_variables_by_its_own_operators():
    """`clear` runs no CALL_ONCE, though it sets the variable too if it is the first to run."""
    module = metadata_of(import_tflite(counter_file()))
    first: dict[str, str] = {}
    for operator, text in zip(module["operators"], made_from(module), strict=True):
        first.setdefault(operator["entry"], text)
    assert first == {
        "step": "0 CALL_ONCE; 1 ASSIGN_VARIABLE of subgraph 4",
        "peek": "0 CALL_ONCE of subgraph 1; 1 ASSIGN_VARIABLE of subgraph 4",
        "clear": "",
        "twice": "0 ADD of subgraph 3",
    }


@pytest.mark.slow
def test_models_of_one_program_set_their_states_by_their_own_operators():
    start = initialization(START.astype(np.float32))
    mod = import_tflite(write_model(summing(once=1), start))
    module = usmp.build({"one": mod, "two": mod}).metadata["modules"]["default"]
    setting = [
        operator["entry"]
        for operator, text in zip(module["operators"], made_from(module), strict=True)
        if text == SET_ONCE
    ]
    assert setting == ["one", "two"]


def test_a_copy_to_a_variable_is_with_what_was_cut_for_it():
    """The slice is copied to the state alone."""
    graph = Graph()
    x = graph.input((1, 4), "float32", name="x")
    variable = handle(graph)
    old = read(graph, variable)
    both = graph.tensor((2, 4), "float32")
    graph.operator("CONCATENATION", [old, x], [both], options("ConcatenationOptions", axis=0))
    y = graph.tensor((2, 4), "float32", name="y")
    graph.operator("LOGISTIC", [both], [y])
    last = graph.tensor((1, 4), "float32")
    begin, end, strides = (graph.constant(np.array(v, np.int32)) for v in ([1, 0], [2, 4], [1, 1]))
    table = options("StridedSliceOptions", begin_mask=0, end_mask=0)
    graph.operator("STRIDED_SLICE", [both, begin, end, strides], [last], table)
    assign(graph, variable, last)
    graph.output(y)
    module = metadata_of(import_tflite(write_model(graph)))
    every = {o["index"] for o in module["model_operators"]}
    assert every == set(range(6))
    assert any("4 STRIDED_SLICE, 5 ASSIGN_VARIABLE" in each for each in made_from(module))
    assert shown(module) == [f"{LINE}: 0 VAR_HANDLE."]


def test_the_line_is_one_for_each_entry():
    graphs = [summing(), Graph("twice")]
    x = graphs[1].input((1, 4), "float32", name="x")
    y = graphs[1].tensor((1, 4), "float32", name="y")
    graphs[1].operator("ADD", [x, x], [y], options("AddOptions"))
    graphs[1].output(y)
    content = write_model(*graphs, signatures=[Signature("step", 0), Signature("twice", 1)])
    module = metadata_of(import_tflite(content))
    assert [(o["entry"], o["index"]) for o in module["model_operators"]] == [
        *(("step", n) for n in range(4)),
        ("twice", 0),
    ]
    assert shown(module) == [f"{LINE} in entry step: 0 VAR_HANDLE."]
    assert made_from(module)[-1] == "0 ADD of subgraph 1"


@pytest.mark.slow
def test_models_of_one_program_keep_their_operators():
    """Each has a state of its own."""
    mod = import_tflite(write_model(summing()))
    module = usmp.build({"one": mod, "two": mod}).metadata["modules"]["default"]
    indices = {
        entry: [o["index"] for o in module["model_operators"] if o["entry"] == entry]
        for entry in ("one", "two")
    }
    assert indices == {"one": [0, 1, 2, 3], "two": [0, 1, 2, 3]}


@pytest.mark.slow
def test_archives_of_before_have_no_line():
    module = metadata_of(import_tflite(padded_convolution()))
    for operator in module["operators"]:
        del operator["model_operators"]
    del module["model_operators"]
    assert shown(module) == []


def chain(folded: int, readers: int = 1) -> bytes:
    """RESHAPEs to the same shape, one of the other; the last is read by several operators."""
    graph = Graph()
    x = graph.input((1, 4), "float32")
    shape = graph.constant(np.array([1, 4], np.int32))
    for _ in range(folded):
        same = graph.tensor((1, 4), "float32")
        graph.operator("RESHAPE", [x, shape], [same])
        x = same
    for _ in range(readers):
        y = graph.tensor((1, 4), "float32")
        graph.operator("LOGISTIC", [x], [y])
        graph.output(y)
    return write_model(graph)


def test_each_of_a_chain_joins_one_operator_and_the_last_all_that_read_it():
    (block,) = import_tflite(chain(50, readers=3))["main"].body.blocks
    spans = [getattr(binding.value, "span", None) for binding in block.bindings]
    indices = [[o.index for o in operators_in(span)] for span in spans if span is not None]
    assert indices == [[*range(51)], [49, 51], [49, 52]]


@pytest.mark.slow
def test_spans_are_joined_as_often_as_there_are_operators(monkeypatch):
    """Not as often as there are pairs of them."""
    joined = []

    def counting(span, *others):
        joined.append(1 + len(others))
        return joined_or(span, *others)

    monkeypatch.setattr(limits, "joined_or", counting)
    monkeypatch.setattr(folded_operators, "joined_or", counting)
    import_tflite(chain(200, readers=100))
    # Those that run, with all of the chain, and again the last of it for each other reader.
    assert sum(joined) == 100 + 200 + 99


def test_operators_that_nothing_is_appended_for_count_too():
    content = chain(50)
    import_tflite(content, Limits(operators=51))
    message = "up to here the model has 51 operators; there may be 50, which --max-operators"
    with pytest.raises(usmp.UnsupportedModelError, match=message):
        import_tflite(content, Limits(operators=50))
    with pytest.raises(
        usmp.UnsupportedModelError, match="up to here the model has 50 operators; there may be 49"
    ):
        import_tflite(content, Limits(operators=49))


@pytest.mark.slow
@pytest.mark.models
@pytest.mark.parametrize(
    ("name", "folded"),
    [
        *in_long_run([("mcunet_vww_int8", [])]),
        ("mlperf_kws_int8", []),
        ("mww_okay_nabu_v2_int8", ["VAR_HANDLE"]),
    ],
)
def test_every_operator_of_a_file_is_in_the_table_or_in_the_line(shared_model, name, folded):
    path = shared_model(name)
    model = tflite.Model.GetRootAsModel(path.read_bytes(), 0)
    module = metadata_of(path)
    table = module["model_operators"]
    assert [(o.get("graph", 0), o["index"]) for o in table] == [
        (graph, index)
        for graph in range(model.SubgraphsLength())
        for index in range(model.Subgraphs(graph).OperatorsLength())
    ]
    runs = {n for operator in module["operators"] for n in operator["model_operators"]}
    left = [operator for n, operator in enumerate(table) if n not in runs]
    assert sorted({operator["type"] for operator in left}) == folded
    assert shown(module) == ([f"{LINE}: {names(left)}."] if left else [])
