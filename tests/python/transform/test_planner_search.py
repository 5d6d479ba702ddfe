"""The planner with `auto` and `exact`: options, and what is left on the module."""

from __future__ import annotations

import pytest

from support.planner_views import Chain, WithScratch, first_line, plan, pool_args, workspace
from usmp.objects import PoolInfoProperties, WorkspacePoolInfo
from usmp.objects.attributes.module_attributes import MEMORY_PLAN_ATTR


def proved(planned):
    """Lower bound and whether the peak is optimal, by pool, and what ended the search."""
    memory_plan = planned.attrs[MEMORY_PLAN_ATTR.name]
    bounds = {
        name: (bound.lower_bound_bytes, bound.optimal)
        for name, bound in memory_plan.pool_bounds.items()
    }
    return bounds, memory_plan.search_ended_by


def test_auto_is_the_default():
    planned = plan(Chain)
    assert planned.attrs[MEMORY_PLAN_ATTR.name].algorithm == "auto"
    assert pool_args(planned) == [("global_workspace", 80)]
    assert proved(planned) == ({"global_workspace": (80, True)}, "proof")


@pytest.mark.parametrize("options", [{"algorithm": "exact"}, {"time_budget": "10s"}])
def test_a_proof_ends_every_search(options):
    assert proved(plan(Chain, **options)) == ({"global_workspace": (80, True)}, "proof")


def test_constants_have_a_bound_too():
    assert proved(plan(WithScratch)) == (
        {"global_workspace": (16, True), "global_const_workspace": (4, True)},
        "proof",
    )


def test_two_pools():
    """b alone fills the fast pool; a and c, one after the other, share the slow one."""
    planned = plan(Chain, [workspace("fast", 48), workspace("slow")])
    assert proved(planned) == ({"fast": (48, True), "slow": (32, True)}, "proof")


@pytest.mark.parametrize(
    ("algorithm", "bound"),
    [("greedy_by_size", (80, True)), ("hill_climb", (80, True)), ("no_sharing", (80, False))],
)
def test_other_algorithms_are_told_what_is_proved(algorithm, bound):
    assert proved(plan(Chain, algorithm=algorithm)) == ({"global_workspace": bound}, None)


def test_as_a_custom_algorithm_it_is_one_of_the_others():
    assert proved(plan(Chain, custom_algorithm="auto")) == ({"global_workspace": (80, True)}, None)


def test_by_cost_the_bounds_are_of_the_buffers_where_they_are():
    fast = WorkspacePoolInfo("fast", ["c"], PoolInfoProperties(48, 400_000_000))
    slow = WorkspacePoolInfo("slow", ["c"], PoolInfoProperties(-1, 100_000_000))
    bounds, _ = proved(plan(Chain, [fast, slow], placement="cost"))
    assert set(bounds) == {"fast", "slow"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"time_budget": "soon"},
            'tir.usmp.time_budget: "soon" is no duration; write a number and ms, s, min or h, '
            "such as 500ms or 10s",
        ),
        (
            {"time_budget": "1s", "algorithm": "no_sharing"},
            "tir.usmp.time_budget is for tir.usmp.algorithm=auto or exact, not for no_sharing",
        ),
        (
            {"time_budget": "1s", "custom_algorithm": "auto"},
            "tir.usmp.time_budget is for tir.usmp.algorithm=auto or exact, not for a custom "
            "algorithm, auto",
        ),
    ],
)
def test_time_budgets_that_are_refused(options, message):
    with pytest.raises(ValueError) as error:
        plan(Chain, **options)
    assert first_line(error) == message
