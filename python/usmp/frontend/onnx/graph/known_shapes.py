"""Shapes of the tensors of an ONNX graph, as far as they consist of numbers."""

from __future__ import annotations

import onnx


def known_shapes(graph: onnx.GraphProto) -> dict[str, list[int]]:
    """The shapes that consist of numbers, by the names of the tensors."""
    values = (*graph.input, *graph.output, *graph.value_info)
    shapes = {value.name: _static_shape(value) for value in values}
    shapes |= {tensor.name: list(tensor.dims) for tensor in graph.initializer}
    return {name: shape for name, shape in shapes.items() if shape is not None}


def _static_shape(value: onnx.ValueInfoProto) -> list[int] | None:
    """The shape if all its extents are numbers."""
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return None
    dims = tensor.shape.dim
    return [d.dim_value for d in dims] if all(d.HasField("dim_value") for d in dims) else None
