"""How many bytes tensors of a Relax function take at most."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod
from typing import Any

from tvm import relax, tirx
from tvm.ir import Range
from tvm.sym import Analyzer, IntervalSet

from usmp.analysis.function_memory import ManagedTensor
from usmp.analysis.memory.access import item_bytes
from usmp.objects.attribute import Attribute
from usmp.objects.attributes import LOWER_BOUNDS_ATTR, UPPER_BOUNDS_ATTR
from usmp.tir.nodes import nodes_of

ALIGNMENT = 64
"""Bytes of which the place of a tensor is a multiple: TVM's own allocators align so."""
_NO_BOUND = (1 << 63) - 1


class SizeBounds:
    """The bounds of the symbolic sizes in the signature of a function, as TVM's planner has them.

    Parameters
    ----------
    name
        of the function, for messages.
    function
        its attribute `tir_var_upper_bound` has the bounds, by the names of the sizes.

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
        """The sizes in the shapes of tensors, with the smallest and the largest value of each."""
        sizes = {each: None for tensor in tensors for each in nodes_of(tensor.shape, tirx.Var)}
        bounds = {each: self.domains[each] for each in sizes if each in self.domains}
        return {
            each: (int(bound.min_value), int(bound.max_value)) for each, bound in bounds.items()
        }

    def bytes_of(self, tensor: ManagedTensor) -> int | None:
        """Bytes of a tensor, at the most; None if its size has no bound."""
        elements = self.elements_of(tensor.shape)
        return None if elements is None else elements * item_bytes(tensor.dtype)

    def elements_of(self, shape: relax.Expr) -> int | None:
        """Elements of a tensor of a shape, at the most; None if they have no bound."""
        if not isinstance(shape, relax.ShapeExpr):
            return None
        extents = [self.largest(extent) for extent in shape.values[:]]
        known = [extent for extent in extents if extent is not None]
        return prod(known) if len(known) == len(extents) else None

    def largest(self, extent: tirx.Expr) -> int | None:
        """The largest value of an extent; None if it has no bound."""
        if isinstance(extent, tirx.IntImm):
            return int(extent)
        if any(each not in self.domains for each in nodes_of(extent, tirx.Var)):
            return None
        found = int(self.analyzer.const_int_bound(extent).max_value)
        if found < _NO_BOUND:
            return max(found, 0)
        largest = self.analyzer.simplify(self.analyzer.int_set(extent, self.domains).max_value)
        return max(int(largest), 0) if isinstance(largest, tirx.IntImm) else None

    def unbounded(self, tensor: ManagedTensor) -> list[str]:
        """The names of the sizes in the shape of a tensor that have no bound."""
        names = {
            str(each.name): None
            for each in nodes_of(tensor.shape, tirx.Var)
            if each not in self.domains
        }
        return list(names)


def _sizes_of_parameters(function: relax.Function) -> list[tirx.Var]:
    """The symbolic sizes that are known as the function begins."""
    found = (relax.analysis.definable_tir_vars_in_type(each.ty) for each in function.params)
    return list(dict.fromkeys(variable for each in found for variable in each))


def _attribute(name: str, function: relax.Function, key: Attribute[Any]) -> Mapping[str, int]:
    """The numbers of an attribute; what is none is an error of TVM's own pass."""
    bounds = key.of(function) or {}
    if not isinstance(bounds, Mapping):
        raise ValueError(
            f'{name}: {key} is {bounds}, not a dictionary from names of sizes, as {{"n": 1024}}'
        )
    numbers = {str(n): v for n, v in bounds.items() if isinstance(v, int | tirx.IntImm)}
    return {name: int(value) for name, value in numbers.items()}


def alignment_of(size: int) -> int:
    """Bytes of which the place of a tensor of some bytes is a multiple: no access to it is wider
    than the largest power of two in them."""
    return min(ALIGNMENT, 1 << max(size, 1).bit_length() - 1)
