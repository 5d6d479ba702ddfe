"""What the solver found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from usmp_solver.columns import Column
from usmp_solver.problem import Problem


class Status(str, Enum):
    """What is proved of a solution."""

    OPTIMAL = "optimal"
    """No plan is better."""
    FEASIBLE = "feasible"
    """A plan, perhaps not the best."""
    INFEASIBLE = "infeasible"
    """There is no plan within the limits."""
    UNKNOWN = "unknown"
    """No plan was found within the budget, and no proof that there is none."""


@dataclass(frozen=True, eq=False)
class Solution:
    """A plan that was checked, or why there is none.

    Parameters
    ----------
    problem
        that it solves.
    algorithm, memory_pressure
        what `solve` was asked.
    status
        what is proved of it.
    offsets
        bytes, by buffer; empty if there is no plan.
    pools
        by buffer, index of the pool in `problem.pools`; empty if there is no plan.
    peaks
        highest end of a buffer in each pool, in bytes, by name.
    lower_bounds
        proved for the peak of each pool, in bytes, given that no less preferred pool has
        a higher peak than here.
    infeasible_subset
        where there is no plan, buffers that do not fit together.
    is_irreducible
        without any one of them, the others of the subset fit.
    work
        steps that the solver took.
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
        """Whether the buffers were placed."""
        return self.status in (Status.OPTIMAL, Status.FEASIBLE)

    @property
    def is_optimal(self) -> bool:
        """Whether no plan is better; True only if that is proved."""
        return self.status is Status.OPTIMAL

    @property
    def peak(self) -> int:
        """Bytes that the plan takes: the peak, or the sum of the peaks of several pools."""
        return sum(self.peaks.values())

    @property
    def lower_bound(self) -> int:
        """The sum of the lower bounds."""
        return sum(self.lower_bounds.values())

    @property
    def places(self) -> dict[str, tuple[str, int]]:
        """Name of each buffer to name of its pool and byte offset."""
        pools = [pool.name for pool in self.problem.pools]
        numbers = zip(self.pools.tolist(), self.offsets.tolist(), strict=True)
        named = zip(self.problem.names, numbers, strict=False)
        return {name: (pools[pool], offset) for name, (pool, offset) in named}

    @property
    def infeasible_names(self) -> tuple[str, ...]:
        """Names of the infeasible subset."""
        return tuple(self.problem.names[buffer] for buffer in self.infeasible_subset)
