"""TFLite files side by side in one, so that one build and one C program are for many of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import flatbuffers
import numpy as np
import tflite

from support.tflite_builder import Graph, write_model


def joined(models: Mapping[str, bytes]) -> bytes:
    """A model with the inputs, operators and outputs of all, each of which has one subgraph.

    Parameters
    ----------
    models
        files by names, which become prefixes of the names of their tensors (see `part_of`).
    """
    from ai_edge_litert import schema_py_generated as schema

    whole: Any = schema.ModelT.InitFromPackedBuf(write_model(Graph()), 0)
    (graph,) = whole.subgraphs
    graph.inputs, graph.outputs = [], []
    for name, content in models.items():
        part = schema.ModelT.InitFromPackedBuf(content, 0)
        (added,) = part.subgraphs
        tensors = len(graph.tensors)
        for tensor in added.tensors:
            tensor.name = f"{name}/{tensor.name.decode()}"
            tensor.buffer += len(whole.buffers)
        for operator in added.operators:
            operator.opcodeIndex += len(whole.operatorCodes)
            for field in ("inputs", "outputs", "intermediates"):
                setattr(operator, field, _moved(getattr(operator, field), tensors))
        graph.tensors += added.tensors
        graph.operators += added.operators
        graph.inputs += _moved(added.inputs, tensors)
        graph.outputs += _moved(added.outputs, tensors)
        whole.buffers += part.buffers
        whole.operatorCodes += part.operatorCodes
    builder = flatbuffers.Builder()
    builder.Finish(whole.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _moved(tensors: Sequence[int] | None, by: int) -> Any:
    """Indices of tensors behind `by` others; those that are absent stay negative."""
    return None if tensors is None else [index + by if index >= 0 else index for index in tensors]


def part_of(arrays: Mapping[str, np.ndarray], name: str) -> dict[str, np.ndarray]:
    """The inputs or outputs of one of the models, by their own names."""
    prefix = f"{name}/"
    return {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}


def subgraphs_of(content: bytes) -> int:
    """The number of subgraphs of a file."""
    return int(tflite.Model.GetRootAsModel(content, 0).SubgraphsLength())
