"""ONNX models made here, float and quantized, and what onnxruntime computes for them."""

from __future__ import annotations

import functools
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from support.lazy import lazy
from support.onnx_sessions import session_of

onnx = lazy("onnx")
helper = lazy("onnx.helper")
numpy_helper = lazy("onnx.numpy_helper")
quantization = lazy("onnxruntime.quantization")

OPSET = 17


@dataclass
class Graph:
    """An ONNX graph that grows node by node; tensors are known by their names.

    `dtypes` of inputs and outputs are float32 unless they are given.
    """

    inputs: list[onnx.ValueInfoProto] = field(default_factory=list)
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    initializers: list[onnx.TensorProto] = field(default_factory=list)
    generator: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def input(self, name: str, shape: list[int | str | None] | None, dtype="float32") -> str:
        element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self.inputs.append(helper.make_tensor_value_info(name, element, shape))
        return name

    def constant(self, value, dtype=None, name: str | None = None) -> str:
        name = name or f"constant_{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def weight(self, *shape: int) -> str:
        """A random float constant, of a size that keeps a layer's outputs near its inputs."""
        fan_in = max(1, np.prod(shape[1:]))
        value = self.generator.normal(size=shape) / np.sqrt(fan_in)
        return self.constant(value.astype(np.float32), name=f"weight_{len(self.initializers)}")

    def node(self, operator: str, *inputs: str, outputs: list[str] | None = None, **attributes):
        """Append a node; its output, or the list of them if there are several."""
        names = outputs or [f"{operator.lower()}_{len(self.nodes)}"]
        node = helper.make_node(operator, inputs, names, name=f"node_{names[0]}", **attributes)
        self.nodes.append(node)
        return names[0] if len(names) == 1 else names

    def quantize(self, x: str, scale, zero_point, dtype="int8", **attributes) -> str:
        parameters = self.constant(scale, np.float32), self.constant(zero_point, dtype)
        return self.node("QuantizeLinear", x, *parameters, **attributes)

    def dequantize(self, x: str, scale, zero_point, dtype="int8", **attributes) -> str:
        parameters = self.constant(scale, np.float32), self.constant(zero_point, dtype)
        return self.node("DequantizeLinear", x, *parameters, **attributes)

    def through(self, x: str, scale, zero_point=0, dtype="int8") -> str:
        """`x` quantized and dequantized."""
        quantized = self.quantize(x, scale, zero_point, dtype)
        return self.dequantize(quantized, scale, zero_point, dtype)

    def rename(self, name: str, new_name: str) -> str:
        """Give the output of a node another name, where it is made."""
        (node,) = (node for node in self.nodes if name in node.output)
        node.output[list(node.output).index(name)] = new_name
        return new_name

    def proto(self, *outputs: str, opset: int = OPSET, dtype="float32", domains=()):
        """The model; the shapes of its outputs are left to inference."""
        element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        results = [helper.make_tensor_value_info(name, element, None) for name in outputs]
        graph = helper.make_graph(
            self.nodes, "graph", self.inputs, results, initializer=self.initializers
        )
        versions = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, 1) for d in domains)]
        return helper.make_model(graph, opset_imports=versions, ir_version=8)

    def model(self, *outputs: str, **options) -> bytes:
        """The model as a file's content."""
        return self.proto(*outputs, **options).SerializeToString()


