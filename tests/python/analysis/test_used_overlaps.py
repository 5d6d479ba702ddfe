"""Which safe overlaps a plan makes use of."""

from __future__ import annotations

import pytest

from usmp.analysis.used_overlaps import shared_bytes, used_overlaps
from usmp.objects import BufferInfo, LiveRange, PlacedBuffer, PoolAllocation, WorkspacePoolInfo

SRAM, DRAM = (WorkspacePoolInfo(name, ["c"]) for name in ("sram", "dram"))


def pair(input_live=(0, 2), output_live=(1, 3)):
    """An input of 40 bytes, and an output of 32 that may start 8 bytes below it."""
    dying = BufferInfo("input", 40, [SRAM, DRAM], live_ranges=[LiveRange(*input_live)])
    output = BufferInfo("output", 32, [SRAM, DRAM], live_ranges=[LiveRange(*output_live)])
    output.set_overlaps({dying: 8})
    return dying, output


def used(*placed):
    """By name, the overlaps that are used by buffers at their places."""
    plan = {b: PoolAllocation(pool, offset) for b, pool, offset in placed}
    found = used_overlaps([b for b, _, _ in placed], plan)
    assert list(found) == list(plan)
    return {b.name_hint: {o.name_hint: d for o, d in others.items()} for b, others in found.items()}


@pytest.mark.parametrize(
    ("offset", "expected"), [(8, {"input": 8}), (31, {"input": 8}), (32, {}), (100, {})]
)
def test_the_output_below_its_input(offset, expected):
    dying, output = pair()
    assert used((dying, SRAM, offset), (output, SRAM, 0)) == {"input": {}, "output": expected}


def test_the_output_above_its_input_shares_nothing():
    dying, output = pair()
    assert used((dying, SRAM, 0), (output, SRAM, 40)) == {"input": {}, "output": {}}


def test_other_pools_have_other_bytes():
    dying, output = pair()
    assert used((dying, SRAM, 8), (output, DRAM, 0)) == {"input": {}, "output": {}}


def test_buffers_that_are_never_live_together_reuse_bytes_and_overlap_nothing():
    dying, output = pair(output_live=(2, 3))
    assert used((dying, SRAM, 8), (output, SRAM, 0)) == {"input": {}, "output": {}}


def test_conflicts_that_no_live_range_tells_count():
    dying, output = pair(output_live=(2, 3))
    dying.set_conflicts([output])
    assert used((dying, SRAM, 8), (output, SRAM, 0))["output"] == {"input": 8}


def test_buffers_that_are_not_placed_do_not_count():
    _dying, output = pair()
    assert used((output, SRAM, 0)) == {"output": {}}


def test_overlaps_in_the_order_of_the_buffers():
    first, second = (
        BufferInfo(name, 16, [SRAM], live_ranges=[LiveRange(0, 2)]) for name in ("b", "a")
    )
    total = BufferInfo("sum", 32, [SRAM], live_ranges=[LiveRange(1, 3)])
    total.set_overlaps({second: 16, first: 0})
    found = used((first, SRAM, 0), (second, SRAM, 16), (total, SRAM, 0))
    assert list(found["sum"].items()) == [("b", 0), ("a", 16)]


@pytest.mark.parametrize(
    ("offset", "size", "shared"), [(8, 40, 24), (0, 8, 8), (31, 1, 1), (32, 9, 0), (90, 9, 0)]
)
def test_shared_bytes(offset, size, shared):
    a = PlacedBuffer("a", "main", 0, "sram", 0, 32, 1, [], [])
    b = PlacedBuffer("b", "main", 0, "sram", offset, size, 1, [], [])
    assert shared_bytes(a, b) == shared_bytes(b, a) == shared
