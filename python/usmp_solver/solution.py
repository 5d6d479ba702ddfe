"""The result of the solver."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from usmp_solver.columns import Column
from usmp_solver.problem import Problem


class Status(str, Enum):
    """The proof status of a solution."""

    OPTIMAL = "optimal"
    """The plan is proved best."""
    FEASIBLE = "feasible"
    """There is a plan, perhaps not the best."""
    INFEASIBLE = "infeasible"
    """No plan within the limits exists, as proved."""
    UNKNOWN = "unknown"
    """No plan was found within the budget, and infeasibility is not proved."""


@dataclass(frozen=True, eq=False)
class Solution:
    """A checked plan, or the reason why there is none.

    Parameters
    ----------
    problem
        the solved problem.
    algorithm, memory_pressure
        arguments of `solve`.
    status
        proof status.
    offsets
        byte offsets by buffer; empty without a plan.
    pools
        index in `problem.pools` by buffer; empty without a plan.
    peaks
        highest end of a buffer in each pool, in bytes, by name.
    lower_bounds
        proved lower bound of each pool's peak, in bytes, among plans in which no less preferred
        pool has a higher peak than in `peaks`.
    infeasible_subset
        without a plan, rows of buffers that do not fit together; empty if none are known.
    is_irreducible
        whether removing any one buffer of the subset makes the rest fit.
    work
        steps of the solver.
    """

    problem: Problem
    algorithm: str
    memory_pressure: int | None
    status: Status
    offsets: Column
    pools: Column
    peaks: dict[str, int]
    lower_bounds: dict[str, int]
    infeasible_subset: tuple[int, ...]
    is_irreducible: bool
    work: int

    @property
    def has_plan(self) -> bool:
        """Whether the buffers are placed."""
        return self.status in (Status.OPTIMAL, Status.FEASIBLE)

    @property
    def is_optimal(self) -> bool:
        """Whether the plan is proved best."""
        return self.status is Status.OPTIMAL

    @property
    def peak(self) -> int:
        """The peak in bytes, summed over the pools."""
        return sum(self.peaks.values())

    @property
    def lower_bound(self) -> int:
        """The sum of the lower bounds, in bytes."""
        return sum(self.lower_bounds.values())

    @property
    def places(self) -> dict[str, tuple[str, int]]:
        """The pool name and byte offset of each buffer, by name."""
        pools = [pool.name for pool in self.problem.pools]
        numbers = zip(self.pools.tolist(), self.offsets.tolist(), strict=True)
        named = zip(self.problem.names, numbers, strict=False)
        return {name: (pools[pool], offset) for name, (pool, offset) in named}

    @property
    def infeasible_names(self) -> tuple[str, ...]:
        """The names of the buffers in the infeasible subset."""
        return tuple(self.problem.names[buffer] for buffer in self.infeasible_subset)
