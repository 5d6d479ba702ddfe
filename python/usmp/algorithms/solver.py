"""The one way to the solver: BufferInfos in, offsets out, by any of the built-in algorithms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from usmp.algorithms.does_not_fit import DoesNotFitError
from usmp.objects import BufferInfo, PoolAllocation, PoolInfo
from usmp.objects.buffer_problem import problem_of
from usmp_solver import DoesNotFit, Pool, Progress, RefusingPool, Solution, Unplaced, explain, solve

_INT64_MAX = (1 << 63) - 1


def solve_buffers(
    buffers: Sequence[BufferInfo],
    algorithm: str,
    *,
    memory_pressure: int | None = None,
    time_budget: float | None = None,
    progress: Callable[[Progress], bool | None] | None = None,
) -> Solution:
    """Place the buffers, at least one; see `usmp_solver.solve`.

    What fits goes to the pools that it prefers.

    Raises
    ------
    DoesNotFitError
        The buffers do not fit, or no plan was found.
    ValueError
        The buffers are no problem; see `problem_of`.
    """
    try:
        problem = problem_of(buffers)
    except ValueError:
        for number, buffer in enumerate(buffers):
            if buffer.fixed_offset is not None and _ends_beyond_64_bits(buffer):
                raise DoesNotFitError(_beyond_64_bits(number, buffer, algorithm)) from None
        raise
    solution = solve(
        problem,
        algorithm=algorithm,
        time_budget=time_budget,
        progress=progress,
        memory_pressure=memory_pressure,
        fill_preferred=True,
    )
    if not solution.has_plan:
        raise DoesNotFitError(partial(explain, solution), solution)
    return solution


def allocations_of(
    buffers: Sequence[BufferInfo], solution: Solution
) -> dict[BufferInfo, PoolAllocation]:
    """Pool and offset of each buffer, in the order of the buffers."""
    pools: dict[str, PoolInfo] = {}
    for buffer in buffers:
        for pool in buffer.pool_candidates:
            pools.setdefault(str(pool.pool_name), pool)
    infos = [pools[pool.name] for pool in solution.problem.pools]
    numbers = zip(solution.pools.tolist(), solution.offsets.tolist(), strict=True)
    return {
        buffer: PoolAllocation(infos[pool], offset)
        for buffer, (pool, offset) in zip(buffers, numbers, strict=True)
    }


def _ends_beyond_64_bits(buffer: BufferInfo) -> bool:
    return int(buffer.fixed_offset or 0) > _INT64_MAX - int(buffer.size_bytes)


def _beyond_64_bits(number: int, buffer: BufferInfo, algorithm: str) -> DoesNotFit:
    """Why a buffer that is pinned beyond the largest offset cannot be placed."""
    pin = Unplaced(
        number,
        str(buffer.name_hint),
        int(buffer.size_bytes),
        int(buffer.alignment),
        int(buffer.fixed_offset or 0),
    )
    limits = {str(pool.pool_name): int(pool.size_hint_bytes) for pool in buffer.pool_candidates}
    pools = [Pool(name, None if limit < 0 else limit) for name, limit in limits.items()]
    return DoesNotFit(
        algorithm,
        pin,
        tuple(RefusingPool(pool, taken=0) for pool in pools),
        is_proved=True,
        proved=(pin,),
        fits_without_limits=False,
    )
