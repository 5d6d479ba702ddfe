"""Arithmetic on extents that are numbers or expressions of dynamic sizes. Comparisons must hold for
all sizes between their bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np
from tvm import relax, tirx
from tvm.ir import Expr
from tvm.sym import Analyzer

from usmp.relax.symbolic_sizes import shown_extent, shown_shape

Extent: TypeAlias = Any
"""An int, or an expression of int64."""

MOST_ELEMENTS = 1024
"""The largest number of elements of a shape or shape arithmetic; larger tensors are weights."""

_END = 2**31 - 1
"""The smallest limit of a slice that stands for the end of the axis."""


class SizesError(Exception):
    """An operation is valid for some sizes only; the message says why, and what to do.

    The importer puts the name of the operator in front.
    """


@dataclass(frozen=True)
class SizeArithmetic:
    """Arithmetic on sizes.

    Parameters
    ----------
    analyzer
        an analyzer with the bounds of the sizes.
    """

    analyzer: Analyzer

    def holds(self, condition: Any) -> bool:
        """Return whether a condition holds for all sizes."""
        return condition if isinstance(condition, bool) else self.analyzer.can_prove(condition)

    def decided(self, condition: Expr) -> bool:
        """Return whether a condition holds for all sizes (True) or for none (False).

        Raises
        ------
        SizesError
            the condition depends on the sizes.
        """
        if self.holds(condition):
            return True
        if self.holds(tirx.Not(condition)):
            return False
        raise SizesError("it compares what depends on the sizes")

    def are_equal(self, a: Extent, b: Extent) -> bool:
        """Return whether two extents are equal for all sizes."""
        if isinstance(a, int) and isinstance(b, int):
            return a == b
        return bool(self.analyzer.can_prove_equal(int64(a), int64(b)))

    def is_at_most(self, a: Extent, b: Extent) -> bool:
        """Return whether `a` <= `b` for all sizes."""
        if isinstance(a, int) and isinstance(b, int):
            return a <= b
        return self.holds(int64(a) <= int64(b))

    def simplified(self, value: Extent) -> Extent:
        """Return a simplified expression; a constant becomes an int."""
        return number(self.analyzer.simplify(value)) if isinstance(value, Expr) else value

    def reshaped(self, shape: Sequence[Extent], wanted: Sequence[Extent]) -> list[Extent]:
        """Return the extents `wanted`, with -1 replaced by the remaining number of elements.

        Raises
        ------
        SizesError
            the number of elements changes for some sizes.
        """
        extents = list(wanted)
        open_axes = [axis for axis, extent in enumerate(extents) if is_number(extent, -1)]
        if len(open_axes) == 1:
            (axis,) = open_axes
            extents[axis] = self._remaining_extent(shape, [*extents[:axis], *extents[axis + 1 :]])
        if not self.are_equal(product(shape), product(extents)):
            raise SizesError(
                f"it makes {shown_shape(wanted)} of {shown_shape(shape)}, which have as many "
                "elements only for some sizes; export the model with fixed input shapes, or so "
                "that the shape follows from the sizes"
            )
        return extents

    def _remaining_extent(self, shape: Sequence[Extent], others: Sequence[Extent]) -> Extent:
        """Return the number of elements of `shape` divided by that of the other axes."""
        remaining, divisors = list(shape), []
        for extent in others:
            same = [i for i, other in enumerate(remaining) if self.are_equal(other, extent)]
            if same:
                remaining.pop(same[0])
            else:
                divisors.append(extent)
        divisor = product(divisors)
        if isinstance(divisor, int):
            numbers = prod(extent for extent in remaining if isinstance(extent, int))
            if divisor and numbers % divisor == 0:
                symbols = [extent for extent in remaining if not isinstance(extent, int)]
                return product([numbers // divisor, *symbols])
            if not divisor:
                raise SizesError("an axis of no elements leaves the shape open")
        return self.simplified(tirx.floordiv(int64(product(remaining)), int64(divisor)))

    def broadcast(self, shape: Sequence[Extent], wanted: Sequence[Extent]) -> list[Extent]:
        """Return the broadcast of two shapes.

        Raises
        ------
        SizesError
            the shapes cannot be broadcast for some sizes.
        """
        rank = max(len(shape), len(wanted))
        extents = []
        for extent, target in zip(_of_rank(shape, rank), _of_rank(wanted, rank), strict=True):
            is_single = is_number(extent, 1)
            if not (is_single or is_number(target, 1) or self.are_equal(extent, target)):
                raise SizesError(
                    f"it makes {shown_shape(wanted)} of {shown_shape(shape)}, which is possible "
                    "only for some sizes"
                )
            extents.append(target if is_single else extent)
        return extents

    def cut(self, extent: Extent, start: Extent, end: Extent, step: int) -> tuple[Any, Any, int]:
        """Return the begin, end and step of a slice, clamped to the axis.

        Raises
        ------
        SizesError
            no single expression is correct for all sizes.
        """
        if all(isinstance(value, int) for value in (extent, start, end)):
            first, last, by = slice(start, end, step).indices(extent)
            # The end before the first element cannot be -1, which stands for the last element.
            return first, (last if last >= 0 else -extent - 1), by
        if step < 1:
            raise SizesError(
                f"its step is {step} along an axis of {shown_extent(extent)} elements; only steps "
                "from 1 are supported where the size is not fixed"
            )
        first, last = (self._clamped_limit(limit, extent) for limit in (start, end))
        if not self.is_at_most(first, last):
            raise SizesError(
                f"it ends at {shown_extent(last)}, which may be in front of its begin, "
                f"{shown_extent(first)}"
            )
        return first, last, step

    def position(self, index: Extent, extent: Extent) -> Extent:
        """Return an index, counted from the beginning of the axis.

        Raises
        ------
        SizesError
            the index is outside of the axis for some sizes.
        """
        counted = index
        if self.is_at_most(index, -1):
            counted = self.simplified(extent + index)
        if not (self.is_at_most(0, counted) and self.is_at_most(counted + 1, extent)):
            raise SizesError(
                f"position {shown_extent(index)} is inside the axis of {shown_extent(extent)} "
                "elements only for some sizes"
            )
        return counted

    def _clamped_limit(self, limit: Extent, extent: Extent) -> Extent:
        """Return a limit of a slice, clamped to positions from 0 to the extent."""
        if isinstance(limit, int) and abs(limit) >= _END:
            return extent if limit > 0 else 0
        position = limit
        if self.is_at_most(limit, -1):
            limit = self.simplified(extent + limit)
            if self.is_at_most(limit, 0):
                return 0
        if self.is_at_most(0, limit):
            if self.is_at_most(limit, extent):
                return limit
            if self.is_at_most(extent, limit):
                return extent
        raise SizesError(
            f"position {shown_extent(position)}, where it begins or ends, is inside the axis of "
            f"{shown_extent(extent)} elements only for some sizes; give other largest sizes, with "
            "--max"
        )


def product(extents: Sequence[Extent]) -> Extent:
    """Return the product of the extents, 1 if there are none."""
    result: Any = 1
    for extent in extents:
        result = result * extent
    return result


def strided_slice(data: Expr, cuts: dict[int, tuple[Extent, Extent, int]]) -> Expr:
    """Return a strided slice; `cuts` are axis -> begin, end and step inside of the axis."""
    if not cuts:
        return data
    begins, ends, steps = zip(*cuts.values(), strict=True)
    values = ([relax.prim_value(int64(v)) for v in limits] for limits in (begins, ends, steps))
    return relax.op.strided_slice(data, list(cuts), *values, assume_inbound=True)


def number(value: Extent) -> Extent:
    """Return a constant as an int, and an expression unchanged."""
    if isinstance(value, np.generic):
        return value.item()
    return int(value) if isinstance(value, tirx.IntImm) else value


def is_number(extent: Extent, wanted: int) -> bool:
    """Return whether an extent is the number `wanted`, and no expression."""
    return isinstance(extent, int) and extent == wanted


def int64(value: Extent) -> Expr:
    """Return an extent as an expression of int64."""
    return value if isinstance(value, Expr) else tirx.IntImm("int64", int(value))


def _of_rank(shape: Sequence[Extent], rank: int) -> list[Extent]:
    return [1] * (rank - len(shape)) + list(shape)
