"""Replacement of ONNX `If` nodes with a known condition by the branch that runs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx

from usmp.frontend.onnx.graph.nodes import is_of_onnx, tensor_names
from usmp.support.text.unique_names import UniqueNames


def take_branches(graph: onnx.GraphProto, known: Mapping[str, np.ndarray]) -> bool:
    """Replace each `If` with a known condition by the nodes of its branch, under fresh names, and
    return whether there was any."""
    branches = {i: _branch_to_run(node, known) for i, node in enumerate(graph.node)}
    if not any(branches.values()):
        return False
    names = UniqueNames(tensor_names(graph))
    nodes: list[onnx.NodeProto] = []
    for index, node in enumerate(graph.node):
        branch = branches[index]
        if branch is None:
            nodes.append(node)
            continue
        renamed = _rename(branch, names, {})
        graph.initializer.extend(branch.initializer)
        graph.value_info.extend(branch.value_info)
        nodes.extend(branch.node)
        for inner, output in zip(branch.output, node.output, strict=True):
            source = renamed.get(inner.name, inner.name)
            nodes.append(onnx.helper.make_node("Identity", [source], [output]))
    del graph.node[:]
    graph.node.extend(nodes)
    return True


def _branch_to_run(node: onnx.NodeProto, known: Mapping[str, np.ndarray]) -> onnx.GraphProto | None:
    """Return a copy of the branch that runs; None if the node is no `If` of known condition."""
    if node.op_type != "If" or not is_of_onnx(node):
        return None
    condition = known.get(node.input[0]) if node.input else None
    if condition is None or condition.size != 1 or condition.dtype != bool:
        return None
    name = "then_branch" if bool(condition.item()) else "else_branch"
    branch = next((a.g for a in node.attribute if a.name == name), None)
    if branch is None or len(branch.output) != len(node.output) or not all(node.output):
        return None
    copy = onnx.GraphProto()
    copy.CopyFrom(branch)
    return copy


def _rename(
    graph: onnx.GraphProto, names: UniqueNames, outer: Mapping[str, str]
) -> Mapping[str, str]:
    """Rename the tensors of a graph, and its reads of renamed `outer` tensors; return the map from
    old to new names."""
    own = [value.name for value in (*graph.input, *graph.initializer)]
    own += [name for node in graph.node for name in node.output if name]
    renamed = {**outer, **{name: names.unique(name) for name in own}}
    for value in (*graph.input, *graph.initializer, *graph.value_info):
        value.name = renamed.get(value.name, value.name)
    for node in graph.node:
        for names_of in (node.input, node.output):
            names_of[:] = [renamed.get(name, name) for name in names_of]
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                results = _rename(inner, names, renamed)
                for output in inner.output:
                    output.name = results.get(output.name, output.name)
    return renamed
