"""Rewrite of quantized ONNX operators from QOperator form into QDQ form.

    y = QLinearConv(x, x_scale, x_zero_point, w, ..., y_scale, y_zero_point, bias)
    ->
    y = QuantizeLinear(Conv(DequantizeLinear(x, ...), DequantizeLinear(w, ...),
                            DequantizeLinear(bias, x_scale * w_scale)), y_scale, y_zero_point)

`usmp.relax.transform.qdq` turns QDQ form into integer operators. The rewrite runs before shape
inference, because ONNX cannot infer shapes of onnxruntime's operators.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from usmp.frontend.onnx.graph.error_message import message_of
from usmp.frontend.onnx.graph.node import NotSupported
from usmp.frontend.onnx.graph.nodes import described_node, qualified_name, tensor_names
from usmp.frontend.onnx.graph.opsets import opset_version
from usmp.frontend.onnx.rewrites.fold import evaluated
from usmp.support.errors import UnsupportedModelError
from usmp.support.text.unique_names import UniqueNames

_MICROSOFT = "com.microsoft"
_FIRST_OPSET_OF_ONE_AXIS = 13
"""The first opset in which DequantizeLinear has scales along an axis."""
_FIRST_OPSET_OF_QUANTIZERS = 10


@dataclass(frozen=True)
class _Tensor:
    """The names of a quantized tensor, its scale and its zero point (empty without one)."""

    values: str
    scale: str
    zero_point: str


class _Writer:
    """A writer of the QDQ form of a node.

    Parameters
    ----------
    graph
        receives new constants.
    names
        the names of all tensors.
    """

    def __init__(self, graph: onnx.GraphProto, names: UniqueNames, opset: int) -> None:
        self.opset = opset
        self._graph = graph
        self._names = names
        self._constants = {t.name: t for t in graph.initializer}
        for node in graph.node:
            value = self._found_constant(node)
            if value is not None:
                self._constants[node.output[0]] = value
        self._nodes: list[onnx.NodeProto] = []
        self.node = onnx.NodeProto()

    def _found_constant(self, node: onnx.NodeProto) -> onnx.TensorProto | None:
        """Return the output of a Constant node, or of an Identity of a constant, else None."""
        if node.op_type == "Identity":
            return self._constants.get(node.input[0])
        if node.op_type != "Constant":
            return None
        if [a.name for a in node.attribute] == ["value"]:
            return node.attribute[0].t
        values = evaluated(node, [helper.make_opsetid("", self.opset)], {})
        return None if values is None else numpy_helper.from_array(values[0])

    def written(self, node: onnx.NodeProto) -> list[onnx.NodeProto]:
        """Return the QDQ form of a node; other nodes are returned unchanged.

        Raises
        ------
        NotSupported
            the node has an option that is not supported, or lacks an input.
        """
        write = _OPERATORS.get(qualified_name(node))
        if write is None:
            return [node]
        if self.opset < _FIRST_OPSET_OF_QUANTIZERS:
            raise NotSupported(
                f"the model uses version {self.opset} of the ONNX operators, which has no "
                f"QuantizeLinear; export it with opset {_FIRST_OPSET_OF_QUANTIZERS} or newer"
            )
        self._nodes, self.node = [], node
        write(self)
        return self._nodes

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes of the node."""
        return {a.name: helper.get_attribute_value(a) for a in self.node.attribute}

    def input(self, index: int) -> str:
        """Return the name of an input; empty if the node does not have it."""
        return str(self.node.input[index]) if index < len(self.node.input) else ""

    def tensor(self, index: int) -> _Tensor:
        """Return the quantized tensor whose values, scale and zero point begin at an input.

        Raises
        ------
        NotSupported
            the values or the scale are missing.
        """
        values, scale, zero_point = (self.input(index + i) for i in range(3))
        for name, position in ((values, index), (scale, index + 1)):
            if not name:
                raise NotSupported(f"input {position} is missing")
        return _Tensor(values, scale, zero_point)

    def constant(self, name: str, what: str) -> np.ndarray:
        """Return the values of a constant tensor.

        Raises
        ------
        NotSupported
            the tensor is computed at run time, or damaged; the message calls it `what`.
        """
        if name not in self._constants:
            raise NotSupported(f"{what} must be constant")
        try:
            return np.asarray(numpy_helper.to_array(self._constants[name]))
        except Exception as error:
            raise NotSupported(f"{what} cannot be read: {message_of(error)}") from error

    def add_constant(self, values: np.ndarray) -> str:
        """Add a constant to the graph and return its name."""
        name = self.new_name("constant")
        tensor = numpy_helper.from_array(values, name)
        self._graph.initializer.append(tensor)
        self._constants[name] = tensor
        return name

    def new_name(self, operator: str) -> str:
        """Return a fresh name for a result of `operator`."""
        return self._names.unique(f"{self.node.output[0]}_{operator}")

    def add_node(
        self,
        operator: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        attributes: Mapping[str, Any] | None = None,
        domain: str = "",
    ) -> None:
        """Append a node."""
        named = {"name": self.node.name, "domain": domain}
        self._nodes.append(
            helper.make_node(operator, inputs, outputs, **named, **(attributes or {}))
        )

    def add(
        self,
        operator: str,
        inputs: Sequence[str],
        attributes: Mapping[str, Any] | None = None,
        output: str = "",
        domain: str = "",
    ) -> str:
        """Append a node and return the name of its output; by default a fresh name."""
        output = output or self.new_name(operator)
        self.add_node(operator, inputs, [output], attributes, domain)
        return output

    def dequantized(self, tensor: _Tensor, axis: int | None = None) -> str:
        """Dequantize a tensor, with one scale or one for each slice along the axis, and return the
        name of the result."""
        parameters = [p for p in (tensor.scale, tensor.zero_point) if p]
        inputs = [tensor.values, *parameters]
        if axis is None or self.constant(tensor.scale, "a scale").size == 1:
            self._require_one_element(parameters)
            return self.add("DequantizeLinear", inputs)
        if self.opset >= _FIRST_OPSET_OF_ONE_AXIS:
            return self.add("DequantizeLinear", inputs, {"axis": axis})
        # Old opsets of ONNX have no axis, but onnxruntime's operator has.
        real = self.add("DequantizeLinear", inputs, {"axis": axis}, domain=_MICROSOFT)
        if tensor.values in self._constants:
            shape = list(self._constants[tensor.values].dims)
            value_info = helper.make_tensor_value_info(real, onnx.TensorProto.FLOAT, shape)
            self._graph.value_info.append(value_info)
        return real

    def _require_one_element(self, parameters: Sequence[str]) -> None:
        for parameter in parameters:
            value = self._constants.get(parameter)
            if value is not None and int(np.prod(value.dims)) != 1:
                raise NotSupported(
                    f"its scale or zero point has the shape {list(value.dims)}; only one element "
                    "is supported there"
                )

    def quantize(self, real: str, scale: str, zero_point: str) -> None:
        """Quantize real numbers to the output of the node.

        Raises
        ------
        NotSupported
            the scale or the zero point is missing, or is no constant of one element.
        """
        if not scale or not zero_point:
            raise NotSupported("the scale or the zero point of its output is missing")
        for parameter in (scale, zero_point):
            self.constant(parameter, "the quantization of its output")
        self._require_one_element([scale, zero_point])
        self.add("QuantizeLinear", [real, scale, zero_point], output=self.node.output[0])

    def bias(self, name: str, data: _Tensor, weight: _Tensor) -> list[str]:
        """Dequantize a bias with the product of the scales of data and weight, and return it as a
        list of inputs, which is empty without a bias."""
        if not name:
            return []
        scales = [self.constant(t.scale, "a scale") for t in (data, weight)]
        product = self.add_constant(np.multiply(*scales).reshape(scales[1].shape))
        return [self.dequantized(_Tensor(name, product, ""), 0)]


