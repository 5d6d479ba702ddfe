"""Values of extents that depend on symbolic sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import product
from math import prod
from typing import Any

import numpy as np
from tvm import tirx
from tvm.ir import Var

from usmp.objects.symbolic_size import SymbolicSize
from usmp.tir.nodes import nodes_of

_MOST_VALUES = 1 << 20
"""Most values of an extent to evaluate; with more, interval arithmetic bounds the extent."""

_OPERATIONS: dict[type, Callable[[Any, Any], Any]] = {
    tirx.Add: np.add,
    tirx.Sub: np.subtract,
    tirx.Mul: np.multiply,
    tirx.FloorDiv: np.floor_divide,
    tirx.FloorMod: np.mod,
    tirx.Max: np.maximum,
    tirx.Min: np.minimum,
}


def value_of(extent: tirx.Expr | int, values: Mapping[str, Any]) -> Any:
    """Evaluate an extent for given sizes.

    Parameters
    ----------
    extent
        an extent that `usmp.tir.size_expressions.in_int32` accepts.
    values
        values of the sizes, by name: integers, or arrays of integers.

    Raises
    ------
    ValueError
        the extent is another expression, or has another variable.
    """
    if isinstance(extent, int | tirx.IntImm):
        return int(extent)
    if isinstance(extent, Var) and str(extent.name) in values:
        return values[str(extent.name)]
    if isinstance(extent, tirx.Cast):
        return value_of(extent.value, values)
    return _operation(extent)(value_of(extent.a, values), value_of(extent.b, values))


def _operation(extent: tirx.Expr) -> Callable[[Any, Any], Any]:
    operation = _OPERATIONS.get(type(extent))
    if operation is None:
        raise ValueError(f"extent {extent} is no expression of sizes that is known")
    return operation


def greatest(extent: tirx.Expr | int, sizes: Iterable[SymbolicSize]) -> int:
    """Return the largest value of an extent within the bounds of sizes, or an upper bound if there
    are too many values to evaluate.

    Raises
    ------
    ValueError
        the extent has a variable without an upper bound, or an operation besides sums, products,
        quotients, remainders, minima and maxima.
    """
    return _bounds(extent, {str(size.name): size for size in sizes})[1]


def _bounds(extent: tirx.Expr | int, sizes: Mapping[str, SymbolicSize]) -> tuple[int, int]:
    if isinstance(extent, int | tirx.IntImm):
        return int(extent), int(extent)
    names = sorted({str(var.name) for var in nodes_of(extent, Var)})
    for name in names:
        if name not in sizes:
            raise ValueError(f"{name} in {extent} is no size that runs are given")
        if sizes[name].upper_bound is None:
            raise ValueError(f"{name} has no upper bound")
    ranges = [np.arange(sizes[n].lower_bound, (sizes[n].upper_bound or 0) + 1) for n in names]
    if prod(len(values) for values in ranges) <= _MOST_VALUES:
        grid = np.meshgrid(*ranges, indexing="ij")
        results = np.asarray(value_of(extent, dict(zip(names, grid, strict=True))))
        return int(results.min()), int(results.max())
    if isinstance(extent, tirx.Cast):
        return _bounds(extent.value, sizes)
    if isinstance(extent, Var):
        return int(ranges[0][0]), int(ranges[0][-1])
    operation = _operation(extent)
    operands = _bounds(extent.a, sizes), _bounds(extent.b, sizes)
    if isinstance(extent, tirx.FloorMod):
        low, high = operands[1]
        return min(0, low), max(0, high)
    corners = [int(operation(a, b)) for a, b in product(*operands)]
    return min(corners), max(corners)
