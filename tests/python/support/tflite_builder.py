"""TFLite files from nothing: tensors, operators and subgraphs, as the schema names them.

    graph = Graph()
    x = graph.input((1, 4), "int8", per_tensor(0.1, -3))
    y = graph.tensor((1, 4), "int8", per_tensor(0.2, 5))
    graph.operator("LEAKY_RELU", [x], [y], options("LeakyReluOptions", alpha=0.1))
    graph.output(y)
    content = write_model(graph)

Nothing is checked: damaged models are wanted too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import flatbuffers
import numpy as np
import tflite

ABSENT = -1
"""The index of an optional input that is not there."""

_BUFFER_ALIGNMENT = 16


@dataclass(frozen=True)
class Quantization:
    """Affine quantization; several scales belong to the slices along `dimension`."""

    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    dimension: int = 0


def per_tensor(scale: float, zero_point: int = 0) -> Quantization:
    """One scale for the whole tensor."""
    return Quantization((scale,), (zero_point,))


def per_channel(scales: Sequence[float], dimension: int) -> Quantization:
    """One scale a slice along `dimension`, and zero points of zero."""
    return Quantization(tuple(scales), (0,) * len(scales), dimension)


@dataclass(frozen=True)
class Options:
    """An options table and its fields, each a number, a text, bytes or a list of int32."""

    table: str
    fields: dict[str, object]


def options(table: str, **fields: object) -> Options:
    """For example `options("Conv2DOptions", stride_w=2)`: fields are named as in the schema."""
    return Options(table, fields)


@dataclass(frozen=True)
class _Tensor:
    name: str
    shape: tuple[int, ...]
    dtype: str
    quantization: Quantization | None
    data: np.ndarray | None
    is_variable: bool
    signature: tuple[int, ...] | None


@dataclass(frozen=True)
class _Operator:
    code: int
    custom_code: str | None
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Options | None
    custom_options: bytes | None
    intermediates: tuple[int, ...]


@dataclass
class Graph:
    """One subgraph; tensors are known by the index that the methods return."""

    name: str = "main"
    tensors: list[_Tensor] = field(default_factory=list)
    operators: list[_Operator] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)

    def tensor(
        self,
        shape: Sequence[int],
        dtype: str,
        quantization: Quantization | None = None,
        *,
        name: str | None = None,
        data: np.ndarray | None = None,
        is_variable: bool = False,
        signature: Sequence[int] | None = None,
    ) -> int:
        """A tensor of a type as `TensorType` names it ("int8", "int4", "resource", ...)."""
        index = len(self.tensors)
        self.tensors.append(
            _Tensor(
                f"t{index}" if name is None else name,
                tuple(shape),
                dtype,
                quantization,
                data,
                is_variable,
                None if signature is None else tuple(signature),
            )
        )
        return index

    def constant(
        self, data: np.ndarray, quantization: Quantization | None = None, dtype: str | None = None
    ) -> int:
        """A tensor with content; `dtype` "int4" packs int8 values two to a byte."""
        return self.tensor(data.shape, dtype or data.dtype.name, quantization, data=data)

    def input(
        self,
        shape: Sequence[int],
        dtype: str,
        quantization: Quantization | None = None,
        name: str | None = None,
    ) -> int:
        """A tensor that the caller fills."""
        index = self.tensor(shape, dtype, quantization, name=name)
        self.inputs.append(index)
        return index

    def output(self, *tensors: int) -> None:
        """Declare tensors as results."""
        self.outputs.extend(tensors)

    def operator(
        self,
        code: str | int,
        inputs: Sequence[int],
        outputs: Sequence[int],
        options: Options | None = None,
        *,
        custom_code: str | None = None,
        custom_options: bytes | None = None,
        intermediates: Sequence[int] = (),
    ) -> None:
        """Append an operator by its name in `BuiltinOperator`, or its number."""
        number = getattr(tflite.BuiltinOperator, code) if isinstance(code, str) else code
        self.operators.append(
            _Operator(
                number,
                custom_code,
                tuple(inputs),
                tuple(outputs),
                options,
                custom_options,
                tuple(intermediates),
            )
        )


@dataclass(frozen=True)
class Signature:
    """What an application calls by name: a graph, and names of its inputs and outputs.

    By default they are called as the tensors are.
    """

    key: str | None
    graph: int
    inputs: Mapping[str, int] | Sequence[tuple[str | None, int]] | None = None
    outputs: Mapping[str, int] | Sequence[tuple[str | None, int]] | None = None


def write_model(*graphs: Graph, signatures: Sequence[Signature] = ()) -> bytes:
    """The file of a model; the first graph is the main one."""
    builder = flatbuffers.Builder()
    codes: dict[tuple[int, str | None], int] = {}
    contents: list[bytes] = [b""]
    subgraphs = [_subgraph(builder, graph, codes, contents) for graph in graphs]
    code_vector = _offsets(builder, [_operator_code(builder, *code) for code in codes])
    buffer_vector = _offsets(builder, [_buffer(builder, content) for content in contents])
    subgraph_vector = _offsets(builder, subgraphs)
    signature_tables = [_signature(builder, signature, graphs) for signature in signatures]
    signature_vector = _offsets(builder, signature_tables) if signatures else None
    tflite.ModelStart(builder)
    tflite.ModelAddVersion(builder, 3)
    tflite.ModelAddOperatorCodes(builder, code_vector)
    tflite.ModelAddSubgraphs(builder, subgraph_vector)
    tflite.ModelAddBuffers(builder, buffer_vector)
    if signature_vector is not None:
        tflite.ModelAddSignatureDefs(builder, signature_vector)
    builder.Finish(tflite.ModelEnd(builder), file_identifier=b"TFL3")
    return bytes(builder.Output())


def _signature(builder: flatbuffers.Builder, signature: Signature, graphs: Sequence[Graph]) -> int:
    maps = []
    for given, kind in ((signature.inputs, "inputs"), (signature.outputs, "outputs")):
        if given is None:
            graph = graphs[signature.graph]
            given = [(graph.tensors[index].name, index) for index in getattr(graph, kind)]
        pairs = given.items() if isinstance(given, Mapping) else given
        maps.append(_offsets(builder, [_named_tensor(builder, *pair) for pair in pairs]))
    key = None if signature.key is None else builder.CreateString(signature.key)
    tflite.SignatureDefStart(builder)
    tflite.SignatureDefAddInputs(builder, maps[0])
    tflite.SignatureDefAddOutputs(builder, maps[1])
    if key is not None:
        tflite.SignatureDefAddSignatureKey(builder, key)
    tflite.SignatureDefAddSubgraphIndex(builder, signature.graph)
    return tflite.SignatureDefEnd(builder)


def _named_tensor(builder: flatbuffers.Builder, name: str | None, index: int) -> int:
    text = None if name is None else builder.CreateString(name)
    tflite.TensorMapStart(builder)
    if text is not None:
        tflite.TensorMapAddName(builder, text)
    tflite.TensorMapAddTensorIndex(builder, index)
    return tflite.TensorMapEnd(builder)


def _subgraph(
    builder: flatbuffers.Builder,
    graph: Graph,
    codes: dict[tuple[int, str | None], int],
    contents: list[bytes],
) -> int:
    tensors = _offsets(builder, [_tensor(builder, tensor, contents) for tensor in graph.tensors])
    operators = _offsets(builder, [_operator(builder, op, codes) for op in graph.operators])
    inputs, outputs = _numbers(builder, graph.inputs), _numbers(builder, graph.outputs)
    name = builder.CreateString(graph.name)
    tflite.SubGraphStart(builder)
    tflite.SubGraphAddTensors(builder, tensors)
    tflite.SubGraphAddInputs(builder, inputs)
    tflite.SubGraphAddOutputs(builder, outputs)
    tflite.SubGraphAddOperators(builder, operators)
    tflite.SubGraphAddName(builder, name)
    return tflite.SubGraphEnd(builder)


def _tensor(builder: flatbuffers.Builder, tensor: _Tensor, contents: list[bytes]) -> int:
    name, shape = builder.CreateString(tensor.name), _numbers(builder, tensor.shape)
    signature = None if tensor.signature is None else _numbers(builder, tensor.signature)
    quantization = _quantization(builder, tensor.quantization) if tensor.quantization else None
    tflite.TensorStart(builder)
    tflite.TensorAddName(builder, name)
    tflite.TensorAddShape(builder, shape)
    tflite.TensorAddType(builder, getattr(tflite.TensorType, tensor.dtype.upper()))
    if tensor.data is not None:
        tflite.TensorAddBuffer(builder, len(contents))
        contents.append(_content(tensor))
    if quantization is not None:
        tflite.TensorAddQuantization(builder, quantization)
    if tensor.is_variable:
        tflite.TensorAddIsVariable(builder, True)
    if signature is not None:
        tflite.TensorAddShapeSignature(builder, signature)
    return tflite.TensorEnd(builder)


def _content(tensor: _Tensor) -> bytes:
    if tensor.dtype != "int4":
        return tensor.data.tobytes()
    nibbles = tensor.data.astype(np.uint8).ravel() & 15
    nibbles = np.append(nibbles, np.zeros(nibbles.size % 2, np.uint8))
    return (nibbles[::2] | nibbles[1::2] << 4).tobytes()


def _quantization(builder: flatbuffers.Builder, quantization: Quantization) -> int:
    scales = builder.CreateNumpyVector(np.array(quantization.scales, np.float32))
    zero_points = builder.CreateNumpyVector(np.array(quantization.zero_points, np.int64))
    tflite.QuantizationParametersStart(builder)
    tflite.QuantizationParametersAddScale(builder, scales)
    tflite.QuantizationParametersAddZeroPoint(builder, zero_points)
    tflite.QuantizationParametersAddQuantizedDimension(builder, quantization.dimension)
    return tflite.QuantizationParametersEnd(builder)


def _operator(
    builder: flatbuffers.Builder, operator: _Operator, codes: dict[tuple[int, str | None], int]
) -> int:
    code = codes.setdefault((operator.code, operator.custom_code), len(codes))
    inputs, outputs = _numbers(builder, operator.inputs), _numbers(builder, operator.outputs)
    table = None if operator.options is None else _options(builder, operator.options)
    custom = operator.custom_options
    custom_options = None if custom is None else builder.CreateByteVector(custom)
    intermediates = _numbers(builder, operator.intermediates) if operator.intermediates else None
    tflite.OperatorStart(builder)
    tflite.OperatorAddOpcodeIndex(builder, code)
    tflite.OperatorAddInputs(builder, inputs)
    tflite.OperatorAddOutputs(builder, outputs)
    if operator.options is not None:
        kind = operator.options.table
        if hasattr(tflite.BuiltinOptions, kind):
            tflite.OperatorAddBuiltinOptionsType(builder, getattr(tflite.BuiltinOptions, kind))
            tflite.OperatorAddBuiltinOptions(builder, table)
        else:
            number = getattr(tflite.BuiltinOptions2, kind)
            tflite.OperatorAddBuiltinOptions2Type(builder, number)
            tflite.OperatorAddBuiltinOptions2(builder, table)
    if custom_options is not None:
        tflite.OperatorAddCustomOptions(builder, custom_options)
    if intermediates is not None:
        tflite.OperatorAddIntermediates(builder, intermediates)
    return tflite.OperatorEnd(builder)


def _options(builder: flatbuffers.Builder, options: Options) -> int:
    values = {name: _field(builder, value) for name, value in options.fields.items()}
    getattr(tflite, f"{options.table}Start")(builder)
    for name, value in values.items():
        camel = "".join(part.capitalize() for part in name.split("_"))
        getattr(tflite, f"{options.table}Add{camel}")(builder, value)
    return getattr(tflite, f"{options.table}End")(builder)


def _field(builder: flatbuffers.Builder, value: object) -> object:
    if isinstance(value, str):
        return builder.CreateString(value)
    if isinstance(value, bytes):
        return builder.CreateByteVector(value)
    return _numbers(builder, value) if isinstance(value, (list, tuple)) else value


def _operator_code(builder: flatbuffers.Builder, code: int, custom_code: str | None) -> int:
    custom = None if custom_code is None else builder.CreateString(custom_code)
    tflite.OperatorCodeStart(builder)
    tflite.OperatorCodeAddBuiltinCode(builder, code)
    # Readers take the larger of the two; the old field ends at 127.
    tflite.OperatorCodeAddDeprecatedBuiltinCode(builder, min(code, 127))
    if custom is not None:
        tflite.OperatorCodeAddCustomCode(builder, custom)
    return tflite.OperatorCodeEnd(builder)


def _buffer(builder: flatbuffers.Builder, content: bytes) -> int:
    data = _aligned_bytes(builder, content) if content else None
    tflite.BufferStart(builder)
    if data is not None:
        tflite.BufferAddData(builder, data)
    return tflite.BufferEnd(builder)


def _aligned_bytes(builder: flatbuffers.Builder, content: bytes) -> int:
    """Runtimes read int32 constants in place, so the schema asks for 16 bytes."""
    builder.StartVector(1, len(content), _BUFFER_ALIGNMENT)
    builder.head = builder.Head() - len(content)
    builder.Bytes[builder.Head() : builder.Head() + len(content)] = content
    return builder.EndVector()


def _numbers(builder: flatbuffers.Builder, values: Sequence[int]) -> int:
    return builder.CreateNumpyVector(np.array(values, np.int32))


def _offsets(builder: flatbuffers.Builder, tables: list[int]) -> int:
    builder.StartVector(4, len(tables), 4)
    for table in reversed(tables):
        builder.PrependUOffsetTRelative(table)
    return builder.EndVector()