def _convolution(writer: _Writer) -> None:
    data, weight = writer.tensor(0), writer.tensor(3)
    inputs = [writer.dequantized(data), writer.dequantized(weight, 0)]
    inputs += writer.bias(writer.input(8), data, weight)
    real = writer.add("Conv", inputs, writer.attributes)
    writer.quantize(real, writer.input(6), writer.input(7))


def _matrix_product(writer: _Writer) -> None:
    inputs = [writer.dequantized(writer.tensor(0)), writer.dequantized(writer.tensor(3), -1)]
    writer.quantize(writer.add("MatMul", inputs), writer.input(6), writer.input(7))


def _gemm(writer: _Writer) -> None:
    attributes = writer.attributes
    if attributes.pop("alpha", 1.0) != 1.0:
        raise NotSupported("alpha is not 1; export the model with alpha in the weight's scale")
    data, weight = writer.tensor(0), writer.tensor(3)
    axis = 0 if attributes.get("transB", 0) else 1
    inputs = [writer.dequantized(data), writer.dequantized(weight, axis)]
    inputs += writer.bias(writer.input(6), data, weight)
    if not writer.input(7):
        writer.add("Gemm", inputs, attributes, writer.node.output[0])
        return
    real = writer.add("Gemm", inputs, attributes)
    writer.quantize(real, writer.input(7), writer.input(8))


def _binary(operator: str) -> Callable[[_Writer], None]:
    def write(writer: _Writer) -> None:
        inputs = [writer.dequantized(writer.tensor(0)), writer.dequantized(writer.tensor(3))]
        writer.quantize(writer.add(operator, inputs), writer.input(6), writer.input(7))

    return write


