"""Which bytes does an access touch in each iteration of the loops around it?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tvm import tirx

from usmp.analysis.memory.events import Condition
from usmp.analysis.memory.index_values import (
    MOST_VALUES,
    Bindings,
    Definitions,
    NotKnown,
    Truth,
    Values,
    both,
    fits,
    known_values,
    may_be,
    without_lanes,
)
from usmp.analysis.memory.iterations import TracedLoop, definitions_in
from usmp.analysis.memory.linear_addresses import LoopNest
from usmp.analysis.memory.linear_sums import NotLinear
from usmp.analysis.memory.memories import UNBOUNDED, Term
from usmp.analysis.memory.monotonicity import Monotonicity, monotonicity_of
from usmp.analysis.memory.traced_access import TracedAccess


def accessed_bytes(access: TracedAccess, bound: Bindings, common: int) -> tuple[Values, Values]:
    """The first byte and the end of what an access touches in each iteration of the `common`
    outermost loops around it, over all iterations of the others.

    Parameters
    ----------
    bound
        variables of `Bind` and `Let`, with what they are bound to.
    common
        only loops of known bounds are among them.

    Returns
    -------
    tuple[Values, Values]
        Arrays of `common` axes, which have one element where nothing changes. The first byte is
        `UNBOUNDED`, and the end `-UNBOUNDED`, where the access does not happen.

    Raises
    ------
    NotKnown
        the bytes are not known, or are too many different ones.
    """
    loops = access.statement.loops
    if access.address.terms is None:
        raise NotKnown
    if any(loop.trips == 0 for loop in loops):
        never = np.full((1,) * common, UNBOUNDED)
        return never, -never
    first, last, happens = _ends(access.address.terms, access.conditions, loops, bound, common)
    first, end = first + access.first, last + access.end
    if happens is not None:
        if not fits(first, happens):
            raise NotKnown
        first = np.where(happens, first, UNBOUNDED)
        end = np.where(happens, end, -UNBOUNDED)
    return first, end


def _ends(
    terms: tuple[Term, ...],
    conditions: Sequence[Condition],
    loops: tuple[TracedLoop, ...],
    bound: Bindings,
    common: int,
) -> tuple[Values, Values, Truth | None]:
    """The least and the greatest address in each iteration of the `common` outermost loops, and
    where the access happens."""
    try:
        return LoopNest.of(loops, bound).ends(terms, conditions, common)
    except NotLinear:
        pass
    try:
        offsets, happens = _Address(terms, conditions, loops, bound, common).values()
    except NotKnown:
        # Without conditions it may happen more often, and fewer iterations need to be looked at.
        offsets, happens = _Address(terms, (), loops, bound, common).values()
    inner = tuple(range(common, offsets.ndim))
    if happens is None:
        return offsets.min(axis=inner), offsets.max(axis=inner), None
    least = np.where(happens, offsets, UNBOUNDED).min(axis=inner)
    greatest = np.where(happens, offsets, -UNBOUNDED).max(axis=inner)
    return least, greatest, np.asarray(happens.any(axis=inner))


def greatest_difference(a: TracedAccess, b: TracedAccess, bound: Bindings) -> int:
    """By how many bytes the address of `a` is at most above that of `b`, of one statement, in any
    of its runs.

    Raises
    ------
    NotKnown
        the addresses are not known.
    """
    if a.address.terms is None or b.address.terms is None:
        raise NotKnown
    terms = [*a.address.terms, *(Term(t.index, -t.unit_bytes) for t in b.address.terms)]
    try:
        return LoopNest.of(a.statement.loops, bound).greatest(terms)
    except NotLinear:
        pass
    offsets, _ = _Address(terms, a.conditions, a.statement.loops, bound, 0).values()
    return int(offsets.max(initial=-UNBOUNDED))


class _Address:
    """The values of an address in those iterations that can be its first or last ones."""

    def __init__(
        self,
        terms: Sequence[Term],
        conditions: Sequence[Condition],
        loops: Sequence[TracedLoop],
        bound: Bindings,
        common: int,
    ) -> None:
        self.indices = [term.index for term in terms]
        self.units = [term.unit_bytes for term in terms]
        self.conditions = conditions
        self.loops = loops
        self.bound = bound
        self.common = common
        self.of_indices = [bound.variables_of(index) for index in self.indices]
        self.of_conditions = [bound.variables_of(condition) for condition, _ in conditions]

    def values(self) -> tuple[Values, Truth | None]:
        """The sum of the terms, and where the access may happen."""
        try:
            return self._values()
        except RecursionError:
            raise NotKnown from None

    def _values(self) -> tuple[Values, Truth | None]:
        definitions, happens = definitions_in(self.loops, self.bound, self._iterations())
        offsets = np.zeros((1,) * definitions.axes, np.int64)
        for index, unit in zip(self.indices, self.units, strict=True):
            values = known_values(index, definitions)
            if values is None or not fits(offsets, values):
                raise NotKnown
            offsets = offsets + values * unit
        for condition, truth in self.conditions:
            happens = both(happens, _may_hold(condition, truth, definitions))
        if happens is not None and not fits(offsets, happens):
            raise NotKnown
        return offsets, happens

    def _iterations(self) -> dict[int, Values]:
        """Of each loop that matters: all of them, or the first and the last where these suffice."""
        needed = self._needed()
        iterations: dict[int, Values] = {}
        for axis, loop in enumerate(self.loops):
            if axis not in needed or loop.trips is None:
                # Whatever its value is, nothing depends on it.
                iterations[axis] = np.zeros(1, np.int64)
            elif axis >= self.common and self._ends_tell(axis):
                iterations[axis] = np.unique([0, loop.trips - 1])
            elif loop.trips <= MOST_VALUES:
                iterations[axis] = np.arange(loop.trips)
        return iterations

    def _needed(self) -> set[int]:
        """The loops on which depends where the access is, or whether it happens."""
        variables = set[tirx.Var]().union(*self.of_indices, *self.of_conditions)
        needed: set[int] = set()
        for axis in reversed(range(len(self.loops))):
            loop = self.loops[axis]
            if loop.variable in variables:
                needed.add(axis)
                variables |= self._of_bounds(loop)
            elif loop.extent is not None:
                # It may not run at all.
                variables |= self.bound.variables_of(loop.extent)
        return needed

    def _ends_tell(self, axis: int) -> bool:
        """Whether the least and greatest addresses are those of the first and last iteration."""
        loop = self.loops[axis]
        if loop.variable is None or not isinstance(loop.extent, tirx.IntImm):
            return False
        guards = [*self.of_conditions, *map(self._of_bounds, self.loops)]
        if any(loop.variable in variables for variables in guards):
            return False
        found: dict[tirx.Var, Monotonicity] = {}
        monotonicities = [
            monotonicity_of(index, loop.variable, self.bound, found) for index in self.indices
        ]
        changing = [
            monotonicity for monotonicity in monotonicities if monotonicity != Monotonicity.CONSTANT
        ]
        return changing in ([], [Monotonicity.MONOTONE]) or {*changing} == {Monotonicity.LINEAR}

    def _of_bounds(self, loop: TracedLoop) -> set[tirx.Var]:
        """The variables that say where a loop begins and how often it runs."""
        bounds = [expr for expr in (loop.first, loop.extent) if expr is not None]
        return set[tirx.Var]().union(*(self.bound.variables_of(expr) for expr in bounds))


def _may_hold(condition: tirx.Expr, truth: bool, definitions: Definitions) -> Truth | None:
    """Where a condition may hold in any lane."""
    may_hold = may_be(condition, truth, definitions)
    return None if may_hold is None else without_lanes(may_hold)
