"""What accesses cost, by hand."""

import pytest
from tvm.target import Target

from usmp.algorithms.access_cost import access_costs, access_cycles, has_speed
from usmp.objects import BufferInfo, PoolInfoProperties, WorkspacePoolInfo
from usmp.objects.access_count import AccessCount
from usmp.objects.target.targets import accelerator_target

C, ACCEL = Target("c"), accelerator_target("accel")


def pool(name="sram", **properties):
    return WorkspacePoolInfo(name, ["c", "accel"], PoolInfoProperties(**properties))


READS_OF_BYTES = AccessCount(C, 1, 1, reads=100, writes=0)
WRITES_OF_WORDS = AccessCount(C, 4, 4, reads=0, writes=10)


@pytest.mark.parametrize(
    ("properties", "count", "cycles"),
    [
        # One cycle an access where nothing is known.
        ({}, READS_OF_BYTES, 100),
        ({"read_latency_cycles": 3}, READS_OF_BYTES, 100 * (3 + 1)),
        ({"write_latency_cycles": 3}, READS_OF_BYTES, 100),
        # A narrow access takes a whole cycle of a wide bus, a wide one several of a narrow bus.
        ({"read_bandwidth_bytes_per_cycle": 8}, READS_OF_BYTES, 100),
        ({"write_bandwidth_bytes_per_cycle": 2}, WRITES_OF_WORDS, 10 * 2),
        (
            {"write_bandwidth_bytes_per_cycle": 3, "write_latency_cycles": 5},
            WRITES_OF_WORDS,
            10 * (5 + 2),
        ),
        # 20 bytes: element by element, in bursts of 8, 8 and 4, and of another target.
        ({"read_latency_cycles": 9}, AccessCount(C, 2, 20, 1, 0), 10 * (9 + 1)),
        (
            {"read_latency_cycles": 9, "target_burst_bytes": {"c": 8}},
            AccessCount(C, 2, 20, 1, 0),
            3 * (9 + 1),
        ),
        (
            {
                "read_latency_cycles": 9,
                "read_bandwidth_bytes_per_cycle": 2,
                "target_burst_bytes": {C: 8},
            },
            AccessCount(C, 2, 20, 2, 0),
            2 * ((9 + 4) + (9 + 4) + (9 + 2)),
        ),
        (
            {"read_latency_cycles": 9, "target_burst_bytes": {"c": 8}},
            AccessCount(ACCEL, 2, 20, 1, 0),
            10 * (9 + 1),
        ),
        # A burst is no shorter than an element.
        (
            {"read_latency_cycles": 9, "target_burst_bytes": {"c": 1}},
            AccessCount(C, 4, 4, 1, 0),
            10,
        ),
        ({"read_latency_cycles": 9}, AccessCount(None, 1, 1, 1, 0), 10),
    ],
)
def test_cycles(properties, count, cycles):
    assert access_cycles(pool(**properties), [count]) == cycles


def test_reads_and_writes_of_all_kinds_add_up():
    slow = pool(read_latency_cycles=1, write_latency_cycles=4)
    counts = [AccessCount(C, 1, 1, 7, 3), AccessCount(ACCEL, 2, 2, 5, 0)]
    assert access_cycles(slow, counts) == 7 * 2 + 3 * 5 + 5 * 2


def test_clocks_are_compared_in_time():
    """300 MHz and 200 MHz; a pool of unknown clock has the fastest."""
    pools = [
        pool("fast", clock_frequency_hz=300_000_000),
        pool("slow", clock_frequency_hz=200_000_000),
        pool("unknown"),
    ]
    buffer = BufferInfo("a", 1, pools)
    costs = access_costs({buffer: [AccessCount(C, 1, 1, 101, 0)]})
    assert costs.clock_frequency_hz == 300_000_000
    assert [costs.cycles(costs.cost(buffer, p)) for p in pools] == [101, 152, 101]
    assert [costs.cost(buffer, p) for p in pools] == [202, 303, 202]


def test_without_clocks_all_pools_have_one():
    pools = [pool("fast"), pool("slow", read_latency_cycles=1)]
    buffer = BufferInfo("a", 1, pools)
    costs = access_costs({buffer: [AccessCount(C, 1, 1, 10, 0)]})
    assert costs.clock_frequency_hz == -1
    assert [costs.cycles(costs.cost(buffer, p)) for p in pools] == [10, 20]


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ({}, False),
        ({"size_hint_bytes": 5, "target_burst_bytes": {"c": 8}}, False),
        ({"clock_frequency_hz": 1}, True),
        ({"read_bandwidth_bytes_per_cycle": 1}, True),
        ({"write_bandwidth_bytes_per_cycle": 1}, True),
        ({"read_latency_cycles": 1}, True),
        ({"write_latency_cycles": 1}, True),
    ],
)
def test_what_says_how_fast_a_pool_is(properties, said):
    assert has_speed(pool(**properties)) == said
