"""The planner with pools by cost: `tir.usmp.placement`."""

from itertools import cycle
from random import Random

import pytest
import tvm_ffi
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tvm.script import ir as I
from tvm.script import tirx as T

from support import tir_programs
from support.planned_programs import check_planned, expected_results
from support.planner_views import DATA, Chain, first_line, places, plan, workspace
from support.tir_programs import draw_program
from usmp.algorithms import get_algorithm
from usmp.objects import ConstantPoolInfo, PoolInfoProperties, WorkspacePoolInfo
from usmp.objects.attributes.module_attributes import (
    CONSTANT_MEMORY_POOLS_ATTR,
    MEMORY_PLAN_ATTR,
    WORKSPACE_MEMORY_POOLS_ATTR,
)
from usmp_solver import ALGORITHMS


def pool(name, size_hint_bytes=-1, latency=0, kind=WorkspacePoolInfo):
    properties = PoolInfoProperties(
        size_hint_bytes, read_latency_cycles=latency, write_latency_cycles=latency
    )
    return kind(name, ["c"], pool_info_properties=properties)


DTCM, SRAM = pool("dtcm", 32), pool("sram", latency=4)


def estimate(planned):
    memory_plan = planned.attrs[MEMORY_PLAN_ATTR.name]
    found = memory_plan.access_estimate
    return memory_plan.placement, {
        "by preference": found.cycles_by_preference,
        "by cost": found.cycles_by_cost,
        "lower bound": found.lower_bound_cycles,
        "planned": found.cycles,
        "pools": dict(found.pool_cycles),
    }


