"""Small TFLite files, made from nothing: what no converter would write."""

from __future__ import annotations

from collections.abc import Sequence

import flatbuffers
import numpy as np
import tflite
from tflite import BuiltinOperator


def one_operator_model(
    shape: Sequence[int] = (1, 4),
    signature: Sequence[int] | None = None,
    operator: int = BuiltinOperator.RELU,
    names: tuple[str, str] = ("x", "y"),
    subgraphs: int = 1,
    input_index: int = 0,
) -> bytes:
    """A float model of one operator without options, x -> y, both of `shape`."""
    builder = flatbuffers.Builder()
    code = _operator_code(builder, operator)
    buffers = [_table(builder, tflite.BufferStart, tflite.BufferEnd) for _ in range(3)]
    tensors = [
        _tensor(builder, name, shape, signature, buffer)
        for buffer, name in enumerate(names, start=1)
    ]
    graph = _subgraph(builder, tensors, input_index)
    codes = _offsets(builder, [code])
    graphs = _offsets(builder, [graph] * subgraphs)
    buffer_vector = _offsets(builder, buffers)
    tflite.ModelStart(builder)
    tflite.ModelAddVersion(builder, 3)
    tflite.ModelAddOperatorCodes(builder, codes)
    tflite.ModelAddSubgraphs(builder, graphs)
    tflite.ModelAddBuffers(builder, buffer_vector)
    builder.Finish(tflite.ModelEnd(builder), file_identifier=b"TFL3")
    return bytes(builder.Output())


def _subgraph(builder: flatbuffers.Builder, tensors: list[int], input_index: int) -> int:
    inputs, outputs = _numbers(builder, [input_index]), _numbers(builder, [1])
    tflite.OperatorStart(builder)
    tflite.OperatorAddInputs(builder, inputs)
    tflite.OperatorAddOutputs(builder, outputs)
    operators = _offsets(builder, [tflite.OperatorEnd(builder)])
    graph_inputs, graph_outputs = _numbers(builder, [0]), _numbers(builder, [1])
    tensor_vector = _offsets(builder, tensors)
    tflite.SubGraphStart(builder)
    tflite.SubGraphAddTensors(builder, tensor_vector)
    tflite.SubGraphAddInputs(builder, graph_inputs)
    tflite.SubGraphAddOutputs(builder, graph_outputs)
    tflite.SubGraphAddOperators(builder, operators)
    return tflite.SubGraphEnd(builder)


def _operator_code(builder: flatbuffers.Builder, operator: int) -> int:
    custom = builder.CreateString("MyOperator") if operator == BuiltinOperator.CUSTOM else None
    tflite.OperatorCodeStart(builder)
    tflite.OperatorCodeAddBuiltinCode(builder, operator)
    tflite.OperatorCodeAddDeprecatedBuiltinCode(builder, min(operator, 127))
    if custom is not None:
        tflite.OperatorCodeAddCustomCode(builder, custom)
    return tflite.OperatorCodeEnd(builder)


def _tensor(
    builder: flatbuffers.Builder,
    name: str,
    shape: Sequence[int],
    signature: Sequence[int] | None,
    buffer: int,
) -> int:
    text, extents = builder.CreateString(name), _numbers(builder, shape)
    dynamic = None if signature is None else _numbers(builder, signature)
    tflite.TensorStart(builder)
    tflite.TensorAddName(builder, text)
    tflite.TensorAddShape(builder, extents)
    tflite.TensorAddType(builder, tflite.TensorType.FLOAT32)
    tflite.TensorAddBuffer(builder, buffer)
    if dynamic is not None:
        tflite.TensorAddShapeSignature(builder, dynamic)
    return tflite.TensorEnd(builder)


def _table(builder: flatbuffers.Builder, start, end) -> int:
    start(builder)
    return end(builder)


def _numbers(builder: flatbuffers.Builder, values: Sequence[int]) -> int:
    return builder.CreateNumpyVector(np.array(values, np.int32))


def _offsets(builder: flatbuffers.Builder, tables: list[int]) -> int:
    builder.StartVector(4, len(tables), 4)
    for table in reversed(tables):
        builder.PrependUOffsetTRelative(table)
    return builder.EndVector()
