"""The nodes of an ONNX graph or function, wherever in it they stand: names, and what they read."""

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


def qualified_name(node: onnx.NodeProto) -> str:
    """The name of the operator, with its domain if that is not ONNX's own."""
    return node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}"


def described_node(node: onnx.NodeProto | None) -> str:
    """A node as errors name it; an input if it is none."""
    if node is None:
        return "an input"
    name = f'node "{node.name}", ' if node.name else ""
    output = next(filter(None, node.output), "")
    return f'operator {qualified_name(node)} ({name}output "{output}")'


def names_read(node: onnx.NodeProto) -> set[str]:
    """The tensors that a node reads, also by the graphs inside of it."""
    names = set(node.input)
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            names |= _names_read_from_outside(graph)
    return names


def _names_read_from_outside(graph: onnx.GraphProto) -> set[str]:
    read = {output.name for output in graph.output}
    own = {value.name for value in (*graph.input, *graph.initializer)}
    for node in graph.node:
        read |= names_read(node)
        own.update(node.output)
    return read - own
