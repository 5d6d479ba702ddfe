"""How large the results of ONNX operators are whose inputs may be small and their results large."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from math import ceil
from typing import Any, TypeAlias

import numpy as np

Size: TypeAlias = tuple[list[int], int]
"""Shape, and bytes of an element."""

_LARGEST_ITEM = 8


def asked_size(operator: str, values: Sequence[np.ndarray | None], axis: int = 0) -> Size:
    """The size of the result of an operator whose inputs may be small and its result large.

    Of other operators, and of those whose inputs are not known, a lower bound of it.
    """
    known = [value for value in values if value is not None]
    try:
        if operator == "Gather":
            data, indices = values
            if data is not None and indices is not None:
                return [indices.size, data.size // data.shape[axis]], data.itemsize
        elif operator in _ASKED:
            return _ASKED[operator](values)
        if len(known) == len(values):
            return list(np.broadcast_shapes(*(v.shape for v in known))), _LARGEST_ITEM
    except (ValueError, IndexError, TypeError, AttributeError, OverflowError, ZeroDivisionError):
        # Inputs that do not go together: the converter of the operator says so.
        pass
    return [0], 1


def _integers(value: Any) -> list[int]:
    return [int(number) for number in value.reshape(-1)]


def _constant_of_shape(values: Sequence[Any]) -> Size:
    return _integers(values[0]), _LARGEST_ITEM


def _expand(values: Sequence[Any]) -> Size:
    data, shape = values[:2]
    given = () if data is None else data.shape
    pairs = zip_longest(_integers(shape)[::-1], given[::-1], fillvalue=1)
    return [max(pair) for pair in pairs], 1 if data is None else data.itemsize


def _tile(values: Sequence[Any]) -> Size:
    data, repeats = values[:2]
    size = 1 if data is None else data.size
    return [size, *_integers(repeats)], 1 if data is None else data.itemsize


def _range(values: Sequence[Any]) -> Size:
    start, limit, step = (float(value.reshape(-1)[0]) for value in values)
    return [max(ceil((limit - start) / step), 0)], _LARGEST_ITEM


def _stacked(values: Sequence[Any]) -> Size:
    return [len(values), *np.broadcast_shapes(*(v.shape for v in values))], _LARGEST_ITEM


def _scatter(values: Sequence[Any]) -> Size:
    """The positions of all elements, as the importer lists them."""
    indices = values[1]
    return [indices.size, max(indices.ndim, 1)], _LARGEST_ITEM


_ASKED: dict[str, Callable[[Sequence[Any]], Size]] = {
    "ConstantOfShape": _constant_of_shape,
    "Expand": _expand,
    "Tile": _tile,
    "Range": _range,
    "Scatter": _scatter,
    "ScatterElements": _scatter,
    **dict.fromkeys(("Min", "Max", "Mean", "Sum"), _stacked),
}
