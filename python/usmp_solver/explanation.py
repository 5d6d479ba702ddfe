"""Explanations why a problem has no plan, or why none was found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from usmp_solver.buffers import Pool
from usmp_solver.columns import INT64_MAX, column
from usmp_solver.does_not_fit import DoesNotFit, EnoughBytes, RefusingPool, Unplaced
from usmp_solver.library import function, tensors
from usmp_solver.problem import Problem
from usmp_solver.solution import Solution, Status
from usmp_solver.solver import lower_bound

_NO_NUMBER = INT64_MAX
"""The solver's lower bound of an infeasible problem."""


def explain(solution: Solution) -> DoesNotFit:
    """Explain which buffers do not fit, and which limits would suffice.

    The algorithm runs again with other limits, with the default work budget for each pool.

    Raises
    ------
    ValueError
        The solution has a plan.
    """
    if solution.has_plan:
        raise ValueError("there is a plan; nothing is to explain")
    problem = solution.problem
    record = function("explain")(
        tensors(problem.columns()),
        list(problem.names),
        solution.algorithm,
        solution.memory_pressure,
        tensors({"subset": column(solution.infeasible_subset)})["subset"],
        solution.is_irreducible,
    )
    return DoesNotFit(
        algorithm=solution.algorithm,
        buffer=unplaced(problem, int(record["buffer"])),
        pools=tuple(_refusing(problem, pool) for pool in record["pools"]),
        is_proved=solution.status is Status.INFEASIBLE,
        proved=tuple(unplaced(problem, buffer) for buffer in solution.infeasible_subset),
        is_irreducible=solution.is_irreducible,
        fits_without_limits=bool(record["fits_without_limits"]),
        needed=record["needed"],
        alone=_enough(problem, record["alone"]),
        together=_enough(problem, record["together"]),
        lower_bound=_lower_bound(problem, [int(pool["pool"]) for pool in record["pools"]]),
    )


def _lower_bound(problem: Problem, pools: Sequence[int]) -> int | None:
    """Return a lower bound of the total bytes of these pools; None if no number suffices.

    The bound counts only the buffers that no other pool may hold.
    """
    others = np.add.reduceat(~np.isin(problem.candidates, pools), problem.candidate_first[:-1])
    sizes = np.where(others == 0, problem.sizes, 0)
    is_one = len(pools) == 1
    # Bound several pools as one memory, in which their plans are stacked. Then alignments and pins
    # no longer hold.
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
    """Return the buffer in row `number` of the problem."""
    pin = int(problem.fixed_offsets[number])
    return Unplaced(
        number,
        str(problem.names[number]),
        int(problem.sizes[number]),
        int(problem.alignments[number]),
        None if pin < 0 else pin,
    )


def _refusing(problem: Problem, record: Mapping[str, Any]) -> RefusingPool:
    occupant = record["occupant"]
    return RefusingPool(
        problem.pools[record["pool"]],
        record["taken"],
        record["end"],
        None if occupant is None else unplaced(problem, occupant),
        int(record["occupant_offset"]),
    )


def _enough(problem: Problem, limits: Iterable[Mapping[str, Any]]) -> tuple[EnoughBytes, ...]:
    return tuple(
        EnoughBytes(
            problem.pools[limit["pool"]].name, int(limit["bytes"]), bool(limit["is_smallest"])
        )
        for limit in limits
    )
