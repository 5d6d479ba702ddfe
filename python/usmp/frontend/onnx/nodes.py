"""The nodes of an ONNX graph or function, wherever in it they stand."""

from __future__ import annotations

from collections.abc import Iterator

import onnx


def all_nodes(graph: onnx.GraphProto | onnx.FunctionProto) -> Iterator[onnx.NodeProto]:
    """The nodes, and those of the graphs in them."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                yield from all_nodes(inner)
