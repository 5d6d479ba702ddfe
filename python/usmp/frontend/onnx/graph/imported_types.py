"""A check that TVM's importer gives tensors the types and shapes that ONNX infers."""

from __future__ import annotations

from collections.abc import Sequence

import onnx
from onnx import helper
from tvm import relax
from tvm.ir import TupleType, Type

from usmp.frontend.onnx.graph.known_shapes import known_shapes
from usmp.frontend.onnx.graph.node import NotSupported
from usmp.frontend.onnx.graph.nodes import names_read_in
from usmp.relax.static_shapes import has_static_shape

UNKNOWN = "unknown"
"""The element type of a tensor of unknown type."""


class TensorTypes:
    """The types and shapes of the tensors of a graph, as far as they are known."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        self._read = names_read_in(graph)
        values = (*graph.input, *graph.output, *graph.value_info)
        self._shapes = known_shapes(graph)
        self._dtypes = {
            value.name: str(helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type))
            for value in values
            if value.type.tensor_type.elem_type
        }

    def of(self, name: str) -> tuple[str, list[int | str]]:
        """Return the element type and extents of a tensor, or `UNKNOWN` and no extents."""
        return self._dtypes.get(name, UNKNOWN), list(self._shapes.get(name, ()))

    def unread(self, names: Sequence[str]) -> frozenset[int]:
        """Return the indices of outputs that have no name, or that nothing reads."""
        return frozenset(i for i, name in enumerate(names) if not name or name not in self._read)

    def check(self, names: Sequence[str], ty: Type) -> None:
        """Check the imported type of a node's outputs that are read.

        Raises
        ------
        NotSupported
            an output is not imported, or has another type or shape than ONNX infers.
        """
        types = list(ty.fields) if isinstance(ty, TupleType) else [ty]
        if 1 < len(types) < len(names) or (not isinstance(ty, TupleType) and len(names) > 1):
            raise NotSupported(f'its output "{names[len(types)]}"; only {names[0]} is imported')
        for name, imported in zip(names, types, strict=False):
            is_tensor = isinstance(imported, relax.TensorType) and has_static_shape(imported)
            if not is_tensor or name not in self._read:
                continue
            shape, dtype = [int(extent) for extent in imported.shape], str(imported.dtype)
            wanted, expected = self._shapes.get(name, shape), self._dtypes.get(name, dtype)
            if (shape, dtype) != (wanted, expected):
                raise NotSupported(
                    f'TVM\'s ONNX importer gives "{name}" the type {dtype}{shape}; in ONNX it is '
                    f"{expected}{wanted}"
                )
