"""Nodes of an ONNX graph and its nested graphs: their names, schemas and inputs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import onnx

from usmp.support.text.plain_text import shown

ONNX_DOMAINS = ("", "ai.onnx")
"""Both names of the domain of ONNX's own operators."""


def all_nodes(graph: onnx.GraphProto | onnx.FunctionProto) -> Iterator[onnx.NodeProto]:
    """Yield the nodes of a graph and of its nested graphs."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                yield from all_nodes(inner)


def is_of_onnx(node: onnx.NodeProto) -> bool:
    """Return whether the node's operator is one of ONNX itself."""
    return node.domain in ONNX_DOMAINS


def qualified_name(node: onnx.NodeProto) -> str:
    """Return the operator's name, preceded by its domain if that is not ONNX's own."""
    return str(node.op_type) if is_of_onnx(node) else f"{node.domain}.{node.op_type}"


@cache
def schema_of(operator: str, opset: int) -> onnx.defs.OpSchema | None:
    """Return ONNX's definition of an operator in an opset; None if it has none there.

    Parameters
    ----------
    operator
        the name as `qualified_name` returns it.
    opset
        the version of the operators of its domain.
    """
    domain, _, name = operator.rpartition(".")
    try:
        return onnx.defs.get_schema(name, opset, domain)
    except onnx.defs.SchemaError:
        return None


def described_node(node: onnx.NodeProto | None) -> str:
    """Return a phrase that names a node in error messages; without a node, it is "an input"."""
    if node is None:
        return "an input"
    name = f'node "{shown(node.name)}", ' if node.name else ""
    output = shown(next(filter(None, node.output), ""))
    return f'operator {shown(qualified_name(node))} ({name}output "{output}")'


def names_read(node: onnx.NodeProto) -> set[str]:
    """Return the names of the tensors that a node and its nested graphs read."""
    names = set(node.input)
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            names |= _names_read_from_outside(graph)
    return names


def names_read_in(graph: onnx.GraphProto) -> set[str]:
    """Return the names of the tensors that a graph, its nested graphs and its outputs read."""
    return {output.name for output in graph.output}.union(*map(names_read, graph.node))


def _names_read_from_outside(graph: onnx.GraphProto) -> set[str]:
    own = {value.name for value in (*graph.input, *graph.initializer)}
    return names_read_in(graph) - own.union(*(node.output for node in graph.node))


def tensor_names(graph: onnx.GraphProto) -> set[str]:
    """Return the names of the tensors of a graph and of its nested graphs."""
    values = (*graph.input, *graph.output, *graph.value_info, *graph.initializer)
    names = {value.name for value in values}
    for node in graph.node:
        names.update((*node.input, *node.output))
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                names |= tensor_names(inner)
    return names


def missing_input(node: onnx.NodeProto, opset: int) -> int | None:
    """Return the index of the first omitted input that the operator requires, or None. ONNX's
    checker does not check inputs of functions and variadic inputs."""
    left_out = [index for index, name in enumerate(node.input) if not name]
    schema = schema_of(qualified_name(node), opset)
    if schema is None:
        return 0 if 0 in left_out else None
    for index in left_out:
        formal = schema.inputs[min(index, len(schema.inputs) - 1)]
        if formal.option != onnx.defs.OpSchema.FormalParameterOption.Optional:
            return index
    return None
