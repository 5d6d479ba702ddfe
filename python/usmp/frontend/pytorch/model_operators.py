"""Spans that point to the nodes of a PyTorch program."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import torch
from tvm.ir import Span

from usmp.frontend.pytorch.converters.operator import name_of
from usmp.tir.model_operator import model_operator


def node_span(index: int, node: Any, held: Collection[str]) -> Span:
    """Return the span of a node that calls a function.

    Parameters
    ----------
    index
        the index of the node in the graph of the decomposed program.
    node
        the node; the span is named after the module whose `forward` has it, as "layers.0.conv".
    held
        the names of the placeholder nodes of buffers, parameters and constants.
    """
    read = [source.name for source in node.all_input_nodes if source.name not in held]
    value = node.meta.get("val")
    values = value if isinstance(value, tuple | list) else [value]
    names = [node.name if len(values) == 1 else f"{node.name}.{i}" for i in range(len(values))]
    outputs = [
        (name, name_of(tensor.dtype), [e if isinstance(e, int) else str(e) for e in tensor.shape])
        for name, tensor in zip(names, values, strict=True)
        if isinstance(tensor, torch.Tensor)
    ]
    modules = list((node.meta.get("nn_module_stack") or {}).values())
    path = str(modules[-1][0]) if modules else ""
    return model_operator(index, str(node.target), read, outputs, path or node.name).as_span()
