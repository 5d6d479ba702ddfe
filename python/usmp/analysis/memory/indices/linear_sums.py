"""Linear sums: a constant plus multiples of loop iterations and of nonlinear terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tvm import tirx

from usmp.analysis.memory.indices.index_values import Values, element_type
from usmp.analysis.memory.indices.iterations import TracedLoop
from usmp.analysis.memory.memories import Term
from usmp.tir.dtypes import dtype_of
from usmp.tir.identity import identity

MOST_BYTES = 1 << 60
"""Upper bound of an address, in bytes."""

_BITS = {"int8": 7, "int16": 15, "int32": 31, "int64": 63, "uint8": 8, "uint16": 16, "uint32": 32}
"""Number of bits of the largest value of each integer type."""


class NotLinear(Exception):
    """The address is not a linear sum, so it must be evaluated iteration by iteration."""


@dataclass(frozen=True)
class NonlinearTerm:
    """A scalar that is not linear in the loop variables.

    Parameters
    ----------
    values
        its values, with one axis for each loop, and a last axis of one element for lanes.
    axes
        the loops that it depends on.
    """

    values: Values
    axes: frozenset[int]


class Sum(NamedTuple):
    """A constant, plus multiples of iterations of loops and of nonlinear terms.

    Parameters
    ----------
    factors
        factors of iterations by axis; the axis after the last loop is that of lanes.
    nonlinear
        nonlinear terms with their factors, by identity.
    least, greatest
        bounds of the sum.
    lanes
        number of lanes of a vector; else 1.
    """

    constant: int
    factors: dict[int, int]
    nonlinear: dict[int, tuple[NonlinearTerm, int]]
    least: int
    greatest: int
    lanes: int = 1

    def times(self, factor: int) -> Sum:
        """Return this sum times a constant."""
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
        """Return this sum plus another one."""
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
    """Return an integer as a sum."""
    return Sum(value, {}, {}, value, value)


def cast_sum(found: Sum, expr: tirx.Cast) -> Sum:
    """Return the sum after a cast, or raise `NotLinear` if the cast may change its value."""
    name = element_type(dtype_of(expr))
    if name == "bool" and found.least >= 0 and found.greatest <= 1:
        return found
    return _of_type(found, name)


def held_sum(found: Sum, expr: tirx.Expr) -> Sum:
    """Return the sum as the value of an expression, or raise `NotLinear` if it may wrap."""
    if found.least >= 0 and found.greatest < 128:
        return found
    return _of_type(found, element_type(dtype_of(expr)))


def _of_type(total: Sum, name: str) -> Sum:
    if name not in _BITS:
        raise NotLinear
    least = 0 if name.startswith("u") else -(1 << _BITS[name])
    if total.least < least or total.greatest >= 1 << _BITS[name]:
        raise NotLinear
    return total


class SumReader:
    """A converter of expressions in a loop nest into sums.

    Parameters
    ----------
    loops
        loops with constant first values, outermost first.
    axes
        axis of each loop, by identity of its variable.
    bound
        variables of `Bind` and `Let`, with their values.
    part
        returns the sum of a nonlinear expression, or raises `NotLinear`.
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
        """Return the sum of some terms; None if it is not linear or exceeds `MOST_BYTES`."""
        try:
            total = constant_sum(0)
            for term in terms:
                total = total.plus(self._sum(term.index).times(term.unit_bytes))
        except (NotLinear, RecursionError):
            return None
        # Below this bound, numpy computes the sum exactly in int64.
        return total if max(-total.least, total.greatest) < MOST_BYTES else None

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
            # Mark the variable as nonlinear, in case its expression raises `NotLinear`.
            self._variables[key] = None
            of_loop = key in self.axes
            value = self._iterations(self.axes[key]) if of_loop else self._sum(self.bound[var])
            self._variables[key] = held_sum(value, var)
        total = self._variables[key]
        if total is None:
            raise NotLinear
        return total

    def _iterations(self, axis: int) -> Sum:
        """Return the variable of a loop as a sum."""
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