def _where(writer: _Writer) -> None:
    inputs = [writer.input(0), *(writer.dequantized(writer.tensor(i)) for i in (1, 4))]
    writer.quantize(writer.add("Where", inputs), writer.input(7), writer.input(8))


def _unary(operator: str) -> Callable[[_Writer], None]:
    def write(writer: _Writer) -> None:
        attributes = writer.attributes
        if attributes.pop("channels_last", 0):
            raise NotSupported(
                "channels_last is 1, which onnxruntime writes when it optimizes a model; take the "
                "model before that"
            )
        real = writer.add(operator, [writer.dequantized(writer.tensor(0))], attributes)
        writer.quantize(real, writer.input(3), writer.input(4))

    return write


def _concatenation(writer: _Writer) -> None:
    starts = range(2, len(writer.node.input), 3)
    parts = [writer.dequantized(writer.tensor(start)) for start in starts]
    if not parts:
        raise NotSupported("it has no inputs")
    real = writer.add("Concat", parts, writer.attributes)
    writer.quantize(real, writer.input(0), writer.input(1))


def _integer_product(writer: _Writer, data: _Tensor, weight: _Tensor, bias: str) -> None:
    """Append a product of integers, scaled to floats, plus the bias."""
    zero_points = [data.zero_point, weight.zero_point]
    inputs = [data.values, weight.values, *(zero_points if any(zero_points) else [])]
    integers = writer.add("MatMulInteger", inputs)
    floats = writer.add("Cast", [integers], {"to": onnx.TensorProto.FLOAT})
    result = writer.node.output[0]
    scale = writer.add("Mul", [data.scale, weight.scale])
    product = writer.add("Mul", [floats, scale], output="" if bias else result)
    if bias:
        writer.add("Add", [product, bias], output=result)


def _product_to_float(writer: _Writer) -> None:
    data, weight = (
        _Tensor(*(writer.input(index) for index in indices)) for indices in ((0, 2, 4), (1, 3, 5))
    )
    if not all((data.values, data.scale, weight.values, weight.scale)):
        raise NotSupported("one of its first four inputs is missing")
    _integer_product(writer, data, weight, writer.input(6))


def _dynamic_product(writer: _Writer) -> None:
    if not writer.input(0):
        raise NotSupported("input 0 is missing")
    integers, scale, zero_point = (
        writer.new_name(f"DynamicQuantizeLinear_{part}") for part in ("y", "scale", "zero_point")
    )
    writer.add_node("DynamicQuantizeLinear", [writer.input(0)], [integers, scale, zero_point])
    data = _Tensor(integers, scale, zero_point)
    _integer_product(writer, data, writer.tensor(1), writer.input(4))


_OPERATORS: Mapping[str, Callable[[_Writer], None]] = {
    "QLinearConv": _convolution,
    "QLinearMatMul": _matrix_product,
    **{
        f"{_MICROSOFT}.{name}": write
        for name, write in {
            "QGemm": _gemm,
            "QLinearAdd": _binary("Add"),
            "QLinearMul": _binary("Mul"),
            "QLinearWhere": _where,
            "QLinearAveragePool": _unary("AveragePool"),
            "QLinearGlobalAveragePool": _unary("GlobalAveragePool"),
            "QLinearLeakyRelu": _unary("LeakyRelu"),
            "QLinearSigmoid": _unary("Sigmoid"),
            "QLinearConcat": _concatenation,
            "MatMulIntegerToFloat": _product_to_float,
            "DynamicQuantizeMatMul": _dynamic_product,
        }.items()
    },
}


def to_qdq_form(model: onnx.ModelProto) -> dict[str, onnx.NodeProto]:
    """Rewrite the quantized operators of `model` into operators between quantizers, in place.

    Returns
    -------
    dict[str, onnx.NodeProto]
        Output of a new node -> the original node.

    Raises
    ------
    UnsupportedModelError
        a node has an option that is not supported; the message says which.
    """
    graph = model.graph
    if not any(qualified_name(node) in _OPERATORS for node in graph.node):
        return {}
    writer = _Writer(graph, UniqueNames(tensor_names(graph)), opset_version(model))
    written: list[onnx.NodeProto] = []
    origins: dict[str, onnx.NodeProto] = {}
    for node in graph.node:
        try:
            nodes = writer.written(node)
        except NotSupported as error:
            raise UnsupportedModelError(
                f"{described_node(node)} is not supported: {error}"
            ) from error
        written += nodes
        if nodes != [node]:
            copy = onnx.NodeProto()
            copy.CopyFrom(node)
            origins.update((output, copy) for new in nodes for output in new.output)
    del graph.node[:]
    graph.node.extend(written)
    if all(imported.domain != _MICROSOFT for imported in model.opset_import):
        model.opset_import.append(helper.make_opsetid(_MICROSOFT, 1))
    return origins
