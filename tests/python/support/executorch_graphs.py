"""Graphs of ExecuTorch written node by node, with descriptions of tensors."""

from __future__ import annotations

from typing import Any

import torch
from executorch.exir import memory
from executorch.exir.memory_planning import filter_nodes
from executorch.exir.tensor import TensorSpec

ATEN = torch.ops.aten


def tensor(shape: tuple[int, ...], dtype: torch.dtype = torch.float32, **fields: Any) -> TensorSpec:
    """The description of a tensor; `fields` are its attributes."""
    spec = TensorSpec(dtype, torch.Size(shape))
    spec.realign(16)
    for name, value in fields.items():
        setattr(spec, name, value)
    return spec


class Graph:
    """A graph whose nodes are added one by one."""

    def __init__(self) -> None:
        self.graph = torch.fx.Graph()
        self.root = torch.nn.Module()

    def input(self, spec: Any, val: Any = None) -> torch.fx.Node:
        """An input of the graph."""
        node = self.graph.placeholder(f"x{len(self.graph.nodes)}")
        node.meta.update(spec=spec, val=val)
        return node

    def alloc(self, spec: Any) -> torch.fx.Node:
        """The memory of a tensor."""
        node = self.graph.call_function(memory.alloc, ((spec.shape, spec.dtype),))
        node.meta["spec"] = spec
        return node

    def call(self, operator: Any, *arguments: Any, out: Any, val: Any = None) -> torch.fx.Node:
        """A call that writes to a tensor, or to the memory that another node allocated."""
        allocation = out if isinstance(out, torch.fx.Node) else self.alloc(out)
        node = self.graph.call_function(operator, arguments, {"out": allocation})
        node.meta.update(spec=allocation.meta["spec"], val=val)
        return node

    def control(self, operator: Any, graphs: list[Any], *rest: Any, spec: Any) -> torch.fx.Node:
        """A control-flow node; its graphs become attributes of the module, once each."""
        names = []
        for inner in graphs:
            name = f"graph_{id(inner)}"
            if not hasattr(self.root, name):
                setattr(self.root, name, inner)
            names.append(self.graph.get_attr(name))
        before, after = rest[:1], rest[1:]
        node = self.graph.call_function(operator, (*before, *names, *after))
        node.meta["spec"] = spec
        return node

    def module(self, *outputs: torch.fx.Node, **meta: Any) -> torch.fx.GraphModule:
        """The module with these outputs; tensors live from their first node to their last."""
        output = self.graph.output(outputs)
        output.meta["spec"] = [each.meta["spec"] for each in outputs]
        found = torch.fx.GraphModule(self.root, self.graph)
        found.meta.update(meta)
        lifetimes(found)
        return found


def lifetimes(module: torch.fx.GraphModule) -> None:
    """Set the first and last node at which each tensor that is no view is used."""
    for index, node in enumerate(module.graph.nodes):
        for user in [node, *filter_nodes([*node.args, *node.kwargs.values()])]:
            specs = user.meta.get("spec")
            for spec in specs if isinstance(specs, (list, tuple)) else [specs]:
                if type(spec) is TensorSpec:
                    first, _ = spec.lifetime
                    spec.lifetime = [index if first is None else first, index]
