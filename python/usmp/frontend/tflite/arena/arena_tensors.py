"""The tensors that TFLite Micro keeps in the head of its arena, and their live ranges.

The rules are those of `AllocationInfoBuilder` in `tensorflow/lite/micro/micro_allocation_info.cc`.
An input is live from the start, and the output of an operator from that operator on, both up to
their last reader. Outputs of the model are live to the end. Constants and variables lie elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import tflite

from usmp.frontend.tflite.file.read import operator_name, tensor_name, vector
from usmp.support.errors import UnsupportedModelError

_ITEM_BYTES = {
    tflite.TensorType.FLOAT32: 4,
    tflite.TensorType.FLOAT16: 2,
    tflite.TensorType.INT32: 4,
    tflite.TensorType.UINT32: 4,
    tflite.TensorType.UINT8: 1,
    tflite.TensorType.INT64: 8,
    tflite.TensorType.UINT64: 8,
    tflite.TensorType.BOOL: 1,
    tflite.TensorType.INT16: 2,
    tflite.TensorType.UINT16: 2,
    tflite.TensorType.INT8: 1,
    tflite.TensorType.FLOAT64: 8,
}
"""Bytes per element, for types on which all versions of TFLite Micro agree. TFLite Micro places
tensors of other types, such as int4, itself."""


@dataclass(frozen=True)
class ArenaTensor:
    """A tensor in the head of the arena.

    Parameters
    ----------
    index
        its index in the graph's list of tensors.
    name
        its name in the file, or one made of its index.
    size_bytes
        size in bytes, rounded up to a multiple of `ALIGNMENT`.
    start, stop
        the half-open range of operators, counted from 1, in which the tensor is live; inputs are
        live at 0, before the first operator.
    """

    index: int
    name: str
    size_bytes: int
    start: int
    stop: int


ALIGNMENT = 16
"""Bytes; sizes and offsets in the arena are multiples of this."""


def arena_tensors(model: tflite.Model) -> list[ArenaTensor]:
    """Return the arena tensors of a model that `check_tflite` accepts, in the order of the file.

    Raises
    ------
    UnsupportedModelError
        the model has several subgraphs, or data outside the tables of the file, which TFLite Micro
        does not read.
    """
    _check_is_one_graph(model)
    graph = model.Subgraphs(0)
    starts: dict[int, int] = {}
    stops: dict[int, int] = {}
    inputs, outputs = vector(graph, "Inputs"), vector(graph, "Outputs")
    for index in inputs:
        starts[index], stops[index] = 0, 1
    count = graph.OperatorsLength()
    for position in range(count):
        operator, scope = graph.Operators(position), position + 1
        written = vector(operator, "Outputs")
        for index in written:
            starts.setdefault(index, scope)
        for index in [*vector(operator, "Inputs"), *written]:
            stops[index] = scope + 1
    for index in outputs:
        starts.setdefault(index, count)
        stops[index] = count + 1
    return [
        ArenaTensor(
            index,
            tensor_name(graph, index),
            -(-size // ALIGNMENT) * ALIGNMENT,
            starts.get(index, 0),
            stops.get(index, 1),
        )
        for index in range(graph.TensorsLength())
        if (size := _size_in_arena(model, graph.Tensors(index)))
    ]


def _size_in_arena(model: tflite.Model, tensor: tflite.Tensor) -> int:
    """Return the bytes that a tensor takes in the head, 0 if TFLite Micro places it elsewhere."""
    if tensor.IsVariable() or model.Buffers(tensor.Buffer()).DataLength() > 0:
        return 0
    return int(prod(vector(tensor, "Shape"))) * _ITEM_BYTES.get(tensor.Type(), 0)


def _check_is_one_graph(model: tflite.Model) -> None:
    graphs = model.SubgraphsLength()
    if graphs != 1:
        raise UnsupportedModelError(
            f"the model has {graphs} subgraphs; versions of TFLite Micro differ in which offsets "
            "belong to which subgraph, so only models with 1 are planned for it"
        )
    graph = model.Subgraphs(0)
    for position in range(graph.OperatorsLength()):
        operator = graph.Operators(position)
        if operator.LargeCustomOptionsOffset() > 1:
            raise UnsupportedModelError(
                f"operator {position} ({operator_name(model, operator)}) has options outside the "
                "tables of the file, which TFLite Micro does not read"
            )
    for number in range(model.BuffersLength()):
        if model.Buffers(number).Offset() > 1:
            raise UnsupportedModelError(
                f"buffer {number} lies outside the tables of the file, where TFLite Micro does not "
                "read it"
            )
