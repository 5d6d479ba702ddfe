"""The one way to the solver: BufferInfos in, offsets out, by any of the built-in algorithms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from usmp.algorithms.does_not_fit import DoesNotFitError
from usmp.objects import BufferInfo, PoolAllocation, PoolInfo
from usmp.objects.buffer_problem import problem_of
from usmp.objects.pool_places import skipped_bytes
from usmp_solver import (
    DoesNotFit,
    EnoughBytes,
    Pool,
    Progress,
    RefusingPool,
    Solution,
    Unplaced,
    explain,
    solve,
)

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
        raise DoesNotFitError(partial(_explained, solution, _skipped(buffers)), solution)
    return solution


def _skipped(buffers: Sequence[BufferInfo]) -> dict[str, int]:
    """Name of a pool to the bytes of its size hint that no plan can use, if there are some."""
    alignments: dict[PoolInfo, int] = {}
    for buffer in buffers:
        for pool in buffer.pool_candidates:
            if pool.pool_offset or pool.address > 0:
                alignments[pool] = max(alignments.get(pool, 1), int(buffer.alignment))
    skipped = {str(pool.pool_name): skipped_bytes(pool, n) for pool, n in alignments.items()}
    return {name: size for name, size in skipped.items() if size}


def _explained(solution: Solution, skipped: Mapping[str, int]) -> DoesNotFit:
    """Why there is no plan, with size hints that are enough."""
    misfit = explain(solution)
    if not skipped:
        return misfit

    def hints(enough: tuple[EnoughBytes, ...]) -> tuple[EnoughBytes, ...]:
        return tuple(replace(one, bytes=one.bytes + skipped.get(one.pool, 0)) for one in enough)

    def hinted(pool: RefusingPool) -> RefusingPool:
        limit, size = pool.pool.limit, skipped.get(pool.pool.name, 0)
        return replace(pool, pool=replace(pool.pool, limit=None if limit is None else limit + size))

    total = sum(skipped.get(each.pool.name, 0) for each in misfit.pools)
    return replace(
        misfit,
        pools=tuple(map(hinted, misfit.pools)),
        needed=misfit.needed and misfit.needed + total,
        alone=hints(misfit.alone),
        together=hints(misfit.together),
        lower_bound=misfit.lower_bound and misfit.lower_bound + total,
    )


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
