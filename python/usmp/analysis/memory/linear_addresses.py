"""Addresses as sums of loop variables, by which their first and last bytes follow at once.

Most indices are linear: the least and the greatest address are those at the ends of the loops, and
no iteration needs to be looked at. What is not linear, such as a quotient, is one value of the sum,
evaluated in all iterations of the loops that it depends on; and so are conditions. They are found
once for all accesses in the same loops.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import numpy as np
from tvm import tirx

from usmp.analysis.memory.index_values import (
    MOST_VALUES,
    Bindings,
    Definitions,
    Truth,
    Values,
    both,
    element_type,
    known_values,
    may_be,
    without_lanes,
)
from usmp.analysis.memory.iterations import TracedLoop, definitions_in
from usmp.analysis.memory.memories import Term
from usmp.analysis.memory.traced_access import Condition

_MOST_KEPT = 1 << 12
"""Values of one expression that are kept."""

_MOST_BYTES = 1 << 60
"""Of an address."""

_BITS = {"int8": 7, "int16": 15, "int32": 31, "int64": 63, "uint8": 8, "uint16": 16, "uint32": 32}
"""Of the greatest value of an integer type."""


class NotLinear(Exception):
    """The address takes other rules."""


@dataclass(frozen=True)
class _Part:
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


@dataclass(frozen=True)
class _Sum:
    """A constant, and multiples of iterations of loops and of other parts.

    Parameters
    ----------
    factors
        by axis; the axis after that of the last loop is that of lanes.
    parts
        by identity, with their factors.
    least, greatest
        no value is outside.
    lanes
        of a vector; else 1.
    """

    constant: int
    factors: dict[int, int]
    parts: dict[int, tuple[_Part, int]]
    least: int
    greatest: int
    lanes: int = 1

    def times(self, factor: int) -> _Sum:
        """Each value so many times."""
        ends = sorted((self.least * factor, self.greatest * factor))
        return _Sum(
            self.constant * factor,
            {axis: n * factor for axis, n in self.factors.items()},
            {key: (part, n * factor) for key, (part, n) in self.parts.items()},
            ends[0],
            ends[1],
            self.lanes,
        )

    def plus(self, other: _Sum) -> _Sum:
        """The sum of both."""
        if min(self.lanes, other.lanes) > 1 and self.lanes != other.lanes:
            raise NotLinear
        factors, parts = dict(self.factors), dict(self.parts)
        for axis, n in other.factors.items():
            factors[axis] = factors.get(axis, 0) + n
        for key, (part, n) in other.parts.items():
            parts[key] = part, n + (parts[key][1] if key in parts else 0)
        return _Sum(
            self.constant + other.constant,
            factors,
            parts,
            self.least + other.least,
            self.greatest + other.greatest,
            max(self.lanes, other.lanes),
        )


_Where: TypeAlias = tuple[Sequence[Condition], frozenset[int], Truth | None]
"""Conditions, the loops on which they depend, and where all of them may hold."""


class LoopNest:
    """Expressions in the same loops, all of which have constant bounds.

    Parameters
    ----------
    loops
        outermost first.
    bound
        variables of `Bind` and `Let`, with what they are bound to.
    """

    def __init__(self, loops: Sequence[TracedLoop], bound: Bindings) -> None:
        self.loops = loops
        self.bound = bound
        variables = [loop.variable for loop in loops]
        self.axes = {v: a for a, v in enumerate(variables) if v is not None}
        self.is_regular = len(self.axes) == len([v for v in variables if v is not None]) and all(
            loop.variable is None or _is_regular(loop) for loop in loops
        )
        self._variables: dict[tirx.Var, _Sum | None] = {}
        self._definitions: dict[frozenset[int], Definitions] = {}
        self._holds: dict[tuple[tuple[int, bool], ...], _Where] = {}
        self._sums: dict[int, tuple[Sequence[Term], _Sum | None]] = {}

    @classmethod
    def of(cls, loops: tuple[TracedLoop, ...], bound: Bindings) -> LoopNest:
        """The nest of some loops, with what is known of it."""
        return bound.found.once(loops, lambda: cls(loops, bound))

    def ends(
        self, terms: Sequence[Term], conditions: Sequence[Condition], common: int
    ) -> tuple[Values, Values, Truth | None]:
        """The least and the greatest sum of some terms, over iterations of inner loops of which
        all the rest is independent, and where an access may happen.

        Parameters
        ----------
        terms
            of an address; kept, so that it is the same object whenever it is asked for.
        common
            as in `accessed_bytes`.

        Returns
        -------
        tuple[Values, Values, Truth | None]
            Arrays with an axis for each loop, and one for lanes.

        Raises
        ------
        NotLinear
            it takes other rules.
        """
        if not self.is_regular:
            raise NotLinear
        if id(terms) not in self._sums:
            self._sums[id(terms)] = terms, self._sum_or_none(terms)
        found = self._sums[id(terms)][1]
        if found is None:
            raise NotLinear
        try:
            guards, happens = self._where(conditions)
        except RecursionError:
            raise NotLinear from None
        return (*self._ends(found, guards, common), happens)

    def greatest(self, terms: Sequence[Term]) -> int:
        """The greatest sum of some terms.

        Raises
        ------
        NotLinear
            it takes other rules.
        """
        found = self._sum_or_none(terms) if self.is_regular else None
        if found is None:
            raise NotLinear
        return int(self._ends(found, frozenset(), 0)[1].max())

    def _ends(self, found: _Sum, guards: frozenset[int], common: int) -> tuple[Values, Values]:
        seen = guards.union(*(part.axes for part, _ in found.parts.values()))
        sizes = {axis: self._trips(axis) for axis in found.factors}
        shown = {axis for axis, n in found.factors.items() if n and (axis < common or axis in seen)}
        if prod(self._trips(axis) for axis in seen | shown) > MOST_VALUES:
            raise NotLinear
        sizes[len(self.loops)] = found.lanes
        least = greatest = found.constant
        offsets = np.zeros((1,) * (len(self.loops) + 1), np.int64)
        for axis, factor in found.factors.items():
            if axis in shown:
                offsets = offsets + self._along(axis) * factor
                continue
            last = factor * (sizes[axis] - 1)
            least, greatest = least + min(last, 0), greatest + max(last, 0)
        for part, factor in found.parts.values():
            offsets = offsets + part.values * factor
        return offsets + least, offsets + greatest

    def _along(self, axis: int) -> Values:
        shape = [1] * (len(self.loops) + 1)
        shape[axis] = -1
        return np.arange(self._trips(axis)).reshape(shape)

    def _trips(self, axis: int) -> int:
        if axis == len(self.loops):
            return 1
        trips = self.loops[axis].trips
        assert trips is not None
        return trips

    # ---- conditions

    def _where(self, conditions: Sequence[Condition]) -> tuple[frozenset[int], Truth | None]:
        """The loops on which it depends whether all conditions hold, and where they may."""
        if not conditions:
            return frozenset(), None
        key = tuple((id(condition), truth) for condition, truth in conditions)
        if key not in self._holds:
            axes = self._axes_of(condition for condition, _ in conditions)
            definitions = self._defined(axes)
            happens: Truth | None = None
            for condition, truth in conditions:
                may_hold = may_be(condition, truth, definitions)
                if may_hold is not None:
                    happens = both(happens, without_lanes(may_hold))
            if happens is None or happens.all():
                axes, happens = frozenset(), None
            if happens is not None and happens.size > _MOST_KEPT:
                return axes, happens
            # The conditions are kept, so that no others get their identities.
            self._holds[key] = conditions, axes, happens
        return self._holds[key][1:]

    def _axes_of(self, exprs: Iterable[tirx.Expr]) -> frozenset[int]:
        """The loops on which expressions depend."""
        variables = frozenset[tirx.Var]().union(*map(self.bound.variables_of, exprs))
        return frozenset(self.axes[var] for var in variables if var in self.axes)

    def _defined(self, axes: frozenset[int]) -> Definitions:
        """What variables stand for in all iterations of some loops."""
        if axes in self._definitions:
            return self._definitions[axes]
        count = prod(self._trips(axis) for axis in axes)
        if count > MOST_VALUES:
            raise NotLinear
        iterations = {
            axis: np.arange(self._trips(axis)) if axis in axes else np.zeros(1, np.int64)
            for axis in range(len(self.loops))
        }
        definitions, _ = definitions_in(self.loops, self.bound, iterations)
        if count <= _MOST_KEPT:
            self._definitions[axes] = definitions
        return definitions

    # ---- sums

    def _sum_or_none(self, terms: Sequence[Term]) -> _Sum | None:
        try:
            found = _constant(0)
            for term in terms:
                found = found.plus(self._sum(term.index).times(term.unit_bytes))
        except (NotLinear, RecursionError):
            return None
        # Of int64, the sum is exact, too.
        return found if max(-found.least, found.greatest) < _MOST_BYTES else None

    def _sum(self, expr: tirx.Expr) -> _Sum:
        kind = type(expr)
        if kind is tirx.IntImm:
            return _held(_constant(int(expr)), expr)
        if kind is tirx.Var:
            return self._variable(expr)
        if kind is tirx.Add:
            return _held(self._sum(expr.a).plus(self._sum(expr.b)), expr)
        if kind is tirx.Sub:
            return _held(self._sum(expr.a).plus(self._sum(expr.b).times(-1)), expr)
        if kind is tirx.Mul:
            a, b = self._sum(expr.a), self._sum(expr.b)
            if a.factors or a.parts:
                a, b = b, a
            if not (a.factors or a.parts):
                return _held(b.times(a.constant), expr)
        elif kind is tirx.Cast:
            return _cast(self._sum(expr.value), expr)
        elif kind is tirx.Broadcast:
            return self._sum(expr.value)
        elif kind is tirx.Ramp:
            return self._ramp(expr)
        return self._part(expr)

    def _variable(self, var: tirx.Var) -> _Sum:
        if var not in self._variables:
            # What is not linear is not asked for again.
            self._variables[var] = None
            self._variables[var] = self._bound_to(var)
        found = self._variables[var]
        if found is None:
            raise NotLinear
        return found

    def _bound_to(self, var: tirx.Var) -> _Sum:
        axis = self.axes.get(var)
        if axis is not None:
            loop = self.loops[axis]
            assert isinstance(loop.first, tirx.IntImm)
            first, last = int(loop.first), loop.step * (self._trips(axis) - 1)
            return _held(_Sum(first, {axis: loop.step}, {}, first, first + last), var)
        if var not in self.bound:
            raise NotLinear
        return _held(self._sum(self.bound[var]), var)

    def _ramp(self, expr: tirx.Ramp) -> _Sum:
        base, stride, lanes = self._sum(expr.base), self._sum(expr.stride), expr.lanes
        if not isinstance(lanes, tirx.IntImm | int) or int(lanes) < 1:
            raise NotLinear
        if stride.factors or stride.parts or max(base.lanes, stride.lanes) > 1:
            raise NotLinear
        last = stride.constant * (int(lanes) - 1)
        of_lanes = _Sum(
            0,
            {len(self.loops): stride.constant},
            {},
            min(last, 0),
            max(last, 0),
            int(lanes),
        )
        return _held(base.plus(of_lanes), expr)

    def _part(self, expr: tirx.Expr) -> _Sum:
        """What is not linear, in all iterations that matter."""
        axes = self._axes_of([expr])
        values = known_values(expr, self._defined(axes))
        if values is None or not 0 < values.size <= _MOST_KEPT or values.shape[-1] != 1:
            raise NotLinear
        least, greatest = int(values.min()), int(values.max())
        if least == greatest:
            return _constant(least)
        part = _Part(values, axes)
        return _Sum(0, {}, {id(part): (part, 1)}, least, greatest)


def _is_regular(loop: TracedLoop) -> bool:
    """Whether it has constant bounds, and a last iteration."""
    is_constant = isinstance(loop.first, tirx.IntImm) and isinstance(loop.extent, tirx.IntImm)
    return is_constant and loop.trips is not None and loop.trips > 0


def _constant(value: int) -> _Sum:
    return _Sum(value, {}, {}, value, value)


def _cast(found: _Sum, expr: tirx.Cast) -> _Sum:
    """What a cast gives, if it changes nothing."""
    name = element_type(str(expr.ty.dtype))
    if name == "bool" and found.least >= 0 and found.greatest <= 1:
        return found
    return _of_type(found, name)


def _held(found: _Sum, expr: tirx.Expr) -> _Sum:
    """What an expression holds, if nothing wraps: any integer type holds small numbers."""
    if found.least >= 0 and found.greatest < 128:
        return found
    return _of_type(found, element_type(str(expr.ty.dtype)))


def _of_type(found: _Sum, name: str) -> _Sum:
    if name not in _BITS:
        raise NotLinear
    least = 0 if name.startswith("u") else -(1 << _BITS[name])
    if found.least < least or found.greatest >= 1 << _BITS[name]:
        raise NotLinear
    return found
