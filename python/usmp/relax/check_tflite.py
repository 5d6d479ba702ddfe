"""Is a TFLite file whole? Say so up front, where the importer would fail on its own internals."""

from __future__ import annotations

import math
import struct
from math import prod
from typing import Any

import tflite

from usmp.objects.errors import UnsupportedModelError

_IDENTIFIER = b"TFL3"
_OFFSET_BYTES = 4
_MISSING = -1
"""The index of an optional operator input that is not given."""

_READER_ERRORS = (
    struct.error,
    IndexError,
    ValueError,
    TypeError,
    AttributeError,
    OverflowError,
)
"""How the flatbuffer readers report an offset that points nowhere."""

_ITEM_BYTES = {
    tflite.TensorType.FLOAT32: 4,
    tflite.TensorType.FLOAT16: 2,
    tflite.TensorType.INT32: 4,
    tflite.TensorType.UINT8: 1,
    tflite.TensorType.INT64: 8,
    tflite.TensorType.BOOL: 1,
    tflite.TensorType.INT16: 2,
    tflite.TensorType.INT8: 1,
    tflite.TensorType.FLOAT64: 8,
    tflite.TensorType.UINT64: 8,
    tflite.TensorType.UINT32: 4,
    tflite.TensorType.UINT16: 2,
}
"""Types whose constants are stored as plain arrays."""

_OPERATOR_NAMES: dict[int, str] = {
    number: name for name, number in vars(tflite.BuiltinOperator).items() if name.isupper()
}


def check_tflite(content: bytes) -> tflite.Model:
    """The model in `content`, if it can be planned as far as the file alone tells.

    Every index in it refers to something, every constant has the bytes of its shape, every tensor
    is written before it is read, there is one subgraph, and the inputs have fixed shapes (a
    dynamic batch is taken as the batch that the file gives).

    Raises
    ------
    UnsupportedModelError: something of this does not hold; the message says what.
    """
    if content[4:8] != _IDENTIFIER:
        raise UnsupportedModelError(
            f"not a TFLite model: bytes 4 to 7 are {content[4:8]!r}, not {_IDENTIFIER!r}"
        )
    try:
        model = tflite.Model.GetRootAsModel(content, 0)
        graph = _subgraph(model, len(content))
        _check_input_shapes(graph)
        for index in range(graph.TensorsLength()):
            _check_tensor(model, graph, index)
        _check_operators(model, graph)
    except UnsupportedModelError:
        raise
    except _READER_ERRORS as error:
        raise UnsupportedModelError(
            f"the file is damaged or truncated: an offset in it points outside its "
            f"{len(content)} bytes; convert or copy the model again"
        ) from error
    return model


def tensor_name(graph: tflite.SubGraph, index: int) -> str:
    """The tensor's name, or one made of its index."""
    name: bytes | None = graph.Tensors(index).Name()
    return name.decode("utf-8", errors="replace") if name else f"tensor_{index}"


def operator_name(model: tflite.Model, operator: tflite.Operator) -> str:
    """What the operator is called, as in "CONV_2D" or 'CUSTOM "Mine"'."""
    code = model.OperatorCodes(operator.OpcodeIndex())
    number = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
    if number == tflite.BuiltinOperator.CUSTOM:
        custom: bytes = code.CustomCode() or b""
        return f'CUSTOM "{custom.decode("utf-8", errors="replace")}"'
    return _OPERATOR_NAMES.get(number, str(number))


def _subgraph(model: tflite.Model, size: int) -> tflite.SubGraph:
    """The only subgraph, if the counts in the file are possible in a file of `size` bytes."""
    if model.SubgraphsLength() != 1:
        raise UnsupportedModelError(
            f"the model has {model.SubgraphsLength()} subgraphs; exactly one is supported"
        )
    graph = model.Subgraphs(0)
    counts = {
        "tensors": graph.TensorsLength(),
        "operators": graph.OperatorsLength(),
        "inputs": graph.InputsLength(),
        "outputs": graph.OutputsLength(),
        "buffers": model.BuffersLength(),
        "operator codes": model.OperatorCodesLength(),
    }
    for what, count in counts.items():
        if count * _OFFSET_BYTES > size:
            raise UnsupportedModelError(f"the file is damaged: {count} {what} in {size} bytes")
    for what in ("operators", "inputs", "outputs"):
        if counts[what] == 0:
            raise UnsupportedModelError(f"the model has no {what}")
    return graph


