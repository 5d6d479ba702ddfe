"""Why a problem has no plan, or why none was found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from usmp_solver.buffers import Pool
from usmp_solver.columns import column
from usmp_solver.does_not_fit import DoesNotFit, EnoughBytes, RefusingPool, Unplaced
from usmp_solver.library import function, tensors
from usmp_solver.problem import Problem
from usmp_solver.solution import Solution, Status
from usmp_solver.solver import lower_bound

_NO_NUMBER = (1 << 63) - 1
"""The solver's lower bound of what cannot be placed."""


def explain(solution: Solution) -> DoesNotFit:
    """What does not fit, and which limits would do.

    The algorithm is run again with other limits, for as long as a search of the usual work takes
    for each pool.

    Raises
    ------
    ValueError
        The solution has a plan.
    """
    if solution.has_plan:
        raise ValueError("there is a plan; nothing is to explain")
    problem = solution.problem
    found = function("explain")(
        tensors(problem.columns()),
        list(problem.names),
        solution.algorithm,
        solution.memory_pressure,
        tensors({"subset": column(solution.infeasible_subset)})["subset"],
        solution.is_irreducible,
    )
    return DoesNotFit(
        algorithm=solution.algorithm,
        buffer=unplaced(problem, int(found["buffer"])),
        pools=tuple(_refusing(problem, each) for each in found["pools"]),
        is_proved=solution.status is Status.INFEASIBLE,
        proved=tuple(unplaced(problem, buffer) for buffer in solution.infeasible_subset),
        is_irreducible=solution.is_irreducible,
        fits_without_limits=bool(found["fits_without_limits"]),
        needed=found["needed"],
        alone=_enough(problem, found["alone"]),
        together=_enough(problem, found["together"]),
        lower_bound=_lower_bound(problem, [int(each["pool"]) for each in found["pools"]]),
    )


def _lower_bound(problem: Problem, pools: Sequence[int]) -> int | None:
    """Return the bytes that these pools in all need at least for the buffers that no other pool
    may hold; None if no number of bytes is enough."""
    others = np.add.reduceat(~np.isin(problem.candidates, pools), problem.candidate_first[:-1])
    sizes = np.where(others == 0, problem.sizes, 0)
    is_one = len(pools) == 1
    # Several pools can lie in one memory, one after the other, but for alignments and pins.
    alone = Problem(
        names=problem.names,
        pools=(Pool("all"),),
        sizes=sizes,
        live_first=problem.live_first,
        live_starts=problem.live_starts,
        live_stops=problem.live_stops,
        alignments=problem.alignments if is_one else None,  # type: ignore[arg-type]
        fixed_offsets=problem.fixed_offsets if is_one else None,  # type: ignore[arg-type]
        conflict_firsts=problem.conflict_firsts,
        conflict_seconds=problem.conflict_seconds,
        overlap_outputs=problem.overlap_outputs,
        overlap_inputs=problem.overlap_inputs,
        overlap_distances=np.minimum(problem.overlap_distances, sizes[problem.overlap_outputs]),
    )
    bound = lower_bound(alone)
    return bound if bound < _NO_NUMBER else None


def unplaced(problem: Problem, number: int) -> Unplaced:
    """The buffer of that row."""
    pin = int(problem.fixed_offsets[number])
    return Unplaced(
        number,
        str(problem.names[number]),
        int(problem.sizes[number]),
        int(problem.alignments[number]),
        None if pin < 0 else pin,
    )


def _refusing(problem: Problem, found: Mapping[str, Any]) -> RefusingPool:
    occupant = found["occupant"]
    return RefusingPool(
        problem.pools[found["pool"]],
        found["taken"],
        found["end"],
        None if occupant is None else unplaced(problem, occupant),
        int(found["occupant_offset"]),
    )


def _enough(problem: Problem, found: Iterable[Mapping[str, Any]]) -> tuple[EnoughBytes, ...]:
    return tuple(
        EnoughBytes(problem.pools[each["pool"]].name, int(each["bytes"]), bool(each["is_smallest"]))
        for each in found
    )
