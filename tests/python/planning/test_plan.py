"""Which plan stays when time ends the search for a better one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.planner_contexts import planner_context
from usmp.algorithms.placement import Placed
from usmp.algorithms.search import PROOF, TIME, SearchedPlan
from usmp.names import COST
from usmp.objects import BufferInfo, BufferInfoAnalysis, PoolAllocation, WorkspacePoolInfo
from usmp.planning.options import planning_options
from usmp.planning.plan import NoPlan, Plan, may_improve, smaller

AUTO = planning_options(planner_context({"algorithm": "auto"}))
WORK = "work"
POOL = WorkspacePoolInfo("sram", ["c"])
FAILED = NoPlan(ValueError("nothing fits"))


def plan(offset: int, ended_by: str | None = WORK) -> Plan:
    """A plan of one buffer at an offset; of an algorithm that does not search if nothing ended
    it."""
    buffer = BufferInfo("a", 8, [POOL])
    allocations = {buffer: PoolAllocation(POOL, offset)}
    made = SearchedPlan(allocations, {"sram": 8}, ended_by, 5) if ended_by else allocations
    analysis = BufferInfoAnalysis({buffer: None}, 8)
    return Plan(analysis, [buffer], "greedy", Placed(made), allocations, ("sram",))


@pytest.mark.parametrize(
    "made, improves",
    [(FAILED, True), (plan(0, WORK), True), (plan(0, TIME), True), (plan(0, PROOF), False)],
)
def test_what_more_time_may_improve(made, improves):
    assert may_improve(made) == improves


def test_a_plan_without_a_search_is_not_improved():
    assert not may_improve(plan(0, None))


@pytest.mark.parametrize("known", [None, FAILED, plan(16), plan(8)])
def test_the_plan_of_the_ended_search_stays_unless_the_known_one_is_smaller(known):
    made = plan(8)
    assert smaller(made, known, AUTO) is made


@pytest.mark.parametrize("made", [plan(8), FAILED])
@pytest.mark.parametrize("ended_by, now", [(WORK, TIME), (TIME, TIME), (PROOF, PROOF)])
def test_a_smaller_known_plan_is_one_that_time_ended_unless_it_is_proved(made, ended_by, now):
    known = plan(0, ended_by)
    found = smaller(made, known, AUTO)
    assert (found.peaks(), found.algorithm) == ((8,), "auto")
    searched = found.found.plan
    assert (searched.ended_by, searched.lower_bounds, searched.work) == (now, {"sram": 8}, 5)


def test_a_known_plan_without_a_search_stays_as_it_is():
    known = plan(0, None)
    assert smaller(plan(8), known, AUTO).found.plan is known.found.plan


def test_by_cost_more_bytes_are_no_worse_plan():
    by_cost = replace(AUTO, placement=COST)
    made = plan(8)
    assert smaller(made, plan(0), by_cost) is made
    assert smaller(FAILED, plan(0), by_cost).peaks() == (8,)
