"""What no input of the model has a part in: PyTorch computes it when the model is imported."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from tvm.ir import Expr

_RANDOM = torch.Tag.nondeterministic_seeded
_LARGEST_BYTES = 1 << 24
"""A tensor that is larger, and than those it is made of, is left to the operator that makes it."""
_UNDEFINED = ("empty.memory_format", "empty_permuted.default")


def known_value(node: Any, values: Mapping[Any, Any]) -> Any:
    """A tensor, a number or several, or None if the node depends on more than `values`.

    Parameters
    ----------
    values
        those of nodes.
    """
    target = node.target
    is_of_numbers = getattr(target, "__module__", None) == "_operator" or target is torch.sym_sum
    if not is_of_numbers and not _is_computed_once(target):
        return None
    if any(each not in values for each in node.all_input_nodes) or _is_large(node, values):
        return None
    if not is_of_numbers and any(isinstance(values[each], Expr) for each in node.all_input_nodes):
        # It depends on a size that only the run knows.
        return None
    args, kwargs = torch.fx.map_arg((node.args, dict(node.kwargs)), values.__getitem__)
    with torch.no_grad():
        return target(*args, **kwargs)


def _is_computed_once(target: Any) -> bool:
    """Whether it is an operator of PyTorch that gives the same whenever it runs."""
    if getattr(target, "namespace", None) != "aten" or _RANDOM in target.tags:
        return False
    return target.__name__ not in _UNDEFINED


def _is_large(node: Any, values: Mapping[Any, Any]) -> bool:
    result = node.meta.get("val")
    if not isinstance(result, torch.Tensor):
        return False
    # An extent that is not known before stands for a batch, of one, or depends on a size.
    extents = (extent if isinstance(extent, int) else 1 for extent in result.shape)
    sources = (values[each] for each in node.all_input_nodes)
    given = sum(s.nbytes for s in sources if isinstance(s, torch.Tensor))
    return math.prod(extents) * int(result.element_size()) > max(_LARGEST_BYTES, int(given))
