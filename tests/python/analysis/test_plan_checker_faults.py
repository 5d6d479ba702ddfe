"""The judge of plans and the slow reference agree on every kind of fault."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from support.plan_rule import faults
from usmp.algorithms import get_algorithm
from usmp.analysis import check_plan
from usmp.objects import (
    BufferInfo,
    LiveRange,
    PoolAllocation,
    PoolInfoProperties,
    WorkspacePoolInfo,
)
from usmp_solver import Buffer

LIMITS = {"small": 40, "large": None}
POOLS = {
    name: WorkspacePoolInfo(name, ["c"], PoolInfoProperties(-1 if limit is None else limit))
    for name, limit in LIMITS.items()
}


def drawn(draw: random.Random) -> list[Buffer]:
    """Buffers with all that a plan is judged by; conflicts and overlaps need not be mutual."""
    names = [f"b{number}" for number in range(draw.randint(2, 7))]
    buffers = []
    for name in names:
        others = [other for other in names if other != name]
        size = draw.randint(0, 12)
        starts = [draw.randrange(10) for _ in range(draw.randint(0, 2))]
        alignment = draw.choice([1, 1, 2, 4])
        buffers.append(
            Buffer(
                name,
                size,
                [(start, start + draw.randint(1, 5)) for start in starts],
                alignment,
                draw.choice([["small", "large"], ["large", "small"], ["large"]]),
                draw.choice([None] * 9 + [alignment * draw.randint(0, 4)]),
                [other for other in others if draw.random() < 0.2],
                {other: draw.randint(0, size) for other in others if draw.random() < 0.15},
            )
        )
    return buffers


def infos_of(buffers: list[Buffer]) -> dict[str, BufferInfo]:
    infos = {
        b.name: BufferInfo(
            b.name,
            b.size,
            [POOLS[name] for name in b.pools],
            b.alignment,
            [LiveRange(*live) for live in b.live],
            fixed_offset=b.offset,
        )
        for b in buffers
    }
    for b in buffers:
        infos[b.name].set_conflicts([infos[other] for other in b.conflicts])
        infos[b.name].set_overlaps({infos[other]: n for other, n in b.overlaps.items()})
    return infos


def changed(draw: random.Random, buffer: Buffer, place: tuple[str, int]) -> tuple[str, int]:
    """The place with a change that may be a fault."""
    pool, offset = place
    kind = draw.choice(["none", "pool", "negative", "align", "limit", "near", "near", "near"])
    return {
        "none": place,
        "pool": ("small" if pool == "large" else "large", offset),
        "negative": (pool, -draw.randint(1, 4)),
        "align": (pool, offset + 1),
        "limit": (pool, 40 - buffer.size + draw.randint(-1, 2)),
        "near": (pool, max(0, offset + draw.choice([-2, -1, 1, 2]) * buffer.alignment)),
    }[kind]


def is_within_limits(buffers: list[Buffer], places: dict[str, tuple[str, int]]) -> bool:
    ends = [(places[b.name][0], places[b.name][1] + b.size) for b in buffers]
    return all(LIMITS[pool] is None or end <= (LIMITS[pool] or 0) for pool, end in ends)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_sound_plans_with_one_change(seed):
    draw = random.Random(seed)
    verdicts: Counter[str] = Counter()
    while verdicts.total() < 500:
        buffers = drawn(draw)
        infos = infos_of(buffers)
        try:
            plan = get_algorithm("greedy_by_size")(list(infos.values()), 0)
        except ValueError:
            continue  # Pins that collide.
        places = {
            b.name: (
                str(plan[infos[b.name]].pool_info.pool_name),
                int(plan[infos[b.name]].byte_offset),
            )
            for b in buffers
        }
        assert not faults(buffers, places)
        moved = draw.choice(buffers)
        places[moved.name] = changed(draw, moved, places[moved.name])
        told = {
            infos[name]: PoolAllocation(POOLS[pool], offset)
            for name, (pool, offset) in places.items()
        }
        is_sound = not faults(buffers, places) and is_within_limits(buffers, places)
        try:
            check_plan(list(infos.values()), told)
            verdict = "sound"
        except ValueError as error:
            verdict = next(word for word in _KINDS if word in str(error))
        assert (verdict == "sound") == is_sound, (buffers, places)
        verdicts[verdict] += 1
    assert set(verdicts) >= {"sound", *_KINDS} - {"is pinned to"}, verdicts


_KINDS = (
    "not one of its candidates",
    "starts before",
    "is not aligned",
    "is pinned to",
    "size hint",
    "they conflict",
    "both are live",
)