@I.ir_module
class Hot:
    """`big` is written and read once an element, `hot` again and again."""

    @T.prim_func
    def __tvm_main__(x: T.handle("int8"), y: T.handle("int8")):
        X = T.decl_buffer((32,), "int8", data=x)
        Y = T.decl_buffer((32,), "int8", data=y)
        big = T.alloc_buffer((32,), "int8")
        hot = T.alloc_buffer((16,), "int8")
        weights = T.alloc_buffer((4,), "int8", annotations={"constant_data": DATA})
        for i in range(16):
            hot[i] = X[i]
        for i in range(32):
            big[i] = T.int8(0)
            for j in range(16):
                big[i] = big[i] + hot[j] * weights[j // 4]
        for i in range(32):
            Y[i] = big[i]


BIG, HOT, WEIGHTS = 32 + 2 * 32 * 16 + 32, 16 + 32 * 16, 32 * 16


def test_preference_is_the_default_and_both_are_estimated():
    planned = plan(Hot, [DTCM, SRAM])
    assert places(planned) == {
        "big": ("dtcm", 0),
        "hot": ("sram", 0),
        "weights": ("global_const_workspace", 0),
    }
    assert estimate(planned) == (
        "preference",
        {
            "by preference": BIG + 5 * HOT + WEIGHTS,
            "by cost": BIG + 5 * HOT + WEIGHTS,
            "lower bound": BIG + 5 * HOT + WEIGHTS,
            "planned": BIG + 5 * HOT + WEIGHTS,
            "pools": {"dtcm": BIG, "global_const_workspace": WEIGHTS, "sram": 5 * HOT},
        },
    )


def test_by_cost_the_buffers_that_are_accessed_most_get_the_fast_pool():
    pools = [SRAM, DTCM]
    assert places(plan(Hot, pools)) == {
        "big": ("sram", 0),
        "hot": ("sram", 32),
        "weights": ("global_const_workspace", 0),
    }
    planned = plan(Hot, pools, placement="cost")
    assert places(planned) == {
        "big": ("dtcm", 0),
        "hot": ("sram", 0),
        "weights": ("global_const_workspace", 0),
    }
    placement, cycles = estimate(planned)
    assert placement == "cost"
    assert cycles["by preference"] == 5 * (BIG + HOT) + WEIGHTS
    assert cycles["planned"] == cycles["by cost"] == BIG + 5 * HOT + WEIGHTS
    placement, cycles = estimate(plan(Hot, pools))
    assert placement == "preference"
    assert cycles["planned"] == 5 * (BIG + HOT) + WEIGHTS
    assert cycles["by cost"] == BIG + 5 * HOT + WEIGHTS


def test_constants_too():
    flash, itcm = (
        pool(n, latency=c, kind=ConstantPoolInfo) for n, c in [("flash", 9), ("itcm", 0)]
    )
    planned = plan(Hot, [SRAM], [flash, itcm], placement="cost")
    assert places(planned)["weights"] == ("itcm", 0)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm(algorithm):
    planned = plan(Hot, [SRAM, DTCM], algorithm=algorithm, placement="cost")
    assert {name: place[0] for name, place in places(planned).items()} == {
        "big": "dtcm",
        "hot": "sram",
        "weights": "global_const_workspace",
    }
    assert planned.attrs[MEMORY_PLAN_ATTR.name].algorithm == algorithm


def test_pools_of_unknown_speed_are_not_estimated():
    planned = plan(Chain, [workspace("sram")])
    assert planned.attrs[MEMORY_PLAN_ATTR.name].access_estimate is None


def test_unknown_placement():
    with pytest.raises(ValueError) as error:
        plan(Hot, [DTCM, SRAM], placement="fastest")
    assert first_line(error) == (
        'unknown placement "fastest" in tir.usmp.placement. Placements: preference, cost'
    )


def test_cost_without_speeds():
    with pytest.raises(ValueError) as error:
        plan(Hot, [workspace("sram")], placement="cost")
    assert first_line(error) == (
        "tir.usmp.placement=cost needs to know how fast the memory pools are, but none of them "
        "says so; give a clock frequency, a bandwidth or a latency to at least one "
        "(PoolInfoProperties), or leave the option out"
    )


@pytest.mark.parametrize("placement", ["preference", "cost"])
def test_what_does_not_fit_is_told_the_same(placement):
    with pytest.raises(ValueError, match="the space available in the provided pools exceeded"):
        plan(Hot, [pool("dtcm", 32, latency=1)], placement=placement)


def test_a_speed_that_no_buffer_can_profit_from():
    """The model has no constants, but their pool says how fast it is."""
    flash = pool("flash", latency=9, kind=ConstantPoolInfo)
    planned = plan(Chain, [workspace("sram")], [flash], placement="cost")
    assert estimate(planned)[1]["by cost"] == estimate(planned)[1]["by preference"]


@pytest.fixture
def custom():
    """An algorithm of the user's own, which is called with what it was called with."""
    seen = []

    def mine(buffers, memory_pressure):
        seen.append([[str(p.pool_name) for p in b.pool_candidates] for b in buffers])
        return get_algorithm("greedy_by_conflicts")(buffers, memory_pressure)

    tvm_ffi.register_global_func("tir.usmp.algo.mine", mine)
    yield seen
    tvm_ffi.registry.remove_global_func("tir.usmp.algo.mine")


def test_a_custom_algorithm_gets_the_pools_that_were_chosen(custom):
    planned = plan(Hot, [SRAM, DTCM], custom_algorithm="mine", placement="cost")
    constant = ["global_const_workspace"]
    assert custom == [
        [["sram", "dtcm"], ["sram", "dtcm"], constant],
        [["dtcm"], ["sram"], constant],
    ]
    assert places(planned)["big"] == ("dtcm", 0)


def test_a_custom_algorithm_is_called_once_where_nothing_is_faster(custom):
    plan(Hot, [workspace("sram")], custom_algorithm="mine")
    plan(Hot, [DTCM, SRAM], custom_algorithm="mine", placement="cost")
    assert len(custom) == 2


@pytest.mark.parametrize("placement", ["preference", "cost"])
def test_a_broken_algorithm_is_refused(placement):
    tvm_ffi.register_global_func("tir.usmp.algo.broken", lambda buffers, pressure: {})
    try:
        with pytest.raises(ValueError, match="big"):
            plan(Hot, [DTCM, SRAM], custom_algorithm="broken", placement=placement)
    finally:
        tvm_ffi.registry.remove_global_func("tir.usmp.algo.broken")


@pytest.mark.slow
@settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(st.integers(0, 2**32 - 1))
def test_programs_planned_by_cost_compute_the_same(seed):
    latencies = cycle([7, 0, 3])

    def properties(limit):
        latency = next(latencies)
        return PoolInfoProperties(limit, clock_frequency_hz=10**8, read_latency_cycles=latency)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tir_programs, "PoolInfoProperties", properties)
        program = draw_program(Random(seed))
    told = {WORKSPACE_MEMORY_POOLS_ATTR.name, CONSTANT_MEMORY_POOLS_ATTR.name} & set(
        program.mod.attrs.keys()
    )
    if told:
        algorithm = ALGORITHMS[seed % len(ALGORITHMS)]
        check_planned(program, algorithm, expected_results(program), placement="cost")
