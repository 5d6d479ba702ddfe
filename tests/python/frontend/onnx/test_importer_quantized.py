"""QDQ models: float operators between R.dequantize and R.quantize, and the integers they give."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tvm.ir import GenericConst

import usmp
from support.lazy import lazy
from support.levels import sample
from support.onnx_models import Graph, Reference, mobile_block, perceptron, quantized, residual_cnn
from support.qdq_models import assert_between_quantizers, float_outputs, raw_calls_of

import_onnx = lazy("usmp.frontend.onnx.importer:import_onnx")

pytestmark = pytest.mark.models

HERE = Path(".")
MODELS = {"residual_cnn": residual_cnn, "mobile_block": mobile_block, "perceptron": perceptron}


@pytest.mark.parametrize(
    ("name", "operators"),
    [
        ("residual_cnn", "add matmul max_pool2d mean permute_dims reshape softmax conv2d"),
        ("mobile_block", "add avg_pool2d conv2d matmul permute_dims reshape"),
        ("perceptron", "add matmul"),
    ],
)
def test_only_float_operators_stand_between_quantizers(name, operators):
    mod = import_onnx(quantized(MODELS[name](), "int8", True), HERE)
    assert_between_quantizers(mod, operators.split())


def test_weights_and_biases_stay_integers():
    mod = import_onnx(quantized(residual_cnn(), "int8", True), HERE)
    constants = [
        (str(call.args[0].ty.dtype), call.args[0].value.shape, call.args[1].value.shape)
        for call in raw_calls_of(mod)
        if call.op.name == "relax.dequantize" and isinstance(call.args[0], GenericConst)
    ]
    shapes = [(8, 3, 3, 3), (16, 8, 3, 3), (16, 16, 3, 3), (16, 8, 1, 1), (10, 16)]
    expected = [("int8", shape, shape[:1]) for shape in shapes]
    expected += [("int32", shape[:1], shape[:1]) for shape in shapes]
    assert sorted(constants) == sorted(expected)


def add_operator(
    graph: Graph, name: str, operator: str, dtype: str, shapes, *constants, **attributes
) -> None:
    """Add an operator on quantized inputs, from and to integers.

    Scales are powers of two, so that float arithmetic is exact and so are the integers.
    """
    zero_point = {"int8": -3, "uint8": 131}[dtype]
    inputs = [
        graph.dequantize(graph.input(f"{name} {index}", list(shape), dtype), 0.5, zero_point, dtype)
        for index, shape in enumerate(shapes)
    ]
    for value in constants:
        inputs.append(constant_of(graph, value))
    y = graph.node(operator, *inputs, **attributes)
    graph.rename(graph.quantize(y, 2.0, zero_point + 5, dtype), name)


def constant_of(graph: Graph, value) -> str:
    """Integers for shapes, a quantized weight or bias by its shape and axis, or a float."""
    if isinstance(value, list):
        return graph.constant(value, np.int64)
    if isinstance(value, float):
        return graph.constant(value, np.float32)
    kind, shape, axis = value
    channels = shape[axis]
    if kind == "bias":
        values = graph.constant(graph.generator.integers(-200, 200, shape), np.int32)
        return graph.dequantize(values, [0.125] * channels, [0] * channels, "int32", axis=axis)
    values = graph.constant(graph.generator.integers(-127, 128, shape), np.int8)
    scales = 2.0 ** -graph.generator.integers(3, 7, channels)
    return graph.dequantize(values, scales, [0] * channels, axis=axis)


IMAGE = (1, 4, 6, 6)
OPERATORS = {
    "conv": ("Conv", [IMAGE], ("w", (5, 4, 3, 3), 0), ("bias", (5,), 0), {"pads": [1, 1, 0, 1]}),
    "conv-stride": ("Conv", [IMAGE], ("w", (3, 4, 2, 2), 0), {"strides": [2, 3]}),
    "conv-same": ("Conv", [IMAGE], ("w", (3, 4, 3, 3), 0), {"auto_pad": "SAME_UPPER"}),
    "conv-dilated": ("Conv", [IMAGE], ("w", (3, 4, 2, 2), 0), {"dilations": [2, 2]}),
    "conv-1d": ("Conv", [(1, 4, 9)], ("w", (3, 4, 3), 0), ("bias", (3,), 0), {}),
    "depthwise": ("Conv", [IMAGE], ("w", (4, 1, 3, 3), 0), ("bias", (4,), 0), {"group": 4}),
    "multiplier": ("Conv", [IMAGE], ("w", (8, 1, 3, 3), 0), {"group": 4}),
    "transposed": ("ConvTranspose", [IMAGE], ("w", (4, 3, 2, 2), 1), {"strides": [2, 2]}),
    "gemm": ("Gemm", [(2, 7)], ("w", (7, 5), 1), ("bias", (5,), 0), {}),
    "gemm-transposed": ("Gemm", [(2, 7)], ("w", (5, 7), 0), ("bias", (5,), 0), {"transB": 1}),
    "matmul": ("MatMul", [(2, 3, 7)], ("w", (7, 5), 1), {}),
    "matmul-inputs": ("MatMul", [(2, 3, 7), (2, 7, 4)], {}),
    "add": ("Add", [IMAGE, IMAGE], {}),
    "add-channels": ("Add", [IMAGE, (4, 1, 1)], {}),
    "sub": ("Sub", [IMAGE, IMAGE], {}),
    "mul": ("Mul", [IMAGE, IMAGE], {}),
    "relu": ("Relu", [IMAGE], {}),
    "clip": ("Clip", [IMAGE], 0.0, 6.0, {}),
    "leaky-relu": ("LeakyRelu", [IMAGE], {"alpha": 0.25}),
    "max-pool": ("MaxPool", [IMAGE], {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}),
    "average-pool": ("AveragePool", [IMAGE], {"kernel_shape": [2, 2], "strides": [2, 2]}),
    "global-average": ("GlobalAveragePool", [(1, 4, 4, 4)], {}),
    "mean": ("ReduceMean", [(1, 4, 4, 4)], {"axes": [2, 3], "keepdims": 0}),
    "concat": ("Concat", [IMAGE, (1, 2, 6, 6)], {"axis": 1}),
    "reshape": ("Reshape", [IMAGE], [0, -1], {}),
    "flatten": ("Flatten", [IMAGE], {}),
    "transpose": ("Transpose", [IMAGE], {"perm": [0, 2, 3, 1]}),
    "slice": ("Slice", [IMAGE], [1, 0], [3, 6], [1, 3], [1, 2], {}),
    "gather": ("Gather", [IMAGE], [[-1, 0]], {"axis": 2}),
    "pad": ("Pad", [IMAGE], [0, 0, 1, 2, 0, 0, 0, 1], {}),
}


SUMS = ("add", "add-channels", "sub")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "names"),
    [("int8", list(OPERATORS)), ("uint8", sample(OPERATORS, 10))],
    ids=["int8", "uint8"],
)
def test_operators_give_the_integers_of_the_reference(dtype, names):
    """All in one graph, each on inputs of its own."""
    graph = Graph()
    generator, limits = np.random.default_rng(1), np.iinfo(dtype)
    inputs = {}
    for name in names:
        operator, shapes, *constants, attributes = OPERATORS[name]
        add_operator(graph, name, operator, dtype, shapes, *constants, **attributes)
        for index, shape in enumerate(shapes):
            values = generator.integers(limits.min, limits.max + 1, shape)
            inputs[f"{name} {index}"] = values.astype(dtype)
    content = graph.model(*names, dtype=dtype)
    expected = Reference(content).run(inputs)
    mod = import_onnx(content, HERE)
    floats = dict(zip(names, float_outputs(mod, inputs), strict=True))
    outputs = usmp.build(mod).run(inputs)
    differences = {}
    for name, value in expected.items():
        assert len(np.unique(value)) > 2
        steps = np.abs(outputs[name].astype(int) - value).max()
        # These scales make many halves, which sums in fixed point round away from zero.
        is_like = steps <= (1 if name in SUMS else 0) and outputs[name].dtype == value.dtype
        if not (is_like and np.array_equal(floats[name], value)):
            differences[name] = floats[name], outputs[name], value
    assert differences == {}


def test_halves_are_rounded_to_even():
    graph = Graph()
    graph.rename(graph.quantize(graph.input("x", [8]), 0.5, 1), "y")
    content = graph.model("y", dtype="int8")
    x = np.array([-1.25, -0.75, -0.25, 0.25, 0.75, 1.25, 100, -100], np.float32)
    outputs = usmp.build(import_onnx(content, HERE)).run({"x": x})
    np.testing.assert_array_equal(outputs["y"], [-1, -1, 1, 1, 3, 3, 127, -128])


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_quantizers_without_a_zero_point(dtype):
    graph = Graph()
    zero_point = [graph.constant(0, dtype)] if dtype == "int8" else []
    scale = graph.constant(0.5, np.float32)
    y = graph.node("QuantizeLinear", graph.input("x", [4]), scale, *zero_point)
    graph.node("DequantizeLinear", y, scale, outputs=["y"])
    outputs = usmp.build(import_onnx(graph.model("y"), HERE)).run(
        {"x": np.array([-1, 0, 0.6, 200], np.float32)}
    )
    limits = np.iinfo(dtype)
    np.testing.assert_array_equal(outputs["y"], [max(-1, limits.min / 2), 0, 0.5, limits.max / 2])
