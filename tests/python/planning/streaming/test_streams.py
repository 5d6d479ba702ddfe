"""Of several modules the one with the smallest plan is taken, whatever is planned first."""

from __future__ import annotations

from random import Random

import pytest

from support import levels
from usmp.planning.streaming.streams import _best


def _first_of_the_smallest(plans, known):
    """By planning all of them in their order."""
    best, least = None, known
    for index, peaks in enumerate(plans):
        if peaks is not None and (least is None or peaks < least):
            best, least = index, peaks
    return best


@pytest.mark.parametrize("pools", [1, 2])
def test_the_first_of_the_smallest_plans(pools):
    for seed in levels.seeds(100, 1000):
        random = Random(seed)

        def plan(random=random):
            return tuple(random.randint(4, 8) for _ in range(pools))

        plans = [random.choice([None, plan(), plan()]) for _ in range(5)]
        live_bytes = [random.randint(1, 8 if p is None else sum(p)) for p in plans]
        known = random.choice([None, plan()])

        def peaks(index, limit, plans=plans):
            found = plans[index]
            return None if found is None or (limit is not None and found > limit) else found

        assert _best(live_bytes, known, peaks) == _first_of_the_smallest(plans, known), seed


def test_what_a_bound_rules_out_is_not_planned():
    planned = []

    def peaks(index, limit):
        planned.append(index)
        return (10,)

    assert _best([12, 10, 11, 10], (20,), peaks) == 1
    assert planned == [1]