def _check_input_shapes(graph: tflite.SubGraph) -> None:
    tensors = graph.TensorsLength()
    for index in _vector(graph, "Inputs"):
        _check_index(index, tensors, "the graph's input", "tensor")
        shape = _vector(graph.Tensors(index), "Shape")
        signature = _vector(graph.Tensors(index), "ShapeSignature")
        if any(extent < 0 for extent in signature[1:]) or any(extent <= 0 for extent in shape):
            raise UnsupportedModelError(
                f'input "{tensor_name(graph, index)}" has a dynamic shape, {signature or shape}; '
                "memory is planned at compile time: convert the model with fixed input shapes"
            )


def _check_tensor(model: tflite.Model, graph: tflite.SubGraph, index: int) -> None:
    tensor = graph.Tensors(index)
    what = f'tensor {index} ("{tensor_name(graph, index)}")'
    try:
        (tensor.Name() or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise UnsupportedModelError(
            f"the file is damaged: the name of tensor {index} is not text"
        ) from error
    _check_index(tensor.Buffer(), model.BuffersLength(), what, "buffer")
    shape = _vector(tensor, "Shape")
    if any(extent < 0 for extent in shape):
        raise UnsupportedModelError(f"the file is damaged: {what} has shape {shape}")
    stored = model.Buffers(tensor.Buffer()).DataLength()
    item_bytes = _ITEM_BYTES.get(tensor.Type())
    if stored and item_bytes and tensor.Sparsity() is None:
        model.Buffers(tensor.Buffer()).DataAsNumpy()
        needed = prod(shape) * item_bytes
        if stored != needed:
            raise UnsupportedModelError(
                f"the file is damaged: {what} of shape {shape} takes {needed} bytes, "
                f"but {stored} are stored"
            )
    _check_quantisation(tensor, what)


def _check_quantisation(tensor: tflite.Tensor, what: str) -> None:
    quantisation = tensor.Quantization()
    if quantisation is None:
        return
    scales = _vector(quantisation, "Scale")
    for scale in scales:
        if not (math.isfinite(scale) and scale >= 0):
            raise UnsupportedModelError(
                f"the file is damaged: {what} has the quantisation scale {scale}"
            )
    zero_points = _vector(quantisation, "ZeroPoint")
    if len(zero_points) not in (0, 1, len(scales)):
        raise UnsupportedModelError(
            f"the file is damaged: {what} has {len(scales)} quantisation scales "
            f"and {len(zero_points)} zero points"
        )


def _check_operators(model: tflite.Model, graph: tflite.SubGraph) -> None:
    """Indices that refer to something, in an order in which each tensor is written, then read."""
    tensors = graph.TensorsLength()
    written = {*_vector(graph, "Inputs")}
    for index in range(tensors):
        tensor = graph.Tensors(index)
        has_content = model.Buffers(tensor.Buffer()).DataLength() > 0
        if has_content or tensor.IsVariable() or 0 in _vector(tensor, "Shape"):
            written.add(index)
    for position in range(graph.OperatorsLength()):
        operator = graph.Operators(position)
        what = f"operator {position}"
        codes = model.OperatorCodesLength()
        _check_index(operator.OpcodeIndex(), codes, what, "operator code")
        for index in _vector(operator, "Inputs"):
            if index != _MISSING:
                _check_index(index, tensors, what, "tensor")
                _check_written(graph, index, written, what)
        for index in _vector(operator, "Outputs"):
            _check_index(index, tensors, what, "tensor")
            written.add(index)
    for index in _vector(graph, "Outputs"):
        _check_index(index, tensors, "the graph's output", "tensor")
        _check_written(graph, index, written, "the graph's output")


def _check_index(index: int, count: int, what: str, kind: str) -> None:
    if not 0 <= index < count:
        raise UnsupportedModelError(
            f"the file is damaged: {what} refers to {kind} {index}, and there are {count}"
        )


def _check_written(graph: tflite.SubGraph, index: int, written: set[int], what: str) -> None:
    if index not in written:
        raise UnsupportedModelError(
            f'the file is damaged: {what} reads tensor "{tensor_name(graph, index)}", '
            "which has no content and nothing before writes it"
        )


def _vector(table: Any, field: str) -> list[Any]:
    """The numbers of a vector; none if the file leaves it out."""
    values = getattr(table, f"{field}AsNumpy")()
    return [] if isinstance(values, int) else list(values.tolist())
