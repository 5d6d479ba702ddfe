"""Each ONNX operator on shapes that depend on a size which only the run knows."""

from __future__ import annotations

import numpy as np
import pytest

from support.lazy import lazy
from support.onnx_dynamic import LARGEST, check_results, normal
from support.onnx_models import Graph

TensorProto = lazy("onnx:TensorProto")


def elements(graph: Graph) -> list[str]:
    """Functions of elements, and of two tensors that are broadcast."""
    x, other = graph.input("x", ["m", "n", 6]), graph.input("z", ["n", 1])
    one, two = graph.constant(1, np.float32), graph.constant(2, np.float32)
    positive = graph.node("Add", graph.node("Abs", x), one)
    unit = graph.node("Div", x, graph.node("Add", positive, one))
    outputs = [graph.node(name, x) for name in _OF_REAL]
    outputs += [graph.node(name, positive) for name in ("Acosh", "Log", "Reciprocal", "Sqrt")]
    outputs += [graph.node(name, unit) for name in ("Acos", "Asin", "Atanh")]
    outputs += [graph.node(name, x, other) for name in ("Add", "Div", "Max", "Min", "Mul", "Sub")]
    compared = [graph.node(name, x, other) for name in _COMPARISONS]
    compared += [graph.node("IsInf", x), graph.node("IsNaN", x)]
    outputs.append(graph.node("Mod", x, other, fmod=1))
    logical = [graph.node(name, *compared[:2]) for name in ("And", "Or", "Xor")]
    outputs += [graph.node("Pow", positive, two), graph.node("Clip", x, one, two)]
    outputs.append(graph.node("Where", graph.node("Not", compared[0]), x, other))
    outputs += [graph.node("Cast", each, to=TensorProto.FLOAT) for each in [*compared, *logical]]
    return outputs


_OF_REAL = """Abs Asinh Atan Ceil Cos Cosh Elu Erf Exp Floor HardSigmoid HardSwish Identity
LeakyRelu Neg Relu Round Selu Sigmoid Sign Sin Sinh Softplus Softsign Tan Tanh""".split()
_COMPARISONS = ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")


def reductions(graph: Graph) -> list[str]:
    """Over the axis of a size, and over another one beside it."""
    x = graph.input("x", ["m", "n", 6])
    names = ("ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceL2", "ReduceLogSumExp")
    outputs = [graph.node(name, x, axes=[axis]) for name in names for axis in (1, 2)]
    outputs += [graph.node("ReduceSum", x, graph.constant([a], np.int64)) for a in (1, 2)]
    outputs += [graph.node(name, x, axis=a) for name in ("Softmax", "LogSoftmax") for a in (1, 2)]
    weights = graph.weight(6), graph.weight(6)
    outputs.append(graph.node("LayerNormalization", x, *weights))
    return outputs


def images(graph: Graph) -> list[str]:
    """Windows over axes of which one has a size."""
    x = graph.input("x", [1, 3, "n", 6])
    normalized = [graph.weight(3) for _ in range(3)]
    variance = graph.constant(np.ones(3, np.float32))
    even, odd = {"kernel_shape": [2, 2], "strides": [2, 2]}, {"kernel_shape": [3, 3]}
    padded = {"pads": [1, 1, 1, 1]}
    outputs = [
        graph.node("Conv", x, graph.weight(4, 3, 3, 3), graph.weight(4), strides=[2, 1], **padded),
        graph.node("Conv", x, graph.weight(3, 1, 3, 3), group=3, dilations=[2, 1]),
        graph.node("Conv", x, graph.weight(4, 3, 3, 3), auto_pad="VALID"),
        graph.node("Conv", x, graph.weight(4, 3, 2, 4), auto_pad="SAME_UPPER"),
        graph.node("MaxPool", x, kernel_shape=[2, 4], auto_pad="SAME_LOWER"),
        graph.node("BatchNormalization", x, *normalized, variance),
        graph.node("MaxPool", x, **even),
        graph.node("MaxPool", x, **odd, **padded),
        graph.node("AveragePool", x, **even),
        graph.node("AveragePool", x, **odd, **padded),
        graph.node("AveragePool", x, **odd, **padded, count_include_pad=1),
        graph.node("GlobalAveragePool", x),
        graph.node("Flatten", x, axis=2),
        graph.node("Pad", x, graph.constant([0, 0, 1, 0, 0, 0, 2, 1], np.int64)),
        graph.node("Transpose", x, perm=[2, 0, 3, 1]),
        graph.node("Concat", x, x, axis=2),
        graph.node("Concat", x, x, axis=1),
    ]
    return [*outputs, *graph.node("Split", x, axis=1, outputs=["a", "b", "c"])]


def rows(graph: Graph) -> list[str]:
    """Windows over one axis."""
    x = graph.input("x", [1, 3, "n"])
    return [
        graph.node("Conv", x, graph.weight(4, 3, 3), strides=[2], pads=[1, 1]),
        graph.node("MaxPool", x, kernel_shape=[3], pads=[1, 1]),
        graph.node("AveragePool", x, kernel_shape=[3], strides=[2]),
    ]


def products(graph: Graph) -> list[str]:
    """Of matrices of which one or both have a size."""
    x, z = graph.input("x", [2, "n", 6]), graph.input("z", [2, 6, "n"])
    row = graph.node(
        "Reshape",
        graph.node("ReduceMax", x, axes=[0], keepdims=0),
        graph.constant([-1, 6], np.int64),
    )
    return [
        graph.node("MatMul", x, z),
        graph.node("MatMul", z, x),
        graph.node("MatMul", x, graph.weight(6, 5)),
        graph.node("Gemm", row, graph.weight(5, 6), graph.weight(5), transB=1, alpha=0.5),
    ]


OPERATORS = {
    elements: lambda n: {"x": normal(3, n, 6), "z": normal(n, 1)},
    reductions: lambda n: {"x": normal(3, n, 6)},
    images: lambda n: {"x": normal(1, 3, n, 6)},
    rows: lambda n: {"x": normal(1, 3, n)},
    products: lambda n: {"x": normal(2, n, 6), "z": normal(2, 6, n)},
}


@pytest.mark.slow
@pytest.mark.models
@pytest.mark.parametrize("make", OPERATORS, ids=lambda make: make.__name__)
def test_operators(make):
    graph = Graph()
    outputs = make(graph)
    has_batch = make in (elements, reductions)
    sizes = {"m": 3, "n": LARGEST} if has_batch else {"n": LARGEST}
    check_results(graph.model(*outputs), OPERATORS[make], (5, 6, LARGEST), sizes)
