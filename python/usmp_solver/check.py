"""The independent judge of a plan in columns."""

from __future__ import annotations

import numpy as np
from tvm_ffi import from_dlpack, get_global_func

from usmp_solver.library import LIBRARY as _LIBRARY  # noqa: F401
from usmp_solver.problem import Column, Problem

_check = get_global_func("usmp_solver.check")

_REASONS = {
    "pool": "is in a pool that is not one of its candidates",
    "negative": "starts before the pool",
    "alignment": "is not aligned to {alignment} bytes",
    "pin": "is pinned to offset {pin}",
    "limit": "ends beyond the limit of the pool",
}


def find_fault(problem: Problem, offsets: Column, pools: Column) -> tuple[str, int, int]:
    """A key of what is wrong, and the buffers; an empty key if the plan is sound."""
    columns = {**problem.columns(), "offsets": offsets, "pools": pools}
    given = {name: from_dlpack(np.ascontiguousarray(values)) for name, values in columns.items()}
    reason, first, second = _check(given)
    return str(reason), int(first), int(second)


def check_columns(problem: Problem, offsets: Column, pools: Column) -> None:
    """Return if the plan is sound, whoever made it: the rule of `usmp.analysis.check_plan`.

    The check (``src/usmp/check_columns.cc``) shares no code with the solvers.

    Parameters
    ----------
    problem: what was to be placed.
    offsets: bytes, by buffer.
    pools: by buffer, index in `problem.pools`.

    Raises
    ------
    ValueError
        The plan is not sound; the message names the buffers, the pool and the bytes.
    """
    reason, first, second = find_fault(problem, offsets, pools)
    if not reason:
        return
    if reason == "unplaced":
        raise ValueError("plan check: not every buffer has a place")
    if reason in _REASONS:
        words = _REASONS[reason].format(
            alignment=problem.alignments[first], pin=problem.fixed_offsets[first]
        )
        raise ValueError(
            f'plan check: buffer "{problem.names[first]}" ({problem.sizes[first]} bytes) at offset '
            f"{offsets[first]} {words}"
        )
    spans = [
        f'"{problem.names[b]}" at bytes [{offsets[b]}, {offsets[b] + problem.sizes[b]})'
        for b in (first, second)
    ]
    why = "they conflict" if reason == "conflict" else "they are live at one time"
    raise ValueError(
        f"plan check: buffers {spans[0]} and {spans[1]} share bytes of pool "
        f'"{problem.pools[pools[first]].name}", but {why}'
    )
