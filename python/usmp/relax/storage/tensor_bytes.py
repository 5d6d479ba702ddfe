"""Upper bounds of the bytes of a Relax function's tensors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod
from typing import Any

from tvm import relax, tirx
from tvm.ir import Range
from tvm.sym import Analyzer, IntervalSet

from usmp.analysis.relax_functions.function_memory import ManagedTensor
from usmp.objects.attributes.attribute import Attribute
from usmp.objects.attributes.module_attributes import LOWER_BOUNDS_ATTR, UPPER_BOUNDS_ATTR
from usmp.tir.dtypes import item_bytes
from usmp.tir.nodes import nodes_of

ALIGNMENT = 64
"""Largest alignment of a tensor in bytes, that of TVM's own allocators."""
_NO_BOUND = (1 << 63) - 1


class SizeBounds:
    """The bounds of the symbolic sizes in the signature of a function, as TVM's planner reads them.

    Parameters
    ----------
    name
        name of the function, for messages.
    function
        a function with bounds in its attribute `tir_var_upper_bound`.

    Raises
    ------
    ValueError
        a bound is not positive, or below the lower bound, or the attribute is no dictionary.
    """

    def __init__(self, name: str, function: relax.Function) -> None:
        self.analyzer = Analyzer()
        self.domains: dict[tirx.Var, IntervalSet] = {}
        upper, lower = (
            _attribute(name, function, key) for key in (UPPER_BOUNDS_ATTR, LOWER_BOUNDS_ATTR)
        )
        self.upper = upper
        for variable in _sizes_of_parameters(function):
            size = str(variable.name)
            if size not in upper:
                continue
            first, last = lower.get(size, 0), upper[size]
            if last < 1 or last < first:
                raise ValueError(
                    f'{name}: the bound {last} of "{size}" in {UPPER_BOUNDS_ATTR} is no size: '
                    f"write the largest that runs are given, at least {max(first, 1)}"
                )
            values = Range.from_min_extent(
                tirx.IntImm("int64", first), tirx.IntImm("int64", last - first + 1)
            )
            self.analyzer.bind(variable, values)
            self.domains[variable] = IntervalSet(
                tirx.IntImm("int64", first), tirx.IntImm("int64", last)
            )

    def used_by(self, tensors: Iterable[ManagedTensor]) -> dict[tirx.Var, tuple[int, int]]:
        """Return the sizes in the shapes of tensors, each with its smallest and largest value."""
        sizes = {size: None for tensor in tensors for size in nodes_of(tensor.shape, tirx.Var)}
        bounds = {size: self.domains[size] for size in sizes if size in self.domains}
        return {
            size: (int(bound.min_value), int(bound.max_value)) for size, bound in bounds.items()
        }

    def bytes_of(self, tensor: ManagedTensor) -> int | None:
        """Return the maximum size of a tensor in bytes, or None if unbounded."""
        elements = self.elements_of(tensor.shape)
        return None if elements is None else elements * item_bytes(tensor.dtype)

    def elements_of(self, shape: relax.Expr) -> int | None:
        """Return the maximum number of elements of a shape, or None if unbounded."""
        if not isinstance(shape, relax.ShapeExpr):
            return None
        extents = [self.largest(extent) for extent in shape.values[:]]
        known = [extent for extent in extents if extent is not None]
        return prod(known) if len(known) == len(extents) else None

    def largest(self, extent: tirx.Expr) -> int | None:
        """Return the largest value of an extent, or None if unbounded."""
        if isinstance(extent, tirx.IntImm):
            return int(extent)
        if any(variable not in self.domains for variable in nodes_of(extent, tirx.Var)):
            return None
        bound = int(self.analyzer.const_int_bound(extent).max_value)
        if bound < _NO_BOUND:
            return max(bound, 0)
        largest = self.analyzer.simplify(self.analyzer.int_set(extent, self.domains).max_value)
        return max(int(largest), 0) if isinstance(largest, tirx.IntImm) else None

    def unbounded(self, tensor: ManagedTensor) -> list[str]:
        """Return the names of the unbounded sizes in the shape of a tensor."""
        names = {
            str(size.name): None
            for size in nodes_of(tensor.shape, tirx.Var)
            if size not in self.domains
        }
        return list(names)


def _sizes_of_parameters(function: relax.Function) -> list[tirx.Var]:
    """Return the symbolic sizes that the parameters of a function define."""
    sizes = (relax.analysis.definable_tir_vars_in_type(param.ty) for param in function.params)
    return list(dict.fromkeys(variable for group in sizes for variable in group))


def _attribute(name: str, function: relax.Function, key: Attribute[Any]) -> Mapping[str, int]:
    """Return the integers of an attribute; TVM's own pass raises for other values."""
    bounds = key.of(function) or {}
    if not isinstance(bounds, Mapping):
        raise ValueError(
            f'{name}: {key} is {bounds}, not a dictionary from names of sizes, as {{"n": 1024}}'
        )
    numbers = {str(n): v for n, v in bounds.items() if isinstance(v, int | tirx.IntImm)}
    return {name: int(value) for name, value in numbers.items()}


def alignment_of(size: int) -> int:
    """Return the alignment of a tensor of `size` bytes: the largest power of two that is not above
    `size`, because no access is wider, but at most `ALIGNMENT`."""
    return min(ALIGNMENT, 1 << max(size, 1).bit_length() - 1)
