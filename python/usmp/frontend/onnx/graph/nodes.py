"""The nodes of an ONNX graph or function, wherever in it they stand: names, and what they read."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import onnx

from usmp.support.plain_text import shown

ONNX_DOMAINS = ("", "ai.onnx")
"""Both names of the domain of ONNX's own operators."""


def all_nodes(graph: onnx.GraphProto | onnx.FunctionProto) -> Iterator[onnx.NodeProto]:
    """The nodes, and those of the graphs in them."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                yield from all_nodes(inner)


def is_of_onnx(node: onnx.NodeProto) -> bool:
    """Whether the operator is one of ONNX itself."""
    return node.domain in ONNX_DOMAINS


def qualified_name(node: onnx.NodeProto) -> str:
    """The name of the operator, with its domain if that is not ONNX's own."""
    return str(node.op_type) if is_of_onnx(node) else f"{node.domain}.{node.op_type}"


@cache
def schema_of(operator: str, opset: int) -> onnx.defs.OpSchema | None:
    """Return ONNX's definition of an operator in an opset; None if it has none there.

    Parameters
    ----------
    operator
        the name, with the domain in front if it is not that of ONNX (`qualified_name`).
    opset
        the version of the operators of its domain.
    """
    domain, _, name = operator.rpartition(".")
    try:
        return onnx.defs.get_schema(name, opset, domain)
    except onnx.defs.SchemaError:
        return None


def described_node(node: onnx.NodeProto | None) -> str:
    """A node as errors name it; an input if it is none."""
    if node is None:
        return "an input"
    name = f'node "{shown(node.name)}", ' if node.name else ""
    output = shown(next(filter(None, node.output), ""))
    return f'operator {shown(qualified_name(node))} ({name}output "{output}")'


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


def tensor_names(graph: onnx.GraphProto) -> set[str]:
    """The names of the tensors of a graph, and of those in the graphs in it."""
    values = (*graph.input, *graph.output, *graph.value_info, *graph.initializer)
    names = {value.name for value in values}
    for node in graph.node:
        names.update((*node.input, *node.output))
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                names |= tensor_names(inner)
    return names


def missing_input(node: onnx.NodeProto, opset: int) -> int | None:
    """The first input that is left out though the operator needs it: what a function passes on, or
    one of several, of which ONNX's checker asks nothing."""
    left_out = [index for index, name in enumerate(node.input) if not name]
    schema = schema_of(qualified_name(node), opset)
    if schema is None:
        return 0 if 0 in left_out else None
    for index in left_out:
        formal = schema.inputs[min(index, len(schema.inputs) - 1)]
        if formal.option != onnx.defs.OpSchema.FormalParameterOption.Optional:
            return index
    return None
