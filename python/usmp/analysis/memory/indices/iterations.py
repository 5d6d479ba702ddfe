"""Iterations of loops, represented as axes of arrays."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from tvm import tirx

from usmp.analysis.memory.indices.index_values import (
    MOST_VALUES,
    Definitions,
    Truth,
    Values,
    both,
    fits,
    known_values,
)
from usmp.tir.identity import identity


@dataclass(frozen=True, eq=False)
class TracedLoop:
    """A loop around accesses to memory.

    Parameters
    ----------
    variable, first, extent
        fields of the `For`; None where they are unknown.
    step
        difference between consecutive values of the variable.
    trips
        largest number of iterations; None if unknown.
    is_ordered
        whether iterations run one after the other, in the order of the variable.
    """

    variable: tirx.Var | None = None
    first: tirx.Expr | None = None
    extent: tirx.Expr | None = None
    step: int = 1
    trips: int | None = None
    is_ordered: bool = False


def trace_loop(
    stmt: tirx.For, around: Sequence[TracedLoop], bound: Mapping[tirx.Var, tirx.Expr]
) -> TracedLoop:
    """Return the traced loop of a `For` inside of the loops `around`."""
    step = 1 if stmt.step is None else stmt.step
    if not isinstance(step, int | tirx.IntImm) or int(step) < 1:
        return TracedLoop()
    extent = _greatest(stmt.extent, stmt.min, around, bound)
    if extent is None:
        return TracedLoop()
    trips = -(-extent // int(step))
    is_ordered = stmt.kind in (tirx.ForKind.SERIAL, tirx.ForKind.UNROLLED)
    return TracedLoop(stmt.loop_var, stmt.min, stmt.extent, int(step), trips, is_ordered)


def _greatest(
    extent: tirx.Expr,
    first: tirx.Expr,
    around: Sequence[TracedLoop],
    bound: Mapping[tirx.Var, tirx.Expr],
) -> int | None:
    """Return the largest extent of a loop; None if the extent or the first value is unknown."""
    # Constants, the common case, need no evaluation of outer loops.
    is_constant = isinstance(extent, tirx.IntImm) and isinstance(first, tirx.IntImm)
    loops = () if is_constant else around
    definitions, _ = definitions_in(loops, bound, _all_iterations(loops))
    extents, begins = (known_values(expr, definitions) for expr in (extent, first))
    return None if extents is None or begins is None else int(extents.max(initial=0))


def _all_iterations(loops: Sequence[TracedLoop]) -> dict[int, Values]:
    trips = {axis: loop.trips for axis, loop in enumerate(loops)}
    return {axis: np.arange(n) for axis, n in trips.items() if n is not None and n <= MOST_VALUES}


def definitions_in(
    loops: Sequence[TracedLoop],
    bound: Mapping[tirx.Var, tirx.Expr],
    iterations: Mapping[int, Values],
    ends: Collection[int] = (),
) -> tuple[Definitions, Truth | None]:
    """Return the values of variables in some iterations of `loops`.

    Parameters
    ----------
    loops
        loops, outermost first; the n-th loop has the n-th axis. The last axis is that of lanes.
    iterations
        indices of iterations, from 0, by axis. A loop variable is unknown if its axis is missing,
        if two loops have it, or if its first value is unknown.
    ends
        axes whose `iterations` are the first and the last possible one. Where the extent is
        smaller, the last existing iteration replaces the last possible one.

    Returns
    -------
    tuple[Definitions, Truth | None]
        The definitions, and where the iterations exist (None means everywhere).
    """
    axes = len(loops) + 1
    values: dict[int, Values] = {}
    definitions = Definitions(axes, values, bound)
    exist: Truth | None = None
    variables = [identity(loop.variable) for loop in loops]
    for axis, loop in enumerate(loops):
        if loop.variable is None or loop.first is None or loop.extent is None:
            continue
        if axis not in iterations:
            continue
        shape = [1] * axes
        shape[axis] = -1
        steps = iterations[axis].reshape(shape) * loop.step
        first = known_values(loop.first, definitions)
        if first is None or not fits(first, steps) or variables.count(variables[axis]) > 1:
            continue
        if not isinstance(loop.extent, tirx.IntImm):
            extent = known_values(loop.extent, definitions)
            if extent is not None and fits(extent, steps):
                if axis in ends:
                    steps = np.minimum(steps, np.maximum(extent - 1, 0) // loop.step * loop.step)
                exist = both(exist, steps < extent)
        if fits(first, steps):
            values[variables[axis]] = first + steps
    return definitions, exist
