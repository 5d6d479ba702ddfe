"""Of several choices the best one, whatever is planned first."""

from __future__ import annotations

from random import Random

import pytest

from support import levels
from usmp.planning.search import Allowance, Choice, Leaf
from usmp.planning.search.leaf import best_leaf, is_within, memory_limit


def leaf(peaks, *prefers, bound=0, error=None):
    return Leaf(Choice(None, "", prefers, bound), None, peaks=peaks, error=error)


@pytest.mark.parametrize(
    ("leaves", "best"),
    [
        ([leaf((5,)), leaf((4,)), leaf((4,))], 1),
        # The least preferred pool decides.
        ([leaf((5, 1)), leaf((4, 9))], 1),
        ([leaf((4,), 2), leaf((4,), 1)], 1),
        ([leaf(None), leaf((9,))], 1),
        ([leaf((9,)), leaf(None)], 0),
        # Without a plan: the smallest bound that is known, else the first one that is not refused.
        ([leaf(None), leaf(None, bound=7), leaf(None, bound=6)], 2),
        ([leaf(None, error=ValueError()), leaf(None), leaf(None)], 1),
    ],
)
def test_the_least(leaves, best):
    assert best_leaf(leaves, Allowance.LEAST, "ram") == best


@pytest.mark.parametrize(
    ("optimize", "best"),
    [("ram", 0), ("balanced", 1), ("speed", 2)],
)
def test_the_preferred_one_within_what_memory_allows(optimize, best):
    leaves = [leaf((100,), 3), leaf((105,), 2), leaf((200,), 1), leaf(None, 0)]
    assert best_leaf(leaves, Allowance.WITHIN, optimize) == best
    assert best_leaf(leaves[3:], Allowance.WITHIN, optimize) == 0


def test_limits_of_several_pools():
    assert memory_limit("balanced", (100, 40)) == (105, 42)
    assert memory_limit("speed", (100, 40)) is None
    assert is_within((1, 2), None)
    assert is_within((105, 42), (105, 42))
    assert not is_within((1, 43), (105, 42))
    assert not is_within((1,), (105, 42))


def test_the_best_does_not_depend_on_what_is_planned_first():
    for seed in levels.seeds(100, 1000):
        random = Random(seed)
        leaves = [
            leaf(random.choice([None, (random.randint(4, 6), random.randint(1, 2))]), position)
            for position in range(5)
        ]
        if all(one.peaks is None for one in leaves):
            continue
        for allowance in Allowance:
            goal = random.choice(["ram", "balanced", "speed"])
            best = leaves[best_leaf(leaves, allowance, goal)]
            random.shuffle(leaves)
            assert leaves[best_leaf(leaves, allowance, goal)] is best
