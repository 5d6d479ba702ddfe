"""Calls of integer operators know which operators of the model file they compute."""

from __future__ import annotations

import numpy as np
import pytest
from tvm.ir import Call, IRModule

from support.lazy import lazy
from support.onnx_models import Graph, mobile_block, quantized
from usmp.relax.transform.convert_qdq_to_integers import ConvertQDQToIntegers
from usmp.tir.model_operator import ModelOperator, operators_in
from usmp.tir.nodes import variable_bindings
from usmp.tir.op_names import op_name

import_onnx = lazy("usmp.frontend.onnx.importer:import_onnx")


def computed(model: IRModule) -> list[tuple[str, list[int]]]:
    """The function or operator of each call, and the nodes of the file that it computes."""
    return [(name, [each.index for each in operators]) for name, operators in calls_of(model)]


def calls_of(model: IRModule) -> list[tuple[str, tuple[ModelOperator, ...]]]:
    mod = ConvertQDQToIntegers()(model)
    calls = [b.value for b in variable_bindings(mod["main"]) if isinstance(b.value, Call)]
    return [
        (
            str(call.args[0].name_hint) if op_name(call) == "relax.call_tir" else op_name(call),
            operators_in(call.span),
        )
        for call in calls
    ]


def imported(graph: Graph) -> IRModule:
    return import_onnx(graph.model("y"), None)


def weight(graph: Graph, *shape: int) -> str:
    return graph.dequantize(graph.constant(np.ones(shape, np.int8)), 0.5, 0)


def test_a_convolution_has_its_activation_its_weights_and_its_quantizers():
    """Both readers of a tensor dequantize it."""
    graph = Graph()
    x = graph.through(graph.input("x", [1, 2, 4, 4]), 0.5)
    y = graph.node("Relu", graph.node("Conv", x, weight(graph, 2, 2, 1, 1)))
    y = graph.through(y, 0.25)
    z = graph.node("Conv", x, weight(graph, 2, 2, 1, 1))
    z = graph.through(graph.node("Add", graph.through(z, 0.25), y), 0.5)
    graph.rename(graph.through(graph.node("GlobalAveragePool", z), 0.5), "y")
    assert computed(imported(graph)) == [
        ("relax.quantize", [0]),
        ("conv2d", [1, 2, 3, 4, 5]),
        ("conv2d1", [1, 7, 8, 9]),
        ("add", [6, 10, 11, 12]),
        ("mean", [13, 14, 15]),
        # The matcher's own reshape of the mean is part of its reader.
        ("relax.reshape", [16]),
        ("relax.dequantize", [16]),
        ("relax.reshape", [16]),
    ]


def test_operators_that_move_numbers_have_calls_of_their_own():
    graph = Graph()
    x = graph.through(graph.input("x", [1, 2, 4, 3]), 0.5)
    moved = graph.node("Transpose", x, perm=[0, 2, 3, 1])
    sigmoid = graph.through(graph.node("Sigmoid", moved), 0.01)
    graph.rename(graph.through(graph.node("Concat", sigmoid, moved, axis=1), 0.5), "y")
    assert computed(imported(graph)) == [
        ("relax.quantize", [0]),
        ("relax.permute_dims", [1, 2]),
        ("table", [3, 4]),
        ("requantize", [5]),
        ("relax.permute_dims", [1, 2]),
        ("relax.concat", [5, 6, 7]),
        ("relax.dequantize", [8]),
    ]


def test_a_transposition_folded_into_weights_is_part_of_the_product():
    graph = Graph()
    x = graph.through(graph.input("x", [1, 2, 4, 3]), 0.5)
    moved = graph.through(graph.node("Transpose", x, perm=[0, 2, 3, 1]), 0.5)
    flat = graph.node("Flatten", moved)
    graph.rename(graph.through(graph.node("MatMul", flat, weight(graph, 24, 2)), 0.5), "y")
    assert [numbers for name, numbers in computed(imported(graph)) if name.startswith("ful")] == [
        [1, 2, 3, 4, 5, 6, 7, 8]
    ]


def test_operators_in_qoperator_form_are_nodes_of_the_file():
    calls = computed(import_onnx(quantized(mobile_block(), form="QOperator"), None))
    assert [call for call in calls if not call[0].startswith("relax.")] == [
        ("conv2d", [1]),
        ("conv2d1", [2]),
        ("depthwise_conv2d", [3]),
        ("conv2d2", [4]),
        ("add", [5]),
        ("average_pool", [6]),
        ("fully_connected", [8]),
    ]


@pytest.mark.slow
@pytest.mark.models
def test_products_of_pytorch_programs():
    from support.pytorch_models import Perceptron, example_of, exported, quantized, seeded
    from usmp.frontend.pytorch.importer import import_pytorch

    module = quantized(seeded(Perceptron))
    calls = calls_of(import_pytorch(exported(module, example_of(Perceptron))))
    products = [operators for name, operators in calls if name.startswith("fully_connected")]
    types = [[o.type.split(".")[1] for o in operators] for operators in products]
    borders = ["dequantize_per_channel", "dequantize_per_tensor"]
    hidden = [*borders, "permute", "addmm", "relu", "quantize_per_tensor"]
    assert types == [hidden, hidden, [*borders, "permute", "addmm", "quantize_per_tensor"]]
