"""Addresses as sums of loop variables, by which their first and last bytes follow at once.

Most indices are linear: the least and the greatest address are those at the ends of the loops, and
no iteration needs to be looked at. What is not linear, such as a quotient, is one value of the sum,
evaluated in all iterations of the loops that it depends on; and so are conditions, and the extents
of loops that are no constants. They are found once for all accesses in the same loops.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
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
    MOST_BYTES,
    NonlinearTerm,
    NotLinear,
    Sum,
    SumReader,
    constant_sum,
)
from usmp.analysis.memory.memories import Term
from usmp.tir.identity import identity

_EVERYWHERE = ConditionTruth()

_MOST_KEPT = 1 << 12
"""Iterations of some loops in which the values of all variables are kept."""

_MOST_TRUTHS = 1 << 14
"""Iterations in which it is kept whether conditions hold: a byte each."""

_MOST_PARTS = 1 << 14
"""Values of one part of a sum."""

_MOST_ENDS = 1 << 6
"""Ends of one access that are kept for others that differ by a constant."""


class LoopNest:
    """Expressions in the same loops, all of which begin at constants.

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
        self._are_named_once = len(self.axes) == len(named)
        self._definitions: dict[frozenset[int], Definitions] = {}
        self._parts: dict[int, tuple[tirx.Expr, Values | None]] = {}
        self._truths: dict[tuple[int, bool], tuple[tirx.Expr, Truth | None]] = {}
        self._found: dict[Hashable, tuple[ConditionTruth, tuple[Values, Values, Truth | None]]] = {}
        self._holds: dict[tuple[tuple[int, bool], ...], ConditionTruth] = {}
        self._reader = SumReader(loops, self.axes, bound, self._part)
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
        if self._extents is None:
            raise NotLinear
        if id(terms) not in self._sums:
            self._sums[id(terms)] = terms, self._reader.of(terms)
        found = self._sums[id(terms)][1]
        if found is None:
            raise NotLinear
        try:
            where = self._where(conditions)
        except RecursionError:
            raise NotLinear from None
        # Accesses in statements that are written out differ by constants.
        nonlinear = ((key, factor) for key, (_, factor) in found.nonlinear.items())
        what = id(where), common, found.lanes, *found.factors.items(), None, *nonlinear
        if what in self._found:
            least, greatest, happens = self._found[what][1]
        else:
            least, greatest, happens = self._ends_of(found._replace(constant=0), where, common)
            is_kept = where.happens is None or where.happens.size <= _MOST_TRUTHS
            if is_kept and least.size <= _MOST_ENDS:
                # The conditions are kept, as the terms are in `_sums`, so that no others get their
                # identities.
                self._found[what] = where, (least, greatest, happens)
        return least + found.constant, greatest + found.constant, happens

    def _ends_of(
        self, found: Sum, where: ConditionTruth, common: int
    ) -> tuple[Values, Values, Truth | None]:
        """As `ends`, of a sum and where it happens."""
        assert self._extents is not None
        is_by_axis = self._extents.keys().isdisjoint(found.factors)
        is_by_axis &= all(len(term.axes) == 1 for term, _ in found.nonlinear.values())
        if is_by_axis and where.by_axis is not None:
            return self._ends_by_axis(found, where.by_axis, common)
        least, greatest = self._ends(found, where.axes, common)
        inner = tuple(range(common, least.ndim))
        if where.happens is None:
            return least.min(axis=inner), greatest.max(axis=inner), None
        least = np.where(where.happens, least, MOST_BYTES).min(axis=inner)
        greatest = np.where(where.happens, greatest, -MOST_BYTES).max(axis=inner)
        return least, greatest, np.asarray(where.happens.any(axis=inner))

    def greatest(self, terms: Sequence[Term]) -> int:
        """The greatest sum of some terms.

        Raises
        ------
        NotLinear
            it takes other rules.
        """
        found = None if self._extents is None else self._reader.of(terms)
        if found is None:
            raise NotLinear
        return int(self._ends(found, frozenset(), 0)[1].max())

    def _ends(self, found: Sum, guards: frozenset[int], common: int) -> tuple[Values, Values]:
        assert self._extents is not None
        extents = {axis: e for axis, e in self._extents.items() if found.factors.get(axis)}
        seen = guards.union(
            *(term.axes for term, _ in found.nonlinear.values()),
            *(extent.axes for extent in extents.values()),
        )
        shown = {axis for axis, n in found.factors.items() if n and (axis < common or axis in seen)}
        count = prod(self._trips(axis) for axis in seen | shown)
        if count > MOST_VALUES or not shown.isdisjoint(extents):
            raise NotLinear
        least = greatest = found.constant
        offsets = np.zeros((1,) * (len(self.loops) + 1), np.int64)
        for axis, factor in found.factors.items():
            if axis in shown:
                offsets = offsets + self._along(axis) * factor
            elif axis not in extents:
                last = factor * (self._values_of(axis, found) - 1)
                least, greatest = least + min(last, 0), greatest + max(last, 0)
        for term, factor in found.nonlinear.values():
            offsets = offsets + term.values * factor
        lowest, highest = offsets + least, offsets + greatest
        for axis, extent in extents.items():
            # The iterations before the last one; where there is none, nothing happens.
            before = np.maximum(extent.values - 1, 0) // self.loops[axis].step
            added = before * found.factors[axis]
            lowest, highest = lowest + np.minimum(added, 0), highest + np.maximum(added, 0)
        return lowest, highest

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
                last = factor * (self._values_of(axis, found) - 1)
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

    @cached_property
    def _extents(self) -> dict[int, NonlinearTerm] | None:
        """By axis, the extents of loops that are no constants; None if a loop takes other rules."""
        found: dict[int, NonlinearTerm] = {}
        if not self._are_named_once:
            return None
        for axis in self.axes.values():
            loop = self.loops[axis]
            if not loop.trips or not isinstance(loop.first, tirx.IntImm) or loop.extent is None:
                return None
            if isinstance(loop.extent, tirx.IntImm):
                continue
            axes = self._axes_of([loop.extent])
            if not axes.isdisjoint(found):
                return None
            try:
                found[axis] = NonlinearTerm(self._known(loop.extent, axes), axes)
            except NotLinear:
                return None
        return found

    def _where(self, conditions: Sequence[Condition]) -> ConditionTruth:
        extents = self._extents or {}
        if not conditions and not extents:
            return _EVERYWHERE
        key = tuple((id(condition), truth) for condition, truth in conditions)
        if key not in self._holds:
            axes = self._regular_axes_of(condition for condition, _ in conditions)
            depth = max([*axes, *extents], default=-1) + 1
            if depth < len(self.loops):
                # Of nests with the same outer loops.
                outer = LoopNest.of(self.loops[:depth], self.bound)
                found = outer._where(conditions).inside(len(self.loops) - depth)
            else:
                found = self._find_where(conditions, axes)
            if found.happens is not None and found.happens.size > _MOST_TRUTHS:
                return found
            self._holds[key] = found
        return self._holds[key]

    def _find_where(self, conditions: Sequence[Condition], axes: frozenset[int]) -> ConditionTruth:
        extents = (self._extents or {}).values()
        axes = axes.union(*(extent.axes for extent in extents))
        if prod(self._trips(axis) for axis in axes) > MOST_VALUES:
            raise NotLinear
        happens: Truth | None = None
        for extent in extents:
            happens = both(happens, np.asarray(extent.values > 0))
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
        if found is None or found.size <= _MOST_TRUTHS:
            # The condition is kept, so that no other one gets its identity.
            self._truths[key] = condition, found
        return found

    def _axes_of(self, exprs: Iterable[tirx.Expr]) -> frozenset[int]:
        """The loops on which expressions depend."""
        variables = (identity(v) for expr in exprs for v in self.bound.variables_of(expr))
        return frozenset(self.axes[var] for var in variables if var in self.axes)

    def _regular_axes_of(self, exprs: Iterable[tirx.Expr]) -> frozenset[int]:
        """The same; `NotLinear` if one of them has an extent that is no constant."""
        axes = self._axes_of(exprs)
        if not axes.isdisjoint(self._extents or {}):
            raise NotLinear
        return axes

    def _known(self, expr: tirx.Expr, axes: frozenset[int]) -> Values:
        """The values of a scalar in all iterations of the loops that it depends on, found once for
        nests with the same outer loops."""
        depth = max(axes, default=-1) + 1
        if depth < len(self.loops):
            values = LoopNest.of(self.loops[:depth], self.bound)._known(expr, axes)
            *shape, lanes = values.shape
            return values.reshape([*shape, *[1] * (len(self.loops) - depth), lanes])
        key = identity(expr)
        if key not in self._parts:
            found = known_values(expr, self._defined(axes))
            if found is not None and (found.shape[-1] > 1 or found.size > _MOST_PARTS):
                found = None
            # The expression is kept, so that no other one gets its identity.
            self._parts[key] = expr, found
        known = self._parts[key][1]
        if known is None or not known.size:
            raise NotLinear
        return known

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

    def _part(self, expr: tirx.Expr) -> Sum:
        """What is not linear, in all iterations that matter."""
        axes = self._regular_axes_of([expr])
        values = self._known(expr, axes)
        least, greatest = int(values.min()), int(values.max())
        if least == greatest:
            return constant_sum(least)
        term = NonlinearTerm(values, axes)
        return Sum(0, {}, {id(term): (term, 1)}, least, greatest)
