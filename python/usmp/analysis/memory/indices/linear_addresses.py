"""Addresses as linear sums of loop variables, with their first and last bytes in closed form.

Most indices are linear: the ends of the loops give the smallest and the largest address, without an
evaluation of all iterations. A nonlinear part, such as a quotient, is one term of the sum.
Nonlinear terms, conditions, and variable extents are evaluated in all iterations of the loops that
they depend on, once for all accesses in these loops.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from math import prod

import numpy as np
from tvm import tirx

from usmp.analysis.memory.indices.condition_truth import ConditionTruth
from usmp.analysis.memory.indices.index_values import (
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
from usmp.analysis.memory.indices.iterations import TracedLoop, definitions_in
from usmp.analysis.memory.indices.linear_sums import (
    MOST_BYTES,
    NonlinearTerm,
    NotLinear,
    Sum,
    SumReader,
    constant_sum,
)
from usmp.analysis.memory.memories import Term
from usmp.analysis.memory.walk.events import Condition
from usmp.tir.identity import identity

_EVERYWHERE = ConditionTruth()

_MOST_KEPT = 1 << 12
"""Most iterations for which the values of all variables are cached."""

_MOST_TRUTHS = 1 << 14
"""Most iterations for which the truth of conditions is cached, at one byte each."""

_MOST_PARTS = 1 << 14
"""Most values of one nonlinear term."""

_MOST_ENDS = 1 << 6
"""Size of the largest result of `ends` that is cached for accesses that differ by a constant."""


class LoopNest:
    """A loop nest whose loops start at constants, and the values of expressions in it.

    Parameters
    ----------
    loops
        loops, outermost first.
    bound
        variables of `Bind` and `Let`, with their values.
    """

    def __init__(self, loops: tuple[TracedLoop, ...], bound: Bindings) -> None:
        self.loops = loops
        self.bound = bound
        named = [(axis, loop) for axis, loop in enumerate(loops) if loop.variable is not None]
        self.axes = {identity(loop.variable): axis for axis, loop in named}
        """The axis of each loop, by identity of its variable."""
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
        """Return the cached nest of some loops."""
        return bound.found.once(loops, lambda: cls(loops, bound))

    def ends(
        self, terms: Sequence[Term], conditions: Sequence[Condition], common: int
    ) -> tuple[Values, Values, Truth | None]:
        """Return the smallest and the largest address in each iteration of the outermost loops,
        over all iterations of the inner loops.

        Parameters
        ----------
        terms
            terms of an address, the same object in all calls for one access (a cache key).
        common
            number of outermost loops.

        Returns
        -------
        tuple[Values, Values, Truth | None]
            Both addresses, and where the access happens: arrays of `common` axes, with one element
            along axes where nothing changes. Without an access, the addresses may be anything.

        Raises
        ------
        NotKnown
            the addresses have more than `MOST_VALUES` values.
        NotLinear
            the address must be evaluated iteration by iteration.
        """
        if self._extents is None:
            raise NotLinear
        if id(terms) not in self._sums:
            self._sums[id(terms)] = terms, self._reader.of(terms)
        total = self._sums[id(terms)][1]
        if total is None:
            raise NotLinear
        try:
            where = self._where(conditions)
        except RecursionError:
            raise NotLinear from None
        # Leave out the constant, because accesses of unrolled statements differ only by a constant.
        nonlinear = ((key, factor) for key, (_, factor) in total.nonlinear.items())
        cache_key = id(where), common, total.lanes, *total.factors.items(), None, *nonlinear
        if cache_key in self._found:
            least, greatest, happens = self._found[cache_key][1]
        else:
            least, greatest, happens = self._ends_of(total._replace(constant=0), where, common)
            is_kept = where.happens is None or where.happens.size <= _MOST_TRUTHS
            if is_kept and least.size <= _MOST_ENDS:
                # Keep the conditions alive, like the terms in `_sums`, so that no other objects
                # get their identities.
                self._found[cache_key] = where, (least, greatest, happens)
        return least + total.constant, greatest + total.constant, happens

    def _ends_of(
        self, total: Sum, where: ConditionTruth, common: int
    ) -> tuple[Values, Values, Truth | None]:
        """Return the result of `ends` for a sum and its conditions."""
        assert self._extents is not None
        is_by_axis = self._extents.keys().isdisjoint(total.factors)
        is_by_axis &= all(len(term.axes) == 1 for term, _ in total.nonlinear.values())
        if is_by_axis and where.by_axis is not None:
            return self._ends_by_axis(total, where.by_axis, common)
        least, greatest = self._ends(total, where.axes, common)
        inner = tuple(range(common, least.ndim))
        if where.happens is None:
            return least.min(axis=inner), greatest.max(axis=inner), None
        least = np.where(where.happens, least, MOST_BYTES).min(axis=inner)
        greatest = np.where(where.happens, greatest, -MOST_BYTES).max(axis=inner)
        return least, greatest, np.asarray(where.happens.any(axis=inner))

    def greatest(self, terms: Sequence[Term]) -> int:
        """Return the largest sum of some terms.

        Raises
        ------
        NotLinear
            the sum must be evaluated iteration by iteration.
        """
        total = None if self._extents is None else self._reader.of(terms)
        if total is None:
            raise NotLinear
        return int(self._ends(total, frozenset(), 0)[1].max())

    def _ends(self, total: Sum, guards: frozenset[int], common: int) -> tuple[Values, Values]:
        assert self._extents is not None
        extents = {axis: e for axis, e in self._extents.items() if total.factors.get(axis)}
        seen = guards.union(
            *(term.axes for term, _ in total.nonlinear.values()),
            *(extent.axes for extent in extents.values()),
        )
        shown = {axis for axis, n in total.factors.items() if n and (axis < common or axis in seen)}
        count = prod(self._trips(axis) for axis in seen | shown)
        if count > MOST_VALUES or not shown.isdisjoint(extents):
            raise NotLinear
        least = greatest = total.constant
        offsets = np.zeros((1,) * (len(self.loops) + 1), np.int64)
        for axis, factor in total.factors.items():
            if axis in shown:
                offsets = offsets + self._along(axis) * factor
            elif axis not in extents:
                last = factor * (self._values_of(axis, total) - 1)
                least, greatest = least + min(last, 0), greatest + max(last, 0)
        for term, factor in total.nonlinear.values():
            offsets = offsets + term.values * factor
        lowest, highest = offsets + least, offsets + greatest
        for axis, extent in extents.items():
            # Without any iteration the value does not matter, because there is no access.
            before = np.maximum(extent.values - 1, 0) // self.loops[axis].step
            added = before * total.factors[axis]
            lowest, highest = lowest + np.minimum(added, 0), highest + np.maximum(added, 0)
        return lowest, highest

    def _ends_by_axis(
        self, total: Sum, holds: dict[int, Truth], common: int
    ) -> tuple[Values, Values, Truth | None]:
        """Return the result of `ends` if each term and each condition depends on one loop."""
        least = greatest = np.full((1,) * common, total.constant, np.int64)
        nonlinear: dict[int, list[tuple[NonlinearTerm, int]]] = {}
        for term, factor in total.nonlinear.values():
            (axis,) = term.axes
            nonlinear.setdefault(axis, []).append((term, factor))
        changing = {axis for axis, factor in total.factors.items() if factor}.union(nonlinear)
        if prod(self._trips(axis) for axis in changing if axis < common) > MOST_VALUES:
            # Not `NotLinear`, because evaluating each iteration would yield as many values.
            raise NotKnown
        happens: Truth | None = None
        sum_of_least = sum_of_greatest = 0
        for axis in {**total.factors, **nonlinear, **holds}:
            factor, truth = total.factors.get(axis, 0), holds.get(axis)
            if axis >= common and truth is None and axis not in nonlinear:
                last = factor * (self._values_of(axis, total) - 1)
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

    def _values_of(self, axis: int, total: Sum) -> int:
        return total.lanes if axis == len(self.loops) else self._trips(axis)

    def _trips(self, axis: int) -> int:
        trips = self.loops[axis].trips
        assert trips is not None
        return trips

    # ---- conditions

    @cached_property
    def _extents(self) -> dict[int, NonlinearTerm] | None:
        """The extents that are not constant, by axis; None if `ends` cannot handle a loop."""
        extents: dict[int, NonlinearTerm] = {}
        if not self._are_named_once:
            return None
        for axis in self.axes.values():
            loop = self.loops[axis]
            if not loop.trips or not isinstance(loop.first, tirx.IntImm) or loop.extent is None:
                return None
            if isinstance(loop.extent, tirx.IntImm):
                continue
            axes = self._axes_of([loop.extent])
            if not axes.isdisjoint(extents):
                return None
            try:
                extents[axis] = NonlinearTerm(self._known(loop.extent, axes), axes)
            except NotLinear:
                return None
        return extents

    def _where(self, conditions: Sequence[Condition]) -> ConditionTruth:
        extents = self._extents or {}
        if not conditions and not extents:
            return _EVERYWHERE
        key = tuple((id(condition), truth) for condition, truth in conditions)
        if key not in self._holds:
            axes = self._regular_axes_of(condition for condition, _ in conditions)
            depth = max([*axes, *extents], default=-1) + 1
            if depth < len(self.loops):
                # Share the result between nests with the same outer loops.
                outer = LoopNest.of(self.loops[:depth], self.bound)
                where = outer._where(conditions).inside(len(self.loops) - depth)
            else:
                where = self._find_where(conditions, axes)
            if where.happens is not None and where.happens.size > _MOST_TRUTHS:
                return where
            self._holds[key] = where
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
        """Return where a condition may hold in any lane; None means everywhere."""
        key = identity(condition), truth
        if key in self._truths:
            return self._truths[key][1]
        may_hold = may_be(condition, truth, self._defined(self._axes_of([condition])))
        holds = None if may_hold is None else without_lanes(may_hold)
        if holds is None or holds.size <= _MOST_TRUTHS:
            # Keep the condition alive, so that no other object gets its identity.
            self._truths[key] = condition, holds
        return holds

    def _axes_of(self, exprs: Iterable[tirx.Expr]) -> frozenset[int]:
        """Return the loops on which expressions depend."""
        variables = (identity(v) for expr in exprs for v in self.bound.variables_of(expr))
        return frozenset(self.axes[var] for var in variables if var in self.axes)

    def _regular_axes_of(self, exprs: Iterable[tirx.Expr]) -> frozenset[int]:
        """Return the loops on which expressions depend; all of them must have constant extents."""
        axes = self._axes_of(exprs)
        if not axes.isdisjoint(self._extents or {}):
            raise NotLinear
        return axes

    def _known(self, expr: tirx.Expr, axes: frozenset[int]) -> Values:
        """Return the values of a scalar in all iterations of the loops that it depends on, shared
        by nests with the same outer loops."""
        depth = max(axes, default=-1) + 1
        if depth < len(self.loops):
            values = LoopNest.of(self.loops[:depth], self.bound)._known(expr, axes)
            *shape, lanes = values.shape
            return values.reshape([*shape, *[1] * (len(self.loops) - depth), lanes])
        key = identity(expr)
        if key not in self._parts:
            result = known_values(expr, self._defined(axes))
            if result is not None and (result.shape[-1] > 1 or result.size > _MOST_PARTS):
                result = None
            # Keep the expression alive, so that no other object gets its identity.
            self._parts[key] = expr, result
        known = self._parts[key][1]
        if known is None or not known.size:
            raise NotLinear
        return known

    def _defined(self, axes: frozenset[int]) -> Definitions:
        """Return the values of variables in all iterations of some loops."""
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
        """Return a nonlinear expression as a sum of one term."""
        axes = self._regular_axes_of([expr])
        values = self._known(expr, axes)
        least, greatest = int(values.min()), int(values.max())
        if least == greatest:
            return constant_sum(least)
        term = NonlinearTerm(values, axes)
        return Sum(0, {}, {id(term): (term, 1)}, least, greatest)
