"""Rewrites of files that ONNX's checker refuses although runtimes accept them."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Sequence

import onnx

from usmp.frontend.onnx.graph.nodes import ONNX_DOMAINS, names_read
from usmp.frontend.onnx.graph.unknown_attributes import leave_out_unknown_attributes
from usmp.support.errors import UnsupportedModelError
from usmp.support.text.plain_text import shown


def accept_forms(model: onnx.ModelProto) -> None:
    """Rewrite `model` in place, so that ONNX's checker accepts it.

    - Each domain keeps the last of its opset versions.
    - Nodes are sorted topologically; their order changes only where it must.
    - Attributes that an operator has in no opset are removed, with a warning.
    - Negative extents of outputs and intermediate tensors become unknown.

    Raises
    ------
    UnsupportedModelError
        the nodes form a cycle, or have attributes of another opset.
    """
    _name_domains_once(model)
    _sort_nodes(model.graph)
    leave_out_unknown_attributes(model)
    for value in (*model.graph.output, *model.graph.value_info):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_value < 0:
                dim.ClearField("dim_value")


def _name_domains_once(model: onnx.ModelProto) -> None:
    versions = {_plain_domain(i.domain): i.version for i in model.opset_import}
    domains = dict.fromkeys(imported.domain for imported in model.opset_import)
    del model.opset_import[:]
    for domain in domains:
        model.opset_import.add(domain=domain, version=versions[_plain_domain(domain)])


def _plain_domain(domain: str) -> str:
    return "" if domain in ONNX_DOMAINS else domain


def _sort_nodes(graph: onnx.GraphProto) -> None:
    makers = {name: index for index, node in enumerate(graph.node) for name in node.output if name}
    sources = [{makers[n] for n in names_read(node) if n in makers} for node in graph.node]
    if all(max(before, default=-1) < index for index, before in enumerate(sources)):
        return
    readers = defaultdict(list)
    for index, before in enumerate(sources):
        for source in before:
            readers[source].append(index)
    ready = [index for index, before in enumerate(sources) if not before]
    order = []
    while ready:
        index = heapq.heappop(ready)
        order.append(index)
        for reader in readers[index]:
            sources[reader].discard(index)
            if not sources[reader]:
                heapq.heappush(ready, reader)
    if len(order) < len(graph.node):
        _refuse_circle(graph, sources)
    nodes = [graph.node[index] for index in order]
    copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del graph.node[:]
    graph.node.extend(copies)


def _refuse_circle(graph: onnx.GraphProto, sources: Sequence[set[int]]) -> None:
    """Raise an error that names a node on a cycle; `sources` are the unsorted predecessors."""
    index = next(index for index, before in enumerate(sources) if before)
    passed: set[int] = set()
    while index not in passed:
        passed.add(index)
        index = min(sources[index])
    node = graph.node[index]
    output = next(name for name in node.output if name)
    raise UnsupportedModelError(
        f'the model is damaged: operator {shown(node.op_type)} (output "{shown(output)}") needs '
        "its own output, maybe through other operators; export the model again"
    )
