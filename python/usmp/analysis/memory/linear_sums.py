"""Sums of a constant and multiples of other values, as most indices are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from tvm import tirx

from usmp.analysis.memory.index_values import Values, element_type

_BITS = {"int8": 7, "int16": 15, "int32": 31, "int64": 63, "uint8": 8, "uint16": 16, "uint32": 32}
"""Of the greatest value of an integer type."""


class NotLinear(Exception):
    """The address takes other rules."""


@dataclass(frozen=True)
class NonlinearTerm:
    """A value that is not linear.

    Parameters
    ----------
    values
        with one axis for each loop, and one for lanes, which has one element.
    axes
        the loops that it depends on.
    """

    values: Values
    axes: frozenset[int]


class Sum(NamedTuple):
    """A constant, and multiples of iterations of loops and of nonlinear terms.

    Parameters
    ----------
    factors
        by axis; the axis after that of the last loop is that of lanes.
    nonlinear
        by identity, with their factors.
    least, greatest
        no value is outside.
    lanes
        of a vector; else 1.
    """

    constant: int
    factors: dict[int, int]
    nonlinear: dict[int, tuple[NonlinearTerm, int]]
    least: int
    greatest: int
    lanes: int = 1

    def times(self, factor: int) -> Sum:
        """Each value so many times."""
        ends = sorted((self.least * factor, self.greatest * factor))
        return Sum(
            self.constant * factor,
            {axis: n * factor for axis, n in self.factors.items()},
            {key: (term, n * factor) for key, (term, n) in self.nonlinear.items()},
            ends[0],
            ends[1],
            self.lanes,
        )

    def plus(self, other: Sum) -> Sum:
        """The sum of both."""
        if min(self.lanes, other.lanes) > 1 and self.lanes != other.lanes:
            raise NotLinear
        factors, nonlinear = dict(self.factors), dict(self.nonlinear)
        for axis, n in other.factors.items():
            factors[axis] = factors.get(axis, 0) + n
        for key, (term, n) in other.nonlinear.items():
            nonlinear[key] = term, n + (nonlinear[key][1] if key in nonlinear else 0)
        return Sum(
            self.constant + other.constant,
            factors,
            nonlinear,
            self.least + other.least,
            self.greatest + other.greatest,
            max(self.lanes, other.lanes),
        )


def constant_sum(value: int) -> Sum:
    """That of an integer."""
    return Sum(value, {}, {}, value, value)


def cast_sum(found: Sum, expr: tirx.Cast) -> Sum:
    """What a cast gives, if it changes nothing."""
    name = element_type(str(expr.ty.dtype))
    if name == "bool" and found.least >= 0 and found.greatest <= 1:
        return found
    return _of_type(found, name)


def held_sum(found: Sum, expr: tirx.Expr) -> Sum:
    """What an expression holds, if nothing wraps: any integer type holds small numbers."""
    if found.least >= 0 and found.greatest < 128:
        return found
    return _of_type(found, element_type(str(expr.ty.dtype)))


def _of_type(found: Sum, name: str) -> Sum:
    if name not in _BITS:
        raise NotLinear
    least = 0 if name.startswith("u") else -(1 << _BITS[name])
    if found.least < least or found.greatest >= 1 << _BITS[name]:
        raise NotLinear
    return found
