"""Constant folding by PyTorch of nodes that depend on no input."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from tvm.ir import Expr

_RANDOM = torch.Tag.nondeterministic_seeded
_LARGEST_BYTES = 1 << 24
"""Most bytes of a folded tensor; a tensor that is no larger than its sources may have more."""
_UNDEFINED = ("empty.memory_format", "empty_permuted.default")


def known_value(node: Any, values: Mapping[Any, Any]) -> Any:
    """Return the value of a node. Return None if the node depends on more than `values`, on a
    dynamic size or on random numbers, if it calls no operator of PyTorch itself, or if the value is
    too large.

    Parameters
    ----------
    values
        node -> value: tensors, numbers, or several of them.
    """
    target = node.target
    is_of_numbers = getattr(target, "__module__", None) == "_operator" or target is torch.sym_sum
    if not is_of_numbers and not _is_computed_once(target):
        return None
    if any(each not in values for each in node.all_input_nodes) or _is_large(node, values):
        return None
    if not is_of_numbers and any(isinstance(values[each], Expr) for each in node.all_input_nodes):
        # The node depends on a dynamic size.
        return None
    args, kwargs = torch.fx.map_arg((node.args, dict(node.kwargs)), values.__getitem__)
    with torch.no_grad():
        return target(*args, **kwargs)


def _is_computed_once(target: Any) -> bool:
    """Return whether a target is a deterministic operator of PyTorch."""
    if getattr(target, "namespace", None) != "aten" or _RANDOM in target.tags:
        return False
    return target.__name__ not in _UNDEFINED


def _is_large(node: Any, values: Mapping[Any, Any]) -> bool:
    result = node.meta.get("val")
    if not isinstance(result, torch.Tensor):
        return False
    # A dynamic extent is a batch of 1, or depends on another size; count it as 1.
    extents = (extent if isinstance(extent, int) else 1 for extent in result.shape)
    sources = (values[source] for source in node.all_input_nodes)
    source_bytes = sum(s.nbytes for s in sources if isinstance(s, torch.Tensor))
    return math.prod(extents) * int(result.element_size()) > max(_LARGEST_BYTES, int(source_bytes))
