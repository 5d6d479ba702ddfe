"""Sums of a constant and multiples of other values, as most indices are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tvm import tirx

from usmp.analysis.memory.index_values import Values, element_type
from usmp.analysis.memory.iterations import TracedLoop
from usmp.analysis.memory.memories import Term
from usmp.tir.dtypes import dtype_of
from usmp.tir.identity import identity

MOST_BYTES = 1 << 60
"""Of an address."""

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
    name = element_type(dtype_of(expr))
    if name == "bool" and found.least >= 0 and found.greatest <= 1:
        return found
    return _of_type(found, name)


def held_sum(found: Sum, expr: tirx.Expr) -> Sum:
    """What an expression holds, if nothing wraps: any integer type holds small numbers."""
    if found.least >= 0 and found.greatest < 128:
        return found
    return _of_type(found, element_type(dtype_of(expr)))


def _of_type(found: Sum, name: str) -> Sum:
    if name not in _BITS:
        raise NotLinear
    least = 0 if name.startswith("u") else -(1 << _BITS[name])
    if found.least < least or found.greatest >= 1 << _BITS[name]:
        raise NotLinear
    return found


class SumReader:
    """Reads expressions in a loop nest as sums.

    Parameters
    ----------
    loops
        outermost first; all begin at constants.
    axes
        by identity of the variable of a loop, its position.
    bound
        variables of `Bind` and `Let`, with what they are bound to.
    part
        returns the sum that an expression is which is not linear, or raises `NotLinear`.
    """

    def __init__(
        self,
        loops: Sequence[TracedLoop],
        axes: Mapping[int, int],
        bound: Mapping[tirx.Var, tirx.Expr],
        part: Callable[[tirx.Expr], Sum],
    ) -> None:
        self.loops = loops
        self.axes = axes
        self.bound = bound
        self.part = part
        self._variables: dict[int, Sum | None] = {}

    def of(self, terms: Sequence[Term]) -> Sum | None:
        """Return the sum of some terms; None if it takes other rules."""
        try:
            found = constant_sum(0)
            for term in terms:
                found = found.plus(self._sum(term.index).times(term.unit_bytes))
        except (NotLinear, RecursionError):
            return None
        # Of int64, the sum is exact, too.
        return found if max(-found.least, found.greatest) < MOST_BYTES else None

    def _sum(self, expr: tirx.Expr) -> Sum:
        kind = type(expr)
        if kind is tirx.IntImm:
            return held_sum(constant_sum(int(expr)), expr)
        if kind is tirx.Var:
            return self._variable(expr)
        if kind is tirx.Add:
            return held_sum(self._sum(expr.a).plus(self._sum(expr.b)), expr)
        if kind is tirx.Sub:
            return held_sum(self._sum(expr.a).plus(self._sum(expr.b).times(-1)), expr)
        if kind is tirx.Mul:
            a, b = self._sum(expr.a), self._sum(expr.b)
            if a.factors or a.nonlinear:
                a, b = b, a
            if not (a.factors or a.nonlinear):
                return held_sum(b.times(a.constant), expr)
        elif kind is tirx.Cast:
            return cast_sum(self._sum(expr.value), expr)
        elif kind is tirx.Broadcast:
            return self._sum(expr.value)
        elif kind is tirx.Ramp:
            return self._ramp(expr)
        return self.part(expr)

    def _variable(self, var: tirx.Var) -> Sum:
        key = identity(var)
        if key not in self._variables:
            if key not in self.axes and var not in self.bound:
                raise NotLinear
            # What is not linear is not asked for again.
            self._variables[key] = None
            of_loop = key in self.axes
            value = self._iterations(self.axes[key]) if of_loop else self._sum(self.bound[var])
            self._variables[key] = held_sum(value, var)
        found = self._variables[key]
        if found is None:
            raise NotLinear
        return found

    def _iterations(self, axis: int) -> Sum:
        """What the variable of a loop stands for."""
        loop = self.loops[axis]
        trips = loop.trips
        assert isinstance(loop.first, tirx.IntImm) and trips is not None
        first, last = int(loop.first), loop.step * (trips - 1)
        return Sum(first, {axis: loop.step}, {}, first, first + last)

    def _ramp(self, expr: tirx.Ramp) -> Sum:
        base, stride, lanes = self._sum(expr.base), self._sum(expr.stride), expr.lanes
        if not isinstance(lanes, tirx.IntImm | int) or int(lanes) < 1:
            raise NotLinear
        if stride.factors or stride.nonlinear or max(base.lanes, stride.lanes) > 1:
            raise NotLinear
        last = stride.constant * (int(lanes) - 1)
        of_lanes = Sum(
            0,
            {len(self.loops): stride.constant},
            {},
            min(last, 0),
            max(last, 0),
            int(lanes),
        )
        return held_sum(base.plus(of_lanes), expr)
