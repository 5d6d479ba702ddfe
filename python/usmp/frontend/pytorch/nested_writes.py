"""Writes into a selection of a tensor: `cache[layer, :, :, positions] = keys`.

PyTorch copies the slice that `layer` selects, writes into the copy, and inserts the copy again. A
write into the tensor itself has the same result.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch

_ATEN = torch.ops.aten
_INTEGERS = (torch.int8, torch.int16, torch.int32, torch.int64)


@dataclass(frozen=True)
class Selection:
    """A slice of a tensor by selections at single indices.

    Parameters
    ----------
    whole
        the node of the tensor.
    path
        axis and index of each selection, in order, beginning at `whole`.
    """

    whole: Any
    path: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class NestedWrite:
    """A tensor after an `index_put` into a selection of it.

    Parameters
    ----------
    put
        the node of the `index_put`.
    written
        the selection that the `index_put` writes into.
    """

    put: Any
    written: Selection


def nested_writes(nodes: Iterable[Any]) -> dict[Any, NestedWrite]:
    """Return the writes, by the node that inserts the written selection into its tensor again."""
    puts: dict[Any, Any] = {}
    writes: dict[Any, NestedWrite] = {}
    for node in nodes:
        if node.target is _ATEN.index_put.default and _replaces_at_positions(node):
            puts[node] = node
        insertion = _inserted_slice(node)
        if insertion is None:
            continue
        target, written, place = insertion
        part = _selection(target)
        # The write and the insertion must select the same slice of one tensor. Nodes do not change
        # their inputs, so equal paths select equal slices.
        expected = Selection(part.whole, (*part.path, place))
        if written in puts and _selection(written.args[0]) == expected:
            puts[node] = puts[written]
            if not part.path:
                at = _selection(puts[node].args[0])
                writes[node] = NestedWrite(puts[node], at)
    return writes


def _selection(node: Any) -> Selection:
    """Return the tensor and the selections from it that a node computes; the path may be empty."""
    path: list[tuple[int, int]] = []
    while node.target is _ATEN.select.int and not node.kwargs and type(node.args[2]) is int:
        whole, dim, index = node.args
        shape = _shape(whole)
        if shape is None:
            break
        path.append((dim % len(shape), index % shape[dim]))
        node = whole
    return Selection(node, tuple(reversed(path)))


def _inserted_slice(node: Any) -> tuple[Any, Any, tuple[int, int]] | None:
    """Return the tensor, the inserted slice, and its axis and index, if a node replaces a slice of
    extent 1; else None."""
    if node.target is not _ATEN.slice_scatter.default or len(node.args) != 5 or node.kwargs:
        return None
    whole, wide, dim, begin, end = node.args
    shape = _shape(whole)
    if wide.target is not _ATEN.unsqueeze.default or type(begin) is not int or shape is None:
        return None
    axis = dim % len(shape)
    if end != begin + 1 or not 0 <= begin < shape[axis] or wide.args[1] % len(shape) != axis:
        return None
    return whole, wide.args[0], (axis, begin)


def _shape(node: Any) -> list[int] | None:
    value = node.meta.get("val")
    is_known = isinstance(value, torch.Tensor) and all(type(n) is int for n in value.shape)
    return list(value.shape) if is_known else None


def _replaces_at_positions(put: Any) -> bool:
    """Return whether an `index_put` has integer indices and does not accumulate."""
    indices = [index for index in put.args[1] if index is not None]
    accumulates = put.args[3] if len(put.args) > 3 else put.kwargs.get("accumulate", False)
    return not accumulates and all(index.meta["val"].dtype in _INTEGERS for index in indices)
