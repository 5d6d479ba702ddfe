"""Small random placement problems with every feature at once, and the rule that judges plans.

Everything is plain numbers: buffers and pools are indices, sizes and offsets are bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from random import Random

from usmp_solver import Buffer, Pool, Problem, Solution


@dataclass(frozen=True)
class DrawnBuffer:
    """One buffer; `pools` are its candidates, `live` its half-open live ranges."""

    size: int
    alignment: int
    pin: int | None
    pools: tuple[int, ...]
    live: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class DrawnProblem:
    """`limits` are by pool, None where there is no limit; pools from most to least preferred.

    `conflicts` are those beyond live ranges that meet. `overlaps` gives the safe distance of
    (output, input).
    """

    limits: tuple[int | None, ...]
    buffers: tuple[DrawnBuffer, ...]
    conflicts: tuple[tuple[int, int], ...]
    overlaps: dict[tuple[int, int], int]


Place = tuple[int, int]
"""Pool and offset."""


def problem_of(drawn: DrawnProblem) -> Problem:
    """The problem as the solver takes it."""
    told: dict[int, list[str]] = {}
    for a, b in drawn.conflicts:
        told.setdefault(a, []).append(f"b{b}")
    buffers = [
        Buffer(
            name=f"b{index}",
            size=buffer.size,
            live=buffer.live,
            alignment=buffer.alignment,
            pools=[f"p{pool}" for pool in buffer.pools],
            offset=buffer.pin,
            conflicts=told.get(index, ()),
            overlaps={f"b{b}": d for (a, b), d in drawn.overlaps.items() if a == index},
        )
        for index, buffer in enumerate(drawn.buffers)
    ]
    return Problem.from_buffers(
        buffers, [Pool(f"p{index}", limit) for index, limit in enumerate(drawn.limits)]
    )


def places_of(solution: Solution) -> list[Place]:
    """The places of the plan, by buffer."""
    return list(zip(solution.pools.tolist(), solution.offsets.tolist(), strict=True))


def live_together(a: DrawnBuffer, b: DrawnBuffer) -> bool:
    """Whether a live range of one meets one of the other."""
    return any(max(x[0], y[0]) < min(x[1], y[1]) for x in a.live for y in b.live)


def separations(problem: DrawnProblem) -> dict[tuple[int, int], int]:
    """How far b must start above a if it does not start below, by (a, b); both ways each."""
    told = {frozenset(pair) for pair in problem.conflicts}
    result = {}
    for (i, a), (j, b) in combinations(enumerate(problem.buffers), 2):
        if a.size and b.size and (frozenset((i, j)) in told or live_together(a, b)):
            result[i, j] = min(a.size, problem.overlaps.get((i, j), a.size))
            result[j, i] = min(b.size, problem.overlaps.get((j, i), b.size))
    return result


def assert_plan(problem: DrawnProblem, places: Sequence[Place]) -> None:
    """The places keep to pools, limits, alignments, pins and the placement rule."""
    assert len(places) == len(problem.buffers)
    for buffer, (pool, offset) in zip(problem.buffers, places, strict=True):
        assert pool in buffer.pools
        assert offset >= 0 and offset % buffer.alignment == 0
        assert buffer.pin in (None, offset)
        limit = problem.limits[pool]
        assert limit is None or offset + buffer.size <= limit
    apart = separations(problem)
    for a, b in apart:
        if places[a][0] == places[b][0]:
            gap = places[b][1] - places[a][1]
            assert gap >= apart[a, b] or -gap >= apart[b, a], (a, b)


def peaks_of(problem: DrawnProblem, places: Sequence[Place]) -> list[int]:
    """By pool, the highest end of a buffer that has bytes."""
    peaks = [0] * len(problem.limits)
    for buffer, (pool, offset) in zip(problem.buffers, places, strict=True):
        if buffer.size:
            peaks[pool] = max(peaks[pool], offset + buffer.size)
    return peaks


def _draw_buffer(draw: Random, pools: int, unit: int) -> DrawnBuffer:
    candidates = draw.sample(range(pools), draw.randint(1, pools))
    alignment = draw.choice([1, 1, 1, 2, 3, 4, 8, 16])
    size = draw.choice([0, *range(1, 25)]) if draw.random() < 0.3 else draw.randint(1, 24)
    live = []
    for _ in range(draw.choice([0, 1, 1, 1, 2, 3])):
        start = draw.randrange(12)
        live.append((start, start + draw.randint(1, 6)))
    pin = None
    if draw.random() < 0.08:
        pin = draw.randrange(0, 48) * unit // alignment * alignment
    return DrawnBuffer(size * unit, alignment, pin, tuple(candidates), tuple(live))


def draw_problem(draw: Random, largest: int) -> DrawnProblem:
    """2 to `largest` buffers in 1 to 3 pools; about one problem in six has no plan."""
    unit = draw.choice([1, 1, 4])
    pools = draw.choice([1, 2, 2, 3])
    buffers = tuple(_draw_buffer(draw, pools, unit) for _ in range(draw.randint(2, largest)))
    total = sum(buffer.size for buffer in buffers)
    limits = tuple(
        None if draw.random() < 0.35 else int(total * draw.uniform(0.25, 0.8)) + 8
        for _ in range(pools)
    )
    pairs = list(combinations(range(len(buffers)), 2))
    share = draw.choice([0, 0.05, 0.2])
    conflicts = tuple(pair for pair in pairs if draw.random() < share)
    told = {frozenset(pair) for pair in conflicts}
    overlaps = {}
    for i, j in pairs:
        meets = frozenset((i, j)) in told or live_together(buffers[i], buffers[j])
        # Of pairs that do not conflict too: there it must not matter.
        if draw.random() < (0.15 if meets else 0.03):
            for pair in draw.choice([[(i, j)], [(j, i)], [(i, j), (j, i)]]):
                overlaps[pair] = draw.choice([0, draw.randint(0, buffers[pair[0]].size)])
    return DrawnProblem(limits, buffers, conflicts, overlaps)


def shuffled(problem: DrawnProblem, order: Sequence[int]) -> DrawnProblem:
    """The same problem with the buffers in another order: `order[new]` is the old index."""
    new = {old: index for index, old in enumerate(order)}
    return replace(
        problem,
        buffers=tuple(problem.buffers[old] for old in order),
        conflicts=tuple((new[b], new[a]) for a, b in reversed(problem.conflicts)),
        overlaps={(new[a], new[b]): d for (a, b), d in problem.overlaps.items()},
    )


def scaled(problem: DrawnProblem, factor: int) -> DrawnProblem:
    """The same problem with every byte made `factor` bytes."""
    buffers = (
        replace(
            buffer,
            size=buffer.size * factor,
            alignment=buffer.alignment * factor,
            pin=None if buffer.pin is None else buffer.pin * factor,
        )
        for buffer in problem.buffers
    )
    return replace(
        problem,
        limits=tuple(None if limit is None else limit * factor for limit in problem.limits),
        buffers=tuple(buffers),
        overlaps={pair: distance * factor for pair, distance in problem.overlaps.items()},
    )


def without(problem: DrawnProblem, removed: int) -> DrawnProblem:
    """The problem without one of its buffers."""
    new = {i: i - (i > removed) for i in range(len(problem.buffers)) if i != removed}
    return replace(
        problem,
        buffers=tuple(b for i, b in enumerate(problem.buffers) if i != removed),
        conflicts=tuple((new[a], new[b]) for a, b in problem.conflicts if removed not in (a, b)),
        overlaps={
            (new[a], new[b]): d for (a, b), d in problem.overlaps.items() if removed not in (a, b)
        },
    )
