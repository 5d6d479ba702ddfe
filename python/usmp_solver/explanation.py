"""Why a problem has no plan, or why none was found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from usmp_solver.columns import column
from usmp_solver.does_not_fit import DoesNotFit, EnoughBytes, RefusingPool, Unplaced
from usmp_solver.library import function, tensors
from usmp_solver.problem import Problem
from usmp_solver.solution import Solution, Status


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
    )


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
