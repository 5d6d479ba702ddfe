"""The inputs and outputs of a TFLite file, and values for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import tflite

_NAMES = """float16 float32 float64 int8 uint8 int16 uint16 int32 uint32 int64 uint64
bool""".split()
_TYPES = {getattr(tflite.TensorType, name.upper()): np.dtype(name) for name in _NAMES}


@dataclass(frozen=True)
class GraphTensor:
    """An input or output of the main graph; a zero point of 0 where none is given."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype
    zero_point: int

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the largest value; of floats, what lies far outside normal ones."""
        if self.dtype.kind == "f":
            return -100, 100
        if self.dtype.kind == "b":
            return 0, 1
        return np.iinfo(self.dtype).min, np.iinfo(self.dtype).max

    def full(self, value: float) -> np.ndarray:
        """The tensor with one value everywhere."""
        return np.full(self.shape, value, self.dtype)


def graph_tensors(content: bytes) -> tuple[list[GraphTensor], list[GraphTensor]]:
    """The inputs and the outputs of a model file."""
    graph = tflite.Model.GetRootAsModel(content, 0).Subgraphs(0)
    inputs = [_tensor(graph, graph.Inputs(i)) for i in range(graph.InputsLength())]
    outputs = [_tensor(graph, graph.Outputs(i)) for i in range(graph.OutputsLength())]
    return inputs, outputs


def _tensor(graph: tflite.SubGraph, index: int) -> GraphTensor:
    tensor = graph.Tensors(index)
    quantization = tensor.Quantization()
    has_zero_point = quantization is not None and quantization.ZeroPointLength() > 0
    return GraphTensor(
        tensor.Name().decode() if tensor.Name() else f"tensor_{index}",
        tuple(int(tensor.Shape(axis)) for axis in range(tensor.ShapeLength())),
        _TYPES[tensor.Type()],
        int(quantization.ZeroPoint(0)) if has_zero_point else 0,
    )


def random_inputs(tensors: Sequence[GraphTensor], seed: int) -> dict[str, np.ndarray]:
    """Normal floats; integers from the whole range of their type."""
    generator = np.random.default_rng(seed)
    inputs = {}
    for tensor in tensors:
        if tensor.dtype.kind == "f":
            value = generator.standard_normal(tensor.shape).astype(tensor.dtype)
        else:
            low, high = tensor.limits
            draw = np.uint8 if tensor.dtype.kind == "b" else tensor.dtype
            value = generator.integers(low, high, tensor.shape, draw, endpoint=True)
        inputs[tensor.name] = np.asarray(value, tensor.dtype)
    return inputs


def extreme_inputs(tensors: Sequence[GraphTensor]) -> list[dict[str, np.ndarray]]:
    """All least, all largest, least and largest in turn by input, all zero points."""
    turns = [[0] * len(tensors), [1] * len(tensors)]
    if len(tensors) > 1:
        alternating = [index % 2 for index in range(len(tensors))]
        turns += [alternating, [1 - bit for bit in alternating]]
    extremes = [
        {t.name: t.full(t.limits[bit]) for t, bit in zip(tensors, bits, strict=True)}
        for bits in turns
    ]
    return [*extremes, {t.name: t.full(t.zero_point) for t in tensors}]
