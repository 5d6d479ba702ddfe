"""The independent checker of plans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from usmp_solver.columns import Column
from usmp_solver.library import function, tensors
from usmp_solver.problem import Problem

_REASONS = {
    "pool": "is in a pool that is not one of its candidates",
    "negative": "starts before the pool",
    "alignment": "is not aligned to {alignment} bytes",
    "pin": "is pinned to offset {pin}",
    "limit": "ends beyond the limit of the pool",
}


@dataclass(frozen=True)
class Fault:
    """A rule that a plan violates.

    Parameters
    ----------
    reason
        "unplaced", "pool", "negative", "alignment", "pin", "limit", "conflict" or "live".
    first, second
        rows of the buffers; -1 for none.
    time
        first time at which both are live; -1 for other reasons.
    """

    reason: str
    first: int
    second: int
    time: int


def judge(columns: Mapping[str, Column]) -> Fault | None:
    """Return the rule that the plan violates, or None if it is valid.

    The checker (``src/usmp/check_columns.cc``) shares no code with the solvers.

    Parameters
    ----------
    columns
        columns of `Problem`, and `offsets`, `pools` and `candidate_limits`. `candidate_limits` has
        the limit in bytes for each entry of `candidates`; -1 for no limit.
    """
    fault = Fault(*function("check")(tensors(columns)))
    return fault if fault.reason else None


def find_fault(problem: Problem, offsets: Column, pools: Column) -> Fault | None:
    """Return the rule that this plan of the problem violates; see `check_columns`."""
    columns = problem.columns()
    limits = columns["pool_limits"][problem.candidates]
    return judge({**columns, "candidate_limits": limits, "offsets": offsets, "pools": pools})


def check_columns(problem: Problem, offsets: Column, pools: Column) -> None:
    """Check that the plan is valid, independently of the algorithm.

    Parameters
    ----------
    problem
        the problem that was solved.
    offsets
        offset of each buffer in bytes.
    pools
        index in `problem.pools` for each buffer.

    Raises
    ------
    ValueError
        The plan is invalid; the message names the buffers, the pool and the bytes.
    """
    fault = find_fault(problem, offsets, pools)
    if fault is None:
        return
    first = fault.first
    if fault.reason == "unplaced":
        raise ValueError("plan check: not every buffer is placed")
    if fault.reason in _REASONS:
        words = _REASONS[fault.reason].format(
            alignment=problem.alignments[first], pin=problem.fixed_offsets[first]
        )
        raise ValueError(
            f'plan check: buffer "{problem.names[first]}" ({problem.sizes[first]} bytes) at offset '
            f"{offsets[first]} {words}"
        )
    spans = [
        f'"{problem.names[b]}" at bytes [{offsets[b]}, {offsets[b] + problem.sizes[b]})'
        for b in (first, fault.second)
    ]
    why = "they conflict" if fault.reason == "conflict" else "they are live at one time"
    raise ValueError(
        f"plan check: buffers {spans[0]} and {spans[1]} share bytes of pool "
        f'"{problem.pools[pools[first]].name}", but {why}'
    )
