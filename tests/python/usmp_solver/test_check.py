"""The independent check of plans in columns, against the rule by brute force."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest

from support.plan_rule import faults
from usmp_solver import Buffer, Pool, Problem, check_columns
from usmp_solver.columns import column

MEMORY = (Pool("memory"),)
LIMITED = (Pool("x", 10), Pool("y"))


def check(buffers, offsets, pools=None, memories=MEMORY):
    problem = Problem.from_buffers(buffers, memories)
    check_columns(problem, column(offsets), column(pools or [0] * len(offsets)))


def refusal(*arguments, **options):
    with pytest.raises(ValueError) as error:
        check(*arguments, **options)
    return str(error.value)


TWO = [Buffer("a", 4, [(0, 2)]), Buffer("b", 4, [(1, 3)])]


def test_sound_plans():
    check(TWO, [0, 4])
    check(TWO, [4, 0])
    check([TWO[0], Buffer("b", 4, [(2, 3)])], [0, 0])
    check([TWO[0], Buffer("b", 0, [(0, 2)])], [0, 2])
    check(TWO, [0, 0], [0, 1], (Pool("x"), Pool("y")))


def test_shared_bytes():
    assert refusal(TWO, [0, 3]) == (
        'plan check: buffers "b" at bytes [3, 7) and "a" at bytes [0, 4) share bytes of pool '
        '"memory", but they are live at one time'
    )


def test_conflict_that_no_live_range_tells():
    buffers = [Buffer("a", 4, conflicts=["b"]), Buffer("b", 4)]
    assert refusal(buffers, [0, 3]).endswith("but they conflict")
    check(buffers, [0, 4])


def test_one_buffer():
    def reason(buffer, offset, pool=0):
        return refusal([buffer], [offset], [pool], LIMITED).partition(" at offset ")[2]

    assert reason(Buffer("a", 4, alignment=4), 2) == "2 is not aligned to 4 bytes"
    assert reason(Buffer("a", 4), -1) == "-1 starts before the pool"
    assert reason(Buffer("a", 4, offset=1), 2) == "2 is pinned to offset 1"
    assert reason(Buffer("a", 4), 7) == "7 ends beyond the limit of the pool"
    assert reason(Buffer("a", 4), (1 << 63) - 3, 1).endswith("ends beyond the limit of the pool")
    assert reason(Buffer("a", 4, pools=["y"]), 0).endswith("not one of its candidates")
    assert reason(Buffer("a", 4), 0, 7).endswith("not one of its candidates")


def test_plan_without_all_buffers():
    assert refusal(TWO, [0]) == "plan check: not every buffer is placed"


def test_safe_overlap():
    buffers = [Buffer("in", 8, [(0, 2)]), Buffer("out", 6, [(1, 3)], overlaps={"in": 2})]
    check(buffers, [2, 0])
    check(buffers, [0, 8])
    assert refusal(buffers, [1, 0])
    assert refusal(buffers, [0, 2])


def random_buffers(rng):
    names = [f"b{i}" for i in range(rng.randint(1, 7))]
    buffers = []
    for name in names:
        times = sorted(rng.sample(range(12), 2 * rng.randint(0, 3)))
        size = rng.randint(0, 6)
        others = [other for other in names if other != name]
        overlaps = {other: rng.randint(0, size) for other in others if rng.random() < 0.2}
        conflicts = [other for other in others if rng.random() < 0.1]
        live = list(pairwise(times))[::2]
        buffers.append(Buffer(name, size, live, conflicts=conflicts, overlaps=overlaps))
    return buffers


@pytest.mark.slow
def test_random_plans_are_judged_as_by_brute_force():
    rng = random.Random(1)
    verdicts = []
    for _ in range(1000):
        buffers = random_buffers(rng)
        offsets = [rng.randint(0, 14) for _ in buffers]
        places = {buffer.name: ("memory", at) for buffer, at in zip(buffers, offsets, strict=True)}
        expected = not faults(buffers, places)
        try:
            check(buffers, offsets)
            verdict = True
        except ValueError:
            verdict = False
        assert verdict == expected, (buffers, offsets)
        verdicts.append(verdict)
    assert 150 < sum(verdicts) < 850


@pytest.mark.slow
def test_many_buffers_that_are_live_at_one_time():
    """Two hundred thousand, which no check of all pairs would end with."""
    count = 200_000
    problem = Problem(
        names=range(count),
        pools=(Pool("memory"),),
        sizes=np.full(count, 3),
        live_first=np.arange(count + 1),
        live_starts=np.zeros(count, np.int64),
        live_stops=np.ones(count, np.int64),
    )
    offsets = np.arange(count) * 3
    check_columns(problem, offsets, np.zeros(count, np.int64))
    offsets[77_777] -= 1
    with pytest.raises(ValueError, match="77776"):
        check_columns(problem, offsets, np.zeros(count, np.int64))
