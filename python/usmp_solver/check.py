"""The independent judge of plans."""

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
    """What is wrong with a plan.

    Parameters
    ----------
    reason
        "unplaced", "pool", "negative", "alignment", "pin", "limit", "conflict" or "live".
    first, second
        rows of the buffers; -1 where there is none.
    time
        the first time at which both are live; -1 if that is not the reason.
    """

    reason: str
    first: int
    second: int
    time: int


def judge(columns: Mapping[str, Column]) -> Fault | None:
    """What is wrong with the plan, whatever made it; None if it is sound.

    The judge (``src/usmp/check_columns.cc``) shares no code with the solvers.

    Parameters
    ----------
    columns
        those of `Problem`, and `offsets`, `pools` and `candidate_limits`: by candidate of a
        buffer, the bytes that it may use there, -1 for no limit.
    """
    fault = Fault(*function("check")(tensors(columns)))
    return fault if fault.reason else None


def find_fault(problem: Problem, offsets: Column, pools: Column) -> Fault | None:
    """What is wrong with this plan of the problem; see `check_columns`."""
    columns = problem.columns()
    limits = columns["pool_limits"][problem.candidates]
    return judge({**columns, "candidate_limits": limits, "offsets": offsets, "pools": pools})


def check_columns(problem: Problem, offsets: Column, pools: Column) -> None:
    """Check that the plan is sound, whatever made it.

    Parameters
    ----------
    problem
        what was to be placed.
    offsets
        bytes, by buffer.
    pools
        by buffer, index in `problem.pools`.

    Raises
    ------
    ValueError
        The plan is not sound; the message names the buffers, the pool and the bytes.
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
