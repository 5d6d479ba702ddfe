"""The planner with algorithms by name, of the user's own, and broken ones."""

from itertools import pairwise

import pytest
import tvm_ffi

from support.planner_views import Chain, first_line, offsets, plan, workspace
from usmp.objects import PoolAllocation, PoolInfoProperties, WorkspacePoolInfo
from usmp.objects.attributes.module_attributes import MEMORY_PLAN_ATTR


@pytest.fixture
def algorithm():
    """Register a planning algorithm for one test, as `tir.usmp.algo.<name>`."""
    registered = []

    def register(name, function):
        tvm_ffi.register_global_func(f"tir.usmp.algo.{name}", function)
        registered.append(name)

    yield register
    for name in registered:
        tvm_ffi.registry.remove_global_func(f"tir.usmp.algo.{name}")


def stacked(buffers, memory_pressure):
    """One buffer after the other, 64 bytes apart."""
    return {
        buffer: PoolAllocation(buffer.pool_candidates[0], 64 * index)
        for index, buffer in enumerate(buffers)
    }


def test_custom_algorithm_wins(algorithm):
    seen = []

    def mine(buffers, memory_pressure):
        seen.append(([buffer.name_hint for buffer in buffers], memory_pressure))
        return stacked(buffers, memory_pressure)

    algorithm("mine", mine)
    planned = plan(Chain, custom_algorithm="mine", algorithm="greedy_by_size")
    assert seen == [(["a", "b", "c"], 80)]
    assert offsets(planned) == {"a": 0, "b": 64, "c": 128}
    assert planned.attrs[MEMORY_PLAN_ATTR.name].algorithm == "mine"


def overlapping(buffers, memory_pressure):
    return {buffer: PoolAllocation(buffer.pool_candidates[0], 0) for buffer in buffers}


def without_conflicts(buffers, memory_pressure):
    buffers[1].set_conflicts([])
    return stacked(buffers, memory_pressure)


def with_overlaps(buffers, memory_pressure):
    """In each other's bytes, and it says that this is allowed."""
    for dying, output in pairwise(buffers):
        output.set_overlaps({dying: 0})
    return overlapping(buffers, memory_pressure)


def incomplete(buffers, memory_pressure):
    return dict(list(stacked(buffers, memory_pressure).items())[1:])


def unaligned(buffers, memory_pressure):
    return {
        buffer: PoolAllocation(allocation.pool_info, allocation.byte_offset + 1)
        for buffer, allocation in stacked(buffers, memory_pressure).items()
    }


def elsewhere(buffers, memory_pressure):
    pool = workspace("elsewhere")
    return {buffer: PoolAllocation(pool, 64 * index) for index, buffer in enumerate(buffers)}


def test_an_algorithm_that_changes_its_buffers_in_placement_by_cost(algorithm):
    """There it is called for copies."""
    algorithm("broken", with_overlaps)
    fast = WorkspacePoolInfo("fast", ["c"], PoolInfoProperties(read_latency_cycles=1))
    with pytest.raises(ValueError, match='"broken" changed the safe overlaps of buffer "b"'):
        plan(Chain, [fast], custom_algorithm="broken", placement="cost")


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (overlapping, r'buffers "a" .* and "b" .* share bytes'),
        (without_conflicts, 'algorithm "broken" changed the conflicts of buffer "b"; an '),
        (with_overlaps, 'algorithm "broken" changed the safe overlaps of buffer "b"; an '),
        (incomplete, r'buffer "a" has no allocation'),
        (unaligned, r'buffer "a" .* is not aligned'),
        (elsewhere, r'buffer "a" .* is in a pool that is not one of its candidates'),
        (stacked, r'buffer "b" .* the size hint of the pool is 100 bytes'),
    ],
)
def test_a_broken_plan_is_refused(algorithm, broken, reason):
    algorithm("broken", broken)
    with pytest.raises(ValueError, match=f"^USMP plan check: {reason}"):
        plan(Chain, [workspace("sram", 100)], custom_algorithm="broken")


def test_unknown_algorithm():
    with pytest.raises(ValueError) as error:
        plan(Chain, algorithm="nope")
    assert first_line(error).startswith("The selected USMP algorithm : nope is not defined.")


def test_unknown_custom_algorithm():
    with pytest.raises(ValueError) as error:
        plan(Chain, custom_algorithm="nope")
    assert first_line(error).startswith("The selected custom USMP algorithm : nope is not defined.")
