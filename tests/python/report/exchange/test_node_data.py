"""Numbers of a plan as node data of Model Explorer."""

from __future__ import annotations

import json

import pytest
import tflite

from support.exchanged_plan import metadata
from support.lazy import lazy
from usmp.report.exchange.node_data import VALUES, node_data

model_explorer = lazy("model_explorer.builtin_tflite_flatbuffer_adapter")
node_data_builder = lazy("model_explorer.node_data_builder")


def values(module: dict, value: str) -> dict[str, int]:
    results = json.loads(node_data(module, value))["results"]
    return {key: result["value"] for key, result in results.items()}


def by_tensor(numbers: dict[str, int]) -> dict[str, int]:
    return {key: number for key, number in numbers.items() if not key.startswith("<node_")}


@pytest.mark.parametrize(
    ("value", "of_nodes"),
    [
        ("live_bytes", {"t": 208, "u": 256, "the pool": 138, "y": 138}),
        ("output_bytes", {"t": 128, "u": 128, "the pool": 10, "y": 10}),
        ("output_offset", {"t": 0, "u": 0, "the pool": 128, "y": 128}),
        ("macs", {"t": 576, "u": 0}),
        ("instructions", {"t": 900}),
    ],
)
def test_values(value, of_nodes):
    assert by_tensor(values(metadata(), value)) == of_nodes


def test_all_values_are_tested():
    assert set(VALUES) == {"live_bytes", "output_bytes", "output_offset", "macs", "instructions"}


def test_nodes_without_a_name_are_found_as_the_adapter_for_onnx_names_them():
    assert values(metadata(), "macs") == {"t": 576, "<node_0>": 576, "u": 0, "<node_1>": 0}


def test_a_node_of_several_operators_has_the_largest_number():
    module = metadata()
    module["operators"][1]["model_operators"] = [0, 1]
    assert values(module, "live_bytes")["t"] == 256


@pytest.mark.parametrize("value", VALUES)
def test_model_explorer_writes_the_same(value):
    written = json.loads(node_data(metadata(), value))
    data = node_data_builder.GraphNodeData(
        results={
            key: node_data_builder.NodeDataResult(**each)
            for key, each in written["results"].items()
        },
        name=written["name"],
        gradient=[node_data_builder.GradientItem(**each) for each in written["gradient"]],
    )
    theirs = json.loads(data.to_json_string())
    assert {key: theirs[key] for key in written} == written


@pytest.mark.slow
def test_keys_are_those_of_the_graph_that_model_explorer_shows(digits_model):
    graph = tflite.Model.GetRootAsModel(digits_model.read_bytes(), 0).Subgraphs(0)
    module = metadata()
    operators = [graph.Operators(index) for index in range(graph.OperatorsLength())]
    module["model_operators"] = [
        {
            "entry": "net",
            "index": index,
            "type": "ANY",
            "inputs": [],
            "outputs": [{"name": graph.Tensors(operator.Outputs(0)).Name().decode()}],
        }
        for index, operator in enumerate(operators)
    ]
    module["operators"][0]["model_operators"] = list(range(len(operators)))
    module["operators"][1:] = []
    keys = by_tensor(values(module, "macs")).keys()
    shown = model_explorer.BuiltinTfliteFlatbufferAdapter().convert(str(digits_model), {})[
        "graphCollections"
    ]
    nodes = {
        attribute["value"]: node["id"]
        for node in shown[0].graphs[0]["nodes"]
        for output in node["outputsMetadata"]
        for attribute in output["attrs"]
        if attribute["key"] == "tensor_name"
    }
    assert {nodes[key] for key in keys} == {str(index) for index in range(len(operators))}


def test_a_plan_that_does_not_know_the_model_is_refused():
    module = metadata()
    for operator in module["operators"]:
        del operator["model_operators"]
    with pytest.raises(ValueError, match="net: the plan does not say which operators"):
        node_data(module, "macs")
