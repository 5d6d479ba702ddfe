"""Addresses as sums of loop variables, by which their first and last bytes follow at once.

Most indices are linear: the least and the greatest address are those at the ends of the loops, and
no iteration needs to be looked at. What is not linear, such as a quotient, is one value of the sum,
evaluated in all iterations of the loops that it depends on; and so are conditions. They are found
once for all accesses in the same loops.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

import numpy as np
from tvm import tirx

from usmp.analysis.memory.condition_truth import ConditionTruth
from usmp.analysis.memory.events import Condition
from usmp.analysis.memory.index_values import (
    MOST_VALUES,
    Bindings,
    Definitions,
    NotKnown,
    Truth,
    Values,
    both,
    known_values,
    may_be,
    without_lanes,
)
from usmp.analysis.memory.iterations import TracedLoop, definitions_in
from usmp.analysis.memory.linear_sums import (
    NonlinearTerm,
    NotLinear,
    Sum,
    cast_sum,
    constant_sum,
    held_sum,
)
from usmp.analysis.memory.memories import Term
from usmp.tir.identity import identity

_MOST_KEPT = 1 << 12
"""Values of one expression that are kept."""

_MOST_BYTES = 1 << 60
"""Of an address."""


class LoopNest:
    """Expressions in the same loops, all of which have constant bounds.

    Parameters
    ----------
    loops
        outermost first.
    bound
        variables of `Bind` and `Let`, with what they are bound to.
    """

    def __init__(self, loops: tuple[TracedLoop, ...], bound: Bindings) -> None:
        self.loops = loops
        self.bound = bound
        named = [(axis, loop) for axis, loop in enumerate(loops) if loop.variable is not None]
        self.axes = {identity(loop.variable): axis for axis, loop in named}
        """By identity of the variable of a loop."""
        self.is_regular = len(self.axes) == len(named) and all(
            _is_regular(loop) for _, loop in named
        )
        self._variables: dict[int, Sum | None] = {}
        self._definitions: dict[frozenset[int], Definitions] = {}
        self._truths: dict[tuple[int, bool], tuple[tirx.Expr, Truth | None]] = {}
        self._holds: dict[tuple[tuple[int, bool], ...], ConditionTruth] = {}
        self._sums: dict[int, tuple[Sequence[Term], Sum | None]] = {}

    @classmethod
    def of(cls, loops: tuple[TracedLoop, ...], bound: Bindings) -> LoopNest:
        """The nest of some loops, with what is known of it."""
        return bound.found.once(loops, lambda: cls(loops, bound))

    def ends(
        self, terms: Sequence[Term], conditions: Sequence[Condition], common: int
    ) -> tuple[Values, Values, Truth | None]:
        """The least and the greatest sum of some terms in each iteration of the outermost loops,
        over all iterations of the others, and where it happens.

        Parameters
        ----------
        terms
            of an address; kept, so that it is the same object whenever it is asked for.
        common
            as in `accessed_bytes`.

        Returns
        -------
        tuple[Values, Values, Truth | None]
            Arrays of `common` axes, which have one element where nothing changes. Where it does not
            happen, the sums may be anything.

        Raises
        ------
        NotKnown
            the sums are more than `MOST_VALUES`.
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
            where = self._where(conditions)
        except RecursionError:
            raise NotLinear from None
        if where.by_axis is not None and all(len(t.axes) == 1 for t, _ in found.nonlinear.values()):
            return self._ends_by_axis(found, where.by_axis, common)
        least, greatest = self._ends(found, where.axes, common)
        inner = tuple(range(common, least.ndim))
        if where.happens is None:
            return least.min(axis=inner), greatest.max(axis=inner), None
        least = np.where(where.happens, least, _MOST_BYTES).min(axis=inner)
        greatest = np.where(where.happens, greatest, -_MOST_BYTES).max(axis=inner)
        return least, greatest, np.asarray(where.happens.any(axis=inner))

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

    def _ends(self, found: Sum, guards: frozenset[int], common: int) -> tuple[Values, Values]:
        seen = guards.union(*(term.axes for term, _ in found.nonlinear.values()))
        shown = {axis for axis, n in found.factors.items() if n and (axis < common or axis in seen)}
        if prod(self._trips(axis) for axis in seen | shown) > MOST_VALUES:
            raise NotLinear
        least = greatest = found.constant
        offsets = np.zeros((1,) * (len(self.loops) + 1), np.int64)
        for axis, factor in found.factors.items():
            if axis in shown:
                offsets = offsets + self._along(axis) * factor
                continue
            last = factor * (self._values_of(axis, found) - 1)
            least, greatest = least + min(last, 0), greatest + max(last, 0)
        for term, factor in found.nonlinear.values():
            offsets = offsets + term.values * factor
        return offsets + least, offsets + greatest

    def _ends_by_axis(
        self, found: Sum, holds: dict[int, Truth], common: int
    ) -> tuple[Values, Values, Truth | None]:
        """The same, where each loop adds something of its own."""
        least = greatest = np.full((1,) * common, found.constant, np.int64)
        nonlinear: dict[int, list[tuple[NonlinearTerm, int]]] = {}
        for term, factor in found.nonlinear.values():
            (axis,) = term.axes
            nonlinear.setdefault(axis, []).append((term, factor))
        changing = {axis for axis, factor in found.factors.items() if factor}.union(nonlinear)
        if prod(self._trips(axis) for axis in changing if axis < common) > MOST_VALUES:
            # Each iteration has an address of its own: other rules would find as many.
            raise NotKnown
        happens: Truth | None = None
        sum_of_least = sum_of_greatest = 0
        for axis in {**found.factors, **nonlinear, **holds}:
            factor, truth = found.factors.get(axis, 0), holds.get(axis)
            if axis >= common and truth is None and axis not in nonlinear:
                last = factor * (
                    (found.lanes if axis == len(self.loops) else self._trips(axis)) - 1
                )
                sum_of_least += min(last, 0)
                sum_of_greatest += max(last, 0)
                continue
            added = np.arange(self._trips(axis)) * factor
            for term, times in nonlinear.get(axis, ()):
                added = added + term.values.ravel() * times
            if axis < common:
                shape = [1] * common
                shape[axis] = -1
                if factor or axis in nonlinear:
                    least, greatest = (n + added.reshape(shape) for n in (least, greatest))
                happens = both(happens, None if truth is None else truth.reshape(shape))
                continue
            added = added if truth is None else added[truth]
            if not added.size:
                return least, greatest, np.zeros((1,) * common, np.bool_)
            sum_of_least += int(added.min())
            sum_of_greatest += int(added.max())
        return least + sum_of_least, greatest + sum_of_greatest, happens

    def _along(self, axis: int) -> Values:
        shape = [1] * (len(self.loops) + 1)
        shape[axis] = -1
        return np.arange(self._trips(axis)).reshape(shape)

    def _values_of(self, axis: int, found: Sum) -> int:
        return found.lanes if axis == len(self.loops) else self._trips(axis)

    def _trips(self, axis: int) -> int:
        trips = self.loops[axis].trips
        assert trips is not None
        return trips

    # ---- conditions

    def _where(self, conditions: Sequence[Condition]) -> ConditionTruth:
        if not conditions:
            return ConditionTruth()
        key = tuple((id(condition), truth) for condition, truth in conditions)
        if key not in self._holds:
            axes = self._axes_of(condition for condition, _ in conditions)
            depth = max(axes, default=-1) + 1
            if depth < len(self.loops):
                # Of nests with the same outer loops.
                outer = LoopNest.of(self.loops[:depth], self.bound)
                found = outer._where(conditions).inside(len(self.loops) - depth)
            else:
                found = self._find_where(conditions, axes)
            if found.happens is not None and found.happens.size > _MOST_KEPT:
                return found
            self._holds[key] = found
        return self._holds[key]

    def _find_where(self, conditions: Sequence[Condition], axes: frozenset[int]) -> ConditionTruth:
        if prod(self._trips(axis) for axis in axes) > MOST_VALUES:
            raise NotLinear
        happens: Truth | None = None
        for condition, truth in conditions:
            happens = both(happens, self._may_hold(condition, truth))
        return ConditionTruth.of(conditions, axes, happens)

    def _may_hold(self, condition: tirx.Expr, truth: bool) -> Truth | None:
        """Where a condition may hold in any lane; None stands for everywhere."""
        key = identity(condition), truth
        if key in self._truths:
            return self._truths[key][1]
        may_hold = may_be(condition, truth, self._defined(self._axes_of([condition])))
        found = None if may_hold is None else without_lanes(may_hold)
        if found is None or found.size <= _MOST_KEPT:
            # The condition is kept, so that no other one gets its identity.
            self._truths[key] = condition, found
        return found

    def _axes_of(self, exprs: Iterable[tirx.Expr]) -> frozenset[int]:
        """The loops on which expressions depend."""
        variables = (identity(v) for expr in exprs for v in self.bound.variables_of(expr))
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

    def _sum_or_none(self, terms: Sequence[Term]) -> Sum | None:
        try:
            found = constant_sum(0)
            for term in terms:
                found = found.plus(self._sum(term.index).times(term.unit_bytes))
        except (NotLinear, RecursionError):
            return None
        # Of int64, the sum is exact, too.
        return found if max(-found.least, found.greatest) < _MOST_BYTES else None

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
        return self._part(expr)

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
        assert isinstance(loop.first, tirx.IntImm)
        first, last = int(loop.first), loop.step * (self._trips(axis) - 1)
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

    def _part(self, expr: tirx.Expr) -> Sum:
        """What is not linear, in all iterations that matter."""
        axes = self._axes_of([expr])
        values = known_values(expr, self._defined(axes))
        if values is None or not 0 < values.size <= _MOST_KEPT or values.shape[-1] != 1:
            raise NotLinear
        least, greatest = int(values.min()), int(values.max())
        if least == greatest:
            return constant_sum(least)
        term = NonlinearTerm(values, axes)
        return Sum(0, {}, {id(term): (term, 1)}, least, greatest)


def _is_regular(loop: TracedLoop) -> bool:
    """Whether it has constant bounds, and a last iteration."""
    is_constant = isinstance(loop.first, tirx.IntImm) and isinstance(loop.extent, tirx.IntImm)
    return is_constant and loop.trips is not None and loop.trips > 0