class Reference:
    """onnxruntime, without optimizations."""

    def __init__(self, content: bytes) -> None:
        self._session = session_of(content)

    def random_inputs(self, seed: int) -> dict[str, np.ndarray]:
        """Normal values; a symbolic extent is 1."""
        generator = np.random.default_rng(seed)
        shapes = {
            i.name: [extent if isinstance(extent, int) else 1 for extent in i.shape]
            for i in self._session.get_inputs()
        }
        return {n: generator.normal(size=s).astype(np.float32) for n, s in shapes.items()}

    def run(self, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        names = [output.name for output in self._session.get_outputs()]
        return dict(zip(names, self._session.run(None, inputs), strict=True))


def small_model(names: tuple[str, str] = ("x", "y"), shape=(1, 4)) -> bytes:
    """One Relu."""
    graph = Graph()
    graph.node("Relu", graph.input(names[0], list(shape)), outputs=[names[1]])
    return graph.model(names[1])


def residual_cnn() -> bytes:
    """A small ResNet: convolutions with bias and Relu, an Add, pooling, a classifier."""
    graph = Graph()

    def convolution(x, outputs, inputs, size, stride=1):
        weight, bias = graph.weight(outputs, inputs, size, size), graph.weight(outputs)
        pads = [size // 2] * 4
        return graph.node("Conv", x, weight, bias, pads=pads, strides=[stride, stride])

    x = graph.input("image", [1, 3, 16, 16])
    x = graph.node("Relu", convolution(x, 8, 3, 3))
    branch = graph.node("Relu", convolution(x, 16, 8, 3, stride=2))
    branch = convolution(branch, 16, 16, 3)
    x = graph.node("Relu", graph.node("Add", branch, convolution(x, 16, 8, 1, stride=2)))
    x = graph.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = graph.node("Flatten", graph.node("GlobalAveragePool", x))
    x = graph.node("Gemm", x, graph.weight(10, 16), graph.weight(10), transB=1)
    graph.node("Softmax", x, outputs=["probabilities"])
    return graph.model("probabilities")


def mobile_block() -> bytes:
    """An inverted residual of MobileNetV2, with Relu6 as Clip."""
    graph = Graph()

    def convolution(x, outputs, inputs, size, group=1, stride=1):
        weight, bias = graph.weight(outputs, inputs, size, size), graph.weight(outputs)
        return graph.node(
            "Conv", x, weight, bias, pads=[size // 2] * 4, strides=[stride, stride], group=group
        )

    zero, six = graph.constant(0, np.float32), graph.constant(6, np.float32)
    image = graph.input("image", [1, 3, 16, 16])
    x = graph.node("Clip", convolution(image, 8, 3, 3, stride=2), zero, six)
    y = graph.node("Clip", convolution(x, 24, 8, 1), zero, six)
    y = graph.node("Clip", convolution(y, 24, 1, 3, group=24), zero, six)
    x = graph.node("Add", x, convolution(y, 8, 24, 1))
    x = graph.node("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = graph.node("Reshape", x, graph.constant([1, -1], np.int64))
    graph.node("Gemm", x, graph.weight(10, 128), graph.weight(10), transB=1, outputs=["scores"])
    return graph.model("scores")


def perceptron() -> bytes:
    """Three layers: two MatMuls with Add, a Gemm."""
    graph = Graph()
    x = graph.input("features", [1, 20])
    for inputs, outputs in ((20, 32), (32, 16)):
        x = graph.node("MatMul", x, graph.weight(inputs, outputs))
        x = graph.node("Relu", graph.node("Add", x, graph.weight(outputs)))
    graph.node("Gemm", x, graph.weight(16, 4), graph.weight(4), outputs=["scores"])
    return graph.model("scores")


@functools.cache
def quantized(
    content: bytes,
    activations: str = "int8",
    is_per_channel: bool = True,
    form: str = "QDQ",
) -> bytes:
    """A float model after onnxruntime's static quantization: int8 weights, int32 biases, calibrated
    on random inputs."""
    types = quantization.QuantType
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "quantized.onnx"
        quantization.quantize_static(
            onnx.ModelProto.FromString(content),
            path,
            _Calibration(content),
            quant_format=quantization.QuantFormat[form],
            activation_type={"int8": types.QInt8, "uint8": types.QUInt8}[activations],
            weight_type=types.QInt8,
            per_channel=is_per_channel,
            calibration_providers=["CPUExecutionProvider"],
        )
        return path.read_bytes()


def dynamically_quantized(content: bytes) -> bytes:
    """A float model after onnxruntime's dynamic quantization: the scales of activations are those
    of what they are in each run."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "quantized.onnx"
        model, weights = onnx.ModelProto.FromString(content), quantization.QuantType.QInt8
        quantization.quantize_dynamic(model, path, weight_type=weights)
        return path.read_bytes()


class _Calibration:
    """A `CalibrationDataReader`, which has no other method."""

    def __init__(self, content: bytes) -> None:
        reference = Reference(content)
        self._inputs = iter([reference.random_inputs(seed) for seed in range(8)])

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self._inputs, None)
