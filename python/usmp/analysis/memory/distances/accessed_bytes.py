"""The bytes that an access touches in each iteration of the loops around it."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from math import prod

import numpy as np
from tvm import tirx

from usmp.analysis.memory.indices.index_values import (
    MOST_VALUES,
    Bindings,
    NotKnown,
    Truth,
    Values,
    both,
    fits,
    known_values,
    may_be,
    without_lanes,
)
from usmp.analysis.memory.indices.iterations import TracedLoop, definitions_in
from usmp.analysis.memory.indices.linear_addresses import LoopNest
from usmp.analysis.memory.indices.linear_sums import NotLinear
from usmp.analysis.memory.indices.monotonicity import Monotonicity, monotonicity_of
from usmp.analysis.memory.memories import UNBOUNDED, Term
from usmp.analysis.memory.traced_access import TracedAccess
from usmp.analysis.memory.walk.events import Condition
from usmp.tir.identity import identity

_MOST_KEPT = 1 << 14
"""Most iterations of a nest for which `_Iterations` is cached."""


def accessed_bytes(access: TracedAccess, bound: Bindings, common: int) -> tuple[Values, Values]:
    """Return first byte and end of an access in each iteration of the `common` outermost loops.

    The first byte is the minimum, and the end the maximum, over all iterations of the inner loops.

    Parameters
    ----------
    bound
        variables of `Bind` and `Let`, with their values.
    common
        number of outermost loops, all of which have known bounds.

    Returns
    -------
    tuple[Values, Values]
        Arrays of `common` axes, with one element along axes where nothing changes. The first byte
        is `UNBOUNDED`, and the end `-UNBOUNDED`, where the access does not happen.

    Raises
    ------
    NotKnown
        the bytes are unknown, or have too many values.
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
    """Return the smallest and the largest address in each iteration of the `common` outermost
    loops, and the iterations with an access."""
    try:
        return LoopNest.of(loops, bound).ends(terms, conditions, common)
    except NotLinear:
        pass
    try:
        offsets, happens = _Address(terms, conditions, loops, bound, common).values()
    except NotKnown:
        # Ignore the conditions: this is conservative, and needs fewer iterations.
        offsets, happens = _Address(terms, (), loops, bound, common).values()
    inner = tuple(range(common, offsets.ndim))
    if happens is None:
        return offsets.min(axis=inner), offsets.max(axis=inner), None
    least = np.where(happens, offsets, UNBOUNDED).min(axis=inner)
    greatest = np.where(happens, offsets, -UNBOUNDED).max(axis=inner)
    return least, greatest, np.asarray(happens.any(axis=inner))


