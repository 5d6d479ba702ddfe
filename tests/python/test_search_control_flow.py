"""Forms that are compared share operators; functions that call these are those of their form."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tvm import tirx
from tvm.ir import GlobalVar, IRModule
from tvm.ir.transform import PassContext

import usmp
from support.lazy import lazy
from support.onnx_models import Graph, Reference
from usmp.planning.session import planning_session
from usmp.tir.nodes import nodes_of

TensorProto = lazy("onnx:TensorProto")
helper = lazy("onnx.helper")
import_onnx = lazy("usmp.frontend.onnx.importer:import_onnx")

pytestmark = [pytest.mark.models, pytest.mark.slow]


def branching(channels: int) -> bytes:
    """Convolutions, whose layout is compared, and a branch with the operator of main in it."""
    graph = Graph()
    x, condition = graph.input("x", [1, 3, 8, 8]), graph.input("c", [], "bool")
    padded = {"pads": [1] * 4}
    y = graph.node("Conv", x, graph.weight(8, 3, 3, 3), **padded)
    y = graph.node("Flatten", graph.node("Conv", y, graph.weight(channels, 8, 3, 3), **padded))
    graph.node("Softmax", y, outputs=["f"])

    def body(name: str, *operators: str):
        tensors = ["f", *(f"{name}{index}" for index in range(len(operators)))]
        nodes = [
            helper.make_node(operator, [tensors[index]], [tensors[index + 1]])
            for index, operator in enumerate(operators)
        ]
        shape = [1, channels * 64]
        output = helper.make_tensor_value_info(tensors[-1], TensorProto.FLOAT, shape)
        return helper.make_graph(nodes, name, [], [output])

    branches = {
        "then_branch": body("t", "Softmax"),
        "else_branch": body("e", "Softmax", "LogSoftmax"),
    }
    graph.node("If", condition, outputs=["z"], **branches)
    graph.node("Softmax", "z", outputs=["out"])
    return graph.model("out")


def strangers(mod: IRModule) -> set[str]:
    """Names of callees that are functions of another module."""
    own = list(mod.functions)
    return {
        str(called.name_hint)
        for func in mod.functions.values()
        if isinstance(func, tirx.PrimFunc)
        for called in nodes_of(func.body, GlobalVar)
        if not any(called.same_as(variable) for variable in own)
    }


def test_branches_of_several_entries_call_their_own_operators():
    contents = {"a": branching(8), "b": branching(12)}
    imported = {name: import_onnx(content, Path(".")) for name, content in contents.items()}
    factories = [usmp.build(imported)]
    with planning_session():
        usmp.build(imported)
        with PassContext(disabled_pass=["OverlapInputsAndOutputs"]):
            factories.append(usmp.build(imported))
    x = np.random.default_rng(1).normal(size=(1, 3, 8, 8)).astype(np.float32)
    for factory in factories:
        assert strangers(factory.ir_mod) == set()
        module = factory.load()
        for name, content in contents.items():
            reference = Reference(content)
            for condition in (True, False):
                inputs = {"x": x, "c": np.array(condition)}
                (expected,) = reference.run(inputs).values()
                (output,) = module.run(inputs, name).values()
                np.testing.assert_allclose(output, expected, rtol=1e-4, atol=1e-6)
