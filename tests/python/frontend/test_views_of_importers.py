"""Cuts and joins of models from files: nothing is copied that need not be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from support.lazy import TorchModule, lazy
from support.main_calls import called, views
from support.onnx_models import Graph
from support.pytorch_models import exported
from support.quantized_models.model import Spec
from support.tflite_builder import Graph as TfliteGraph
from support.tflite_builder import options, write_model
from usmp.aot_pipeline import lower_to_aot
from usmp.frontend.tflite.importer import import_tflite

torch = lazy("torch")
import_onnx = lazy("usmp.frontend.onnx.importer:import_onnx")
import_pytorch = lazy("usmp.frontend.pytorch.importer:import_pytorch")

pytestmark = pytest.mark.models


def main_of(mod):
    return lower_to_aot(mod)["__tvm_main__"]


@pytest.mark.parametrize(
    ("indices", "first"),
    [(2, 12), (-1, 18), ([1, 2], 6), ([[0, 1, 2]], 0)],
    ids=str,
)
def test_onnx_gather_of_rows(indices, first):
    graph = Graph()
    x = graph.node("Softmax", graph.input("x", [4, 6]), axis=-1)
    rows = graph.node("Gather", x, graph.constant(indices, np.int64), axis=0)
    graph.node("Softmax", rows, outputs=["y"], axis=-1)
    main = main_of(import_onnx(graph.model("y"), Path(".")))
    assert called(main) == ["softmax", "softmax1"]
    assert views(main) == {"strided_slice": ("softmax", first)}


def test_onnx_dropout_is_nothing():
    graph = Graph()
    x = graph.node("Softmax", graph.input("x", [4, 6]), axis=-1)
    graph.node("Softmax", graph.node("Dropout", x), outputs=["y"], axis=-1)
    assert called(main_of(import_onnx(graph.model("y"), Path(".")))) == ["softmax", "softmax"]


class Rows(TorchModule):
    """The last row, and all rows in the other order."""

    def forward(self, x):
        rows = torch.softmax(x, -1)
        parts = [torch.softmax(row, -1) for row in torch.unbind(rows[1:3])]
        return torch.softmax(rows[-1], -1), torch.softmax(torch.stack(parts), -1)


@pytest.mark.slow
def test_pytorch_select_unbind_and_stack():
    content = exported(Rows(), torch.zeros(4, 6))
    main = main_of(import_pytorch(content))
    assert [name for name in called(main) if "softmax" not in name] == []
    assert sorted(set(views(main).values())) == [
        ("concat", 0),
        ("concat", 6),
        ("softmax", 6),
        ("softmax", 12),
        ("softmax", 18),
    ]


def test_tflite_gather_of_rows():
    graph, x = TfliteGraph(), Spec((4, 6), 1 / 256, -128)
    data = graph.input(x.shape, x.dtype, x.quantization)
    first, rows, last = (
        graph.tensor(shape, x.dtype, x.quantization) for shape in ((4, 6), (2, 6), (2, 6))
    )
    beta = options("SoftmaxOptions", beta=1.0)
    graph.operator("SOFTMAX", [data], [first], beta)
    indices = graph.constant(np.array([1, 2], np.int32))
    graph.operator("GATHER", [first, indices], [rows], options("GatherOptions", axis=0))
    graph.operator("SOFTMAX", [rows], [last], beta)
    graph.output(last)
    main = main_of(import_tflite(write_model(graph)))
    assert called(main) == ["softmax", "softmax1"]
    assert views(main) == {"strided_slice": ("softmax", 6)}
