"""What a plan makes of each pool: peak, lower bound, who is live at the peak."""

import random

import pytest

from usmp.analysis import pool_usage
from usmp.objects import LiveRange, MemoryPlan, PlacedBuffer


def placed(name, offset, size, *ranges, pool="sram", alignment=1):
    live = [LiveRange(start, stop) for start, stop in ranges]
    return PlacedBuffer(name, "main", 0, pool, offset, size, alignment, live, [])


def usage(*buffers):
    return {
        use.pool_name: (use.peak_bytes, use.pressure_bytes, [b.name for b in use.live_at_peak])
        for use in pool_usage(MemoryPlan("greedy_by_size", 0, list(buffers)))
    }


def test_each_pool_by_itself():
    assert usage(
        placed("a", 0, 10, (0, 2)),
        placed("b", 10, 20, (1, 4)),
        placed("c", 0, 7, (0, 9), pool="dram"),
        placed("d", 0, 10, (3, 4)),
    ) == {"dram": (7, 7, ["c"]), "sram": (30, 30, ["a", "b"])}


def test_of_several_peaks_the_one_with_most_bytes_live():
    assert usage(
        placed("top", 10, 10, (0, 1), (4, 6)),
        placed("small", 0, 5, (0, 1)),
        placed("large", 0, 8, (5, 6)),
    ) == {"sram": (20, 18, ["large", "top"])}


def test_the_bound_counts_alignment():
    (bound,) = [
        use[1]
        for use in usage(
            placed("a", 0, 10, (0, 1), alignment=16), placed("b", 16, 10, (0, 1), alignment=16)
        ).values()
    ]
    assert bound == 26


def test_of_several_peaks_the_one_that_shows_the_overlap():
    assert usage(
        placed("dying", 4, 16, (0, 2)),
        placed("below", 0, 2, (0, 1)),
        placed("output", 0, 16, (1, 3)),
    ) == {"sram": (20, 32, ["output", "dying"])}


@pytest.mark.slow
def test_against_a_count_of_every_position():
    draw = random.Random(0)
    for _ in range(200):
        buffers = []
        for i in range(draw.randint(1, 8)):
            start = draw.randint(0, 8)
            ranges = [(start, start + draw.randint(1, 4))]
            if draw.random() < 0.3:
                ranges.append((ranges[0][1] + 1, ranges[0][1] + 3))
            buffers.append(placed(f"b{i}", draw.randint(0, 9), draw.randint(1, 9), *ranges))
        peak, _, names = usage(*buffers)["sram"]
        assert peak == max(b.byte_offset + b.size_bytes for b in buffers)
        live = [
            [b for b in buffers if any(r.start <= t < r.stop for r in b.live_ranges)]
            for t in range(20)
        ]
        at_peak = [now for now in live if any(b.byte_offset + b.size_bytes == peak for b in now)]
        most = max(sum(b.size_bytes for b in now) for now in at_peak)
        assert sum(b.size_bytes for b in buffers if b.name in names) == most
        assert sorted(names) in [sorted(b.name for b in now) for now in at_peak]
