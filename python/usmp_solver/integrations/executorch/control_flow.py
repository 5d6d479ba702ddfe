"""Memory of graphs inside a graph: branches of `cond`, bodies of `map`, `scan` and `while`.

ExecuTorch plans an inner graph before the outer graph, from byte 0 of each memory, and asks to
reserve its bytes. They are live while the node runs. The bytes of a `cond` live longer, because its
outputs are no copies: the runtime moves the handle of the branch's tensor (`MoveCall`), so the
bytes must stay until the outputs die. So each node gets a region, which the solver places, and the
inner tensors move with it.

ExecuTorch's own algorithms put all regions at byte 0 for the whole program, so that a second `cond`
overwrites the outputs of the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

import torch
from torch.fx import GraphModule, Node

from usmp_solver.integrations.executorch.interface import collect_specs_from_nodes, while_loop
from usmp_solver.integrations.executorch.tensors import Spec, base_of, memory_of, storage_of

_HIGHER_ORDER = torch.ops.higher_order
# Positions of the graph arguments of each operator.
_GRAPHS = {
    _HIGHER_ORDER.cond: (1, 2),
    while_loop: (0, 1),
    _HIGHER_ORDER.map_impl: (0,),
    _HIGHER_ORDER.scan: (0,),
}
# The outputs of these operators are copies.
_COPIES_OUTPUTS = (_HIGHER_ORDER.map_impl, _HIGHER_ORDER.scan)


@dataclass(eq=False)
class Region:
    """Bytes of one memory that the graphs of a control-flow node use.

    Parameters
    ----------
    memory
        number of the memory.
    size
        bytes.
    live
        half-open ranges of nodes of the outer graph.
    tensors
        tensors of the inner graphs, each with its first byte in the region.
    offset
        required first byte, or None.
    """

    memory: int
    size: int
    live: list[tuple[int, int]]
    tensors: dict[Spec, int] = field(default_factory=dict)
    offset: int | None = None


@dataclass(eq=False)
class _User:
    """The graphs of one or several control-flow nodes that share graphs."""

    graphs: list[GraphModule]
    live: list[tuple[int, int]]


def regions_of(
    graph_module: GraphModule, reserved: list[int], graph_signature: Any
) -> list[Region]:
    """Return the regions of a graph, at most one for each node and memory.

    Parameters
    ----------
    graph_module
        outer graph, whose inner graphs are planned.
    reserved
        bytes by memory that ExecuTorch reserves for inner graphs.
    graph_signature
        signature of the program, or None.

    Returns
    -------
    list
        The regions. If `reserved` contradicts the inner graphs, one region without tensors at byte
        0 of each memory, live for the whole program.
    """
    users = _users(graph_module)
    sizes = [_sizes(user) for user in users]
    needed = _largest(sizes)
    if any(one != other for one, other in zip_longest(needed, reserved, fillvalue=0)):
        always = [(0, len(graph_module.graph.nodes) + 1)]
        return [Region(m, size, always, offset=0) for m, size in enumerate(reserved) if size]
    outer = {spec for node in graph_module.graph.nodes for spec in storage_of(node)}
    regions = []
    for user, of_user in zip(users, sizes, strict=True):
        tensors = [
            spec
            for graph in user.graphs
            for spec in _planned_tensors(graph, graph_signature)
            if spec not in outer
        ]
        for memory, size in enumerate(of_user):
            if size:
                inside = {s: s.mem_offset for s in tensors if memory_of(s) == memory}
                regions.append(Region(memory, size, user.live, inside))
    return regions


def _users(graph_module: GraphModule) -> list[_User]:
    users: list[_User] = []
    last_node = len(graph_module.graph.nodes)
    for index, node in enumerate(graph_module.graph.nodes):
        graphs = list(_graphs_of(graph_module, node))
        if not graphs:
            continue
        last = index
        if node.target is while_loop:
            last = last_node
        elif node.target not in _COPIES_OUTPUTS:
            last = max([index, *(spec.lifetime[1] for spec in storage_of(node))])
        user = _User(graphs, [(index, last + 1)])
        for other in [known for known in users if set(known.graphs) & set(graphs)]:
            users.remove(other)
            user.graphs += [graph for graph in other.graphs if graph not in user.graphs]
            user.live += other.live
        users.append(user)
    return users


def _graphs_of(graph_module: GraphModule, node: Node) -> Iterator[GraphModule]:
    for position in _GRAPHS.get(node.target, ()) if node.op == "call_function" else ():
        argument = node.args[position]
        if isinstance(argument, Node) and argument.op == "get_attr":
            yield getattr(graph_module, str(argument.target))


def _sizes(user: _User) -> list[int]:
    """Return the most bytes of any graph, by memory, because the graphs never run together."""
    return _largest(graph.meta.get("non_const_buffer_sizes", []) for graph in user.graphs)


def _largest(sizes: Iterable[Iterable[int]]) -> list[int]:
    """Return the maximum over several lists, by memory."""
    return [max(of_memory) for of_memory in zip_longest(*sizes, fillvalue=0)]


def _planned_tensors(graph_module: GraphModule, graph_signature: Any) -> Iterator[Spec]:
    """Yield the tensors that have a place in the graph or in its inner graphs."""
    for spec in collect_specs_from_nodes(
        graph_module.graph.nodes, graph_signature, do_assertion=False
    ):
        if base_of(spec).mem_offset is not None:
            yield base_of(spec)
    for node in graph_module.graph.nodes:
        for inner in _graphs_of(graph_module, node):
            yield from _planned_tensors(inner, graph_signature)
