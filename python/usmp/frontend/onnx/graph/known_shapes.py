"""Static shapes of the tensors of an ONNX graph."""

from __future__ import annotations

import onnx


def known_shapes(graph: onnx.GraphProto) -> dict[str, list[int]]:
    """Return the shapes without symbolic extents, by the names of the tensors."""
    values = (*graph.input, *graph.output, *graph.value_info)
    shapes = {value.name: _static_shape(value) for value in values}
    shapes |= {tensor.name: list(tensor.dims) for tensor in graph.initializer}
    return {name: shape for name, shape in shapes.items() if shape is not None}


def _static_shape(value: onnx.ValueInfoProto) -> list[int] | None:
    """Return the shape if all its extents are numbers, else None."""
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return None
    dims = tensor.shape.dim
    return [d.dim_value for d in dims] if all(d.HasField("dim_value") for d in dims) else None
