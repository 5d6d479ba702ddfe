"""What is on the Pareto front, and what dominates the rest."""

from __future__ import annotations

import itertools

from support.sweeps import built, sweep
from usmp.exploration.pareto import compared_costs, judge
from usmp.exploration.result import FAILED, REFUSED, Result

REFUSAL = Result(REFUSED, "no")


def statuses(*results, **limits) -> list[str]:
    return [row.status for row in sweep(*results, **limits).rows()]


def test_front_and_what_is_behind_it():
    assert statuses(built(3, 1), built(1, 3), built(3, 3), built(2, 2)) == [
        "best",
        "best",
        "dominated by 1",
        "best",
    ]


def test_the_one_that_dominates_is_on_the_front():
    assert statuses(built(3, 3), built(2, 2), built(1, 1)) == [
        "dominated by 3",
        "dominated by 3",
        "best",
    ]


def test_equal_costs_are_said_once():
    assert statuses(built(1, 1), built(2, 2), built(1, 1), built(2, 2)) == [
        "best",
        "dominated by 1",
        "same as 1",
        "dominated by 1",
    ]


def test_instructions_count_where_all_have_them():
    known = [built(1, 1, 9), built(2, 1, 5)]
    assert statuses(*known) == ["best", "best"]
    # An estimate leaves out what shared code costs.
    shared = [built(1, 2, 9), built(1, 1, 9, shared_code="small"), built(1, 3, 9)]
    assert statuses(*shared) == ["best", "best", "dominated by 1"]
    shared = [built(1, 2, 9, shared_code="balanced"), built(2, 2, 9, shared_code="small")]
    assert statuses(*shared) == ["best", "dominated by 1"]
    partly = [*known, built(3, 1, None)]
    assert compared_costs(partly) == ["ram_bytes", "flash_bytes"]
    assert statuses(*partly) == ["best", "dominated by 1", "dominated by 1"]
    assert compared_costs([*known, REFUSAL]) == ["ram_bytes", "flash_bytes", "instructions"]


def test_what_is_over_a_limit_dominates_nothing():
    results = (built(5, 1), built(6, 2), built(1, 9), REFUSAL, Result(FAILED, "broken"))
    assert statuses(*results, max_ram_bytes=6) == [
        "best",
        "dominated by 1",
        "best",
        "refused",
        "failed",
    ]
    limited = statuses(*results, max_ram_bytes=5, max_flash_bytes=8)
    assert limited[:3] == ["best", "over a limit", "over a limit"]


def test_every_verdict_of_small_sweeps():
    """Against the definition, for all sweeps of three points of a grid."""
    points = [built(r, f, i) for r, f, i in itertools.product((1, 2), repeat=3)]
    for results in itertools.product(points, repeat=3):
        costs = [(r.ram_bytes, r.flash_bytes, r.instructions) for r in results]
        for index, verdict in enumerate(judge(results)):
            better = {
                other
                for other, cost in enumerate(costs)
                if cost != costs[index] and all(map(int.__le__, cost, costs[index]))
            }
            assert (verdict.dominated_by is None) == (not better)
            assert verdict.dominated_by is None or verdict.dominated_by in better
            first = costs.index(costs[index])
            assert verdict.same_as == (None if first == index else first)
