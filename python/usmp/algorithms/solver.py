"""The interface to the solver: BufferInfos in, offsets out, by any built-in algorithm."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from usmp.algorithms.does_not_fit import DoesNotFitError
from usmp.algorithms.solved_problems import solve_once
from usmp.objects import BufferInfo, PoolAllocation, PoolInfo
from usmp.objects.buffer_problem import problem_of, skipped_by_pool
from usmp_solver import (
    SEARCHES,
    DoesNotFit,
    EnoughBytes,
    Pool,
    Problem,
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
    """Place one or more buffers; see `usmp_solver.solve`.

    Buffers go to the pools that they prefer while these have space (`fill_preferred`).

    Raises
    ------
    DoesNotFitError
        The buffers do not fit, or no plan was found.
    ValueError
        The buffers are inconsistent; see `problem_of`.
    """
    try:
        problem = problem_of(buffers)
    except ValueError:
        for number, buffer in enumerate(buffers):
            if buffer.fixed_offset is not None and _ends_beyond_64_bits(buffer):
                raise DoesNotFitError(_beyond_64_bits(number, buffer, algorithm)) from None
        raise
    if algorithm in SEARCHES and time_budget is None:
        solution = solve_once(problem, algorithm, progress)
    else:
        solution = solve(
            problem,
            algorithm=algorithm,
            time_budget=time_budget,
            progress=progress,
            memory_pressure=memory_pressure,
            fill_preferred=True,
        )
    if not solution.has_plan:
        infos = _pools_of(buffers, problem)
        raise DoesNotFitError(partial(_explained, solution, _Hints.of(infos, problem)), solution)
    return solution


@dataclass(frozen=True)
class _Hints:
    """The size hints of pools, and the bytes before offset 0, which no plan uses.

    Parameters
    ----------
    sizes
        size hint in bytes of each pool that has one, by name.
    skipped
        bytes that no plan uses, by name of a pool, if there are any.
    """

    sizes: Mapping[str, int]
    skipped: Mapping[str, int]

    @staticmethod
    def of(infos: Sequence[PoolInfo], problem: Problem) -> _Hints:
        """Return the size hints of the pools of a problem, in its order."""
        sizes = {str(info.pool_name): int(info.size_hint_bytes) for info in infos}
        limited = {name: size for name, size in sizes.items() if size >= 0}
        return _Hints(limited, skipped_by_pool(infos, problem))

    def counted(self, pool: str, end: int) -> int:
        """Return the smallest size hint of a pool for a plan that ends at an offset."""
        return end + self.skipped.get(pool, 0)


def _explained(solution: Solution, hints: _Hints) -> DoesNotFit:
    """Return the reason that no plan exists, with size hints instead of the problem's limits."""
    misfit = explain(solution)
    if not hints.skipped:
        return misfit

    def of_hint(bytes_: int | None) -> int | None:
        # The bytes may lie in any of these pools: count the fewest skipped.
        least = min(hints.skipped.get(refusing_pool.pool.name, 0) for refusing_pool in misfit.pools)
        return bytes_ + least if bytes_ else bytes_

    def enough(result: tuple[EnoughBytes, ...]) -> tuple[EnoughBytes, ...]:
        return tuple(replace(e, bytes=hints.counted(e.pool, e.bytes)) for e in result)

    def refusing(result: RefusingPool) -> RefusingPool:
        name, end = result.pool.name, result.end
        return replace(
            result,
            pool=replace(result.pool, limit=hints.sizes.get(name)),
            end=None if end is None else hints.counted(name, end),
        )

    return replace(
        misfit,
        pools=tuple(map(refusing, misfit.pools)),
        needed=of_hint(misfit.needed),
        alone=enough(misfit.alone),
        together=enough(misfit.together),
        lower_bound=of_hint(misfit.lower_bound),
    )


def allocations_of(
    buffers: Sequence[BufferInfo], solution: Solution
) -> dict[BufferInfo, PoolAllocation]:
    """Return pool and offset of each buffer, in the order of the buffers."""
    infos = _pools_of(buffers, solution.problem)
    numbers = zip(solution.pools.tolist(), solution.offsets.tolist(), strict=True)
    return {
        buffer: PoolAllocation(infos[pool], offset)
        for buffer, (pool, offset) in zip(buffers, numbers, strict=True)
    }


def _pools_of(buffers: Sequence[BufferInfo], problem: Problem) -> list[PoolInfo]:
    """Return the pools of a problem, in its order."""
    pools: dict[str, PoolInfo] = {}
    for buffer in buffers:
        for pool in buffer.pool_candidates:
            pools.setdefault(str(pool.pool_name), pool)
    return [pools[pool.name] for pool in problem.pools]


def _ends_beyond_64_bits(buffer: BufferInfo) -> bool:
    return int(buffer.fixed_offset or 0) > _INT64_MAX - int(buffer.size_bytes)


def _beyond_64_bits(number: int, buffer: BufferInfo, algorithm: str) -> DoesNotFit:
    """Return the reason that a buffer pinned beyond the largest offset cannot be placed."""
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
