"""Writes to a part of a part of a tensor: `cache[layer, :, :, positions] = keys`.

PyTorch takes out what `layer` selects, writes into that, and puts it back. The result is the same
if the write goes to the tensor itself.
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
    """A part of a tensor.

    Parameters
    ----------
    whole
        the node of the tensor.
    path
        axis and index of each selection, the one from the tensor itself first.
    """

    whole: Any
    path: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class NestedWrite:
    """A tensor, but for what an `index_put` writes into a part of it.

    Parameters
    ----------
    put
        the node of the `index_put`.
    written
        what of the tensor it writes into.
    """

    put: Any
    written: Selection


def nested_writes(nodes: Iterable[Any]) -> dict[Any, NestedWrite]:
    """The nodes that put back into a tensor what was selected from it and written into."""
    puts: dict[Any, Any] = {}
    found: dict[Any, NestedWrite] = {}
    for node in nodes:
        if node.target is _ATEN.index_put.default and _replaces_at_positions(node):
            puts[node] = node
        put_back = _put_back(node)
        if put_back is None:
            continue
        target, written, place = put_back
        part = _selection(target)
        # What is written into, and what is put back into, are parts of one tensor, which no node
        # changes: each gives a new one.
        expected = Selection(part.whole, (*part.path, place))
        if written in puts and _selection(written.args[0]) == expected:
            puts[node] = puts[written]
            if not part.path:
                at = _selection(puts[node].args[0])
                found[node] = NestedWrite(puts[node], at)
    return found


def _selection(node: Any) -> Selection:
    """Which part of which tensor a node is."""
    path: list[tuple[int, int]] = []
    while node.target is _ATEN.select.int and not node.kwargs and type(node.args[2]) is int:
        whole, dim, index = node.args
        shape = _shape(whole)
        if shape is None:
            break
        path.append((dim % len(shape), index % shape[dim]))
        node = whole
    return Selection(node, tuple(reversed(path)))


def _put_back(node: Any) -> tuple[Any, Any, tuple[int, int]] | None:
    """A tensor, what is put into it, and at which axis and index, if the node replaces a slice of
    one element along an axis."""
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
    """Whether the indices are numbers, and what is written is not combined with what is there."""
    indices = [index for index in put.args[1] if index is not None]
    accumulates = put.args[3] if len(put.args) > 3 else put.kwargs.get("accumulate", False)
    return not accumulates and all(index.meta["val"].dtype in _INTEGERS for index in indices)