def greatest_difference(a: TracedAccess, b: TracedAccess, bound: Bindings) -> int:
    """Return the largest difference in bytes, address of `a` minus address of `b`, in any run of
    their common statement.

    Raises
    ------
    NotKnown
        the addresses are unknown.
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
    """The values of an address in the iterations that can have its smallest or largest value."""

    def __init__(
        self,
        terms: Sequence[Term],
        conditions: Sequence[Condition],
        loops: tuple[TracedLoop, ...],
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
        self.of_bounds = bound.found.once(
            ("bounds", loops), lambda: [_variables_of_bounds(loop, bound) for loop in loops]
        )

    def values(self) -> tuple[Values, Truth | None]:
        """Return the sum of the terms, and the iterations where the access may happen."""
        try:
            return self._values()
        except RecursionError:
            raise NotKnown from None

    def _values(self) -> tuple[Values, Truth | None]:
        iterations = _Iterations.of(self.loops, self.bound, self._kinds())
        offsets = np.zeros((1,) * iterations.definitions.axes, np.int64)
        for index, unit in zip(self.indices, self.units, strict=True):
            values = known_values(index, iterations.definitions)
            if values is None or not fits(offsets, values):
                raise NotKnown
            offsets = offsets + (values if unit == 1 else values * unit)
        happens = iterations.where(self.conditions)
        if happens is not None and not fits(offsets, happens):
            raise NotKnown
        return offsets, happens

    def _kinds(self) -> tuple[_Kind, ...]:
        """Return the iterations to evaluate, by loop."""
        needed = self._needed()
        kinds = []
        for axis, loop in enumerate(self.loops):
            if axis not in needed or loop.trips is None:
                # Any one iteration will do, because nothing depends on this loop.
                kinds.append(_Kind.ONE)
            elif axis >= self.common and self._ends_tell(axis):
                kinds.append(_Kind.ENDS)
            else:
                kinds.append(_Kind.ALL if loop.trips <= MOST_VALUES else _Kind.UNKNOWN)
        return tuple(kinds)

    def _needed(self) -> set[int]:
        """Return the loops on which the address or the conditions of the access depend."""
        variables = set[tirx.Var]().union(*self.of_indices, *self.of_conditions)
        needed: set[int] = set()
        for axis in reversed(range(len(self.loops))):
            loop = self.loops[axis]
            if loop.variable in variables:
                needed.add(axis)
                variables |= self.of_bounds[axis]
            elif loop.extent is not None:
                # The loop may have no iterations, so its extent decides whether the access happens.
                variables |= self.bound.variables_of(loop.extent)
        return needed

    def _ends_tell(self, axis: int) -> bool:
        """Return whether the first and last iteration of a loop have the extreme addresses."""
        variable = self.loops[axis].variable
        if variable is None:
            return False
        if any(variable in variables for variables in (*self.of_conditions, *self.of_bounds)):
            return False
        known: dict[tirx.Var, Monotonicity] = {}
        monotonicities = [
            monotonicity_of(index, variable, self.bound, known) for index in self.indices
        ]
        changing = [
            monotonicity for monotonicity in monotonicities if monotonicity != Monotonicity.CONSTANT
        ]
        return changing in ([], [Monotonicity.MONOTONE]) or {*changing} == {Monotonicity.LINEAR}


def _variables_of_bounds(loop: TracedLoop, bound: Bindings) -> set[tirx.Var]:
    """Return the variables in the first value and the extent of a loop."""
    bounds = [expr for expr in (loop.first, loop.extent) if expr is not None]
    return set[tirx.Var]().union(*(bound.variables_of(expr) for expr in bounds))


class _Kind(Enum):
    """The iterations of a loop that are evaluated.

    `ONE` iteration is enough where nothing depends on the loop. `ENDS` are the first and the last
    one. The variable of an `UNKNOWN` loop has no known value.
    """

    ONE = 0
    ENDS = 1
    ALL = 2
    UNKNOWN = 3


class _Iterations:
    """The evaluated iterations of a loop nest, with values of variables and truth of conditions."""

    def __init__(
        self, loops: tuple[TracedLoop, ...], bound: Bindings, kinds: tuple[_Kind, ...]
    ) -> None:
        evaluated: dict[int, Values] = {}
        for axis, (loop, kind) in enumerate(zip(loops, kinds, strict=True)):
            if kind == _Kind.ONE:
                evaluated[axis] = np.zeros(1, np.int64)
            elif kind != _Kind.UNKNOWN and loop.trips is not None:
                ends = [0, loop.trips - 1]
                evaluated[axis] = np.arange(loop.trips) if kind == _Kind.ALL else np.unique(ends)
        self.count = prod(values.size for values in evaluated.values())
        at_ends = [axis for axis, kind in enumerate(kinds) if kind == _Kind.ENDS]
        self.definitions, self._exist = definitions_in(loops, bound, evaluated, at_ends)
        self._where: dict[tuple[tuple[int, bool], ...], tuple[Sequence[Condition], Truth | None]]
        self._where = {}

    @classmethod
    def of(
        cls, loops: tuple[TracedLoop, ...], bound: Bindings, kinds: tuple[_Kind, ...]
    ) -> _Iterations:
        """Return the evaluated iterations of a nest, cached if few: most accesses share them."""
        key = "iterations", loops, kinds
        iterations: _Iterations = bound.found.get(key) or cls(loops, bound, kinds)
        if iterations.count <= _MOST_KEPT:
            bound.found[key] = iterations
        return iterations

    def where(self, conditions: Sequence[Condition]) -> Truth | None:
        """Return the iterations where all conditions may hold in some lane; None means all."""
        key = tuple((identity(condition), truth) for condition, truth in conditions)
        if key not in self._where:
            happens = self._exist
            for condition, truth in conditions:
                may_hold = may_be(condition, truth, self.definitions)
                happens = both(happens, None if may_hold is None else without_lanes(may_hold))
            # Keep the conditions alive, so that no other objects get their identities.
            self._where[key] = conditions, happens
        return self._where[key][1]
