"""The lower bound: exact for one alignment, a bound for several, and per candidate pool."""

import itertools
import random
from dataclasses import dataclass, field

import pytest
from tvm.script import ir as I
from tvm.script import tirx as T

from support.buffer_views import DATA, DRAM, FLASH, SRAM, analyze
from usmp.algorithms import get_algorithm
from usmp.analysis import memory_pressure
from usmp.objects import BufferInfo, LiveRange


@dataclass
class Buffer:
    size_bytes: int
    alignment: int = 1
    live_ranges: list = field(default_factory=lambda: [LiveRange(0, 1)])


def live(size_bytes, *ranges, alignment=1):
    return Buffer(size_bytes, alignment, [LiveRange(start, stop) for start, stop in ranges])


@pytest.mark.parametrize(
    ("buffers", "pressure"),
    [
        ([], 0),
        ([Buffer(10)], 10),
        ([live(10, (0, 2)), live(20, (2, 4))], 20),
        ([live(10, (0, 3)), live(20, (2, 4))], 30),
        ([live(10, (0, 1), (4, 5)), live(20, (1, 4)), live(5, (4, 9))], 20),
        ([live(10, (0, 3), (1, 5)), live(20, (2, 4))], 30),
        ([live(0, (0, 9), alignment=64), live(7, (0, 9))], 7),
    ],
)
def test_bytes_live_at_once(buffers, pressure):
    assert memory_pressure(buffers) == pressure


@pytest.mark.parametrize(
    ("buffers", "pressure"),
    [
        ([Buffer(10, 16)], 10),
        ([Buffer(10, 16), Buffer(10, 16)], 26),
        ([Buffer(10, 16), Buffer(15, 16)], 26),
        ([Buffer(10, 16), Buffer(16, 16)], 26),
        ([Buffer(17, 16), Buffer(17, 16), Buffer(1, 1)], 49),
        ([Buffer(17, 16), Buffer(17, 16), Buffer(40, 1)], 74),
        ([Buffer(5, 6), Buffer(5, 4)], 11),
    ],
)
def test_alignment_counts(buffers, pressure):
    assert memory_pressure(buffers) == pressure


def smallest_peak(sizes, alignment):
    """Of all stacks of these buffers."""
    peaks = []
    for order in itertools.permutations(sizes):
        end = 0
        for size in order:
            end = -(-end // alignment) * alignment + size
        peaks.append(end)
    return min(peaks)


def test_exact_for_buffers_of_one_alignment():
    draw = random.Random(0)
    for _ in range(200):
        alignment = draw.choice([1, 2, 3, 16])
        sizes = [draw.randint(1, 40) for _ in range(draw.randint(1, 5))]
        buffers = [Buffer(size, alignment) for size in sizes]
        assert memory_pressure(buffers) == smallest_peak(sizes, alignment)


@pytest.mark.slow
def test_no_plan_is_smaller():
    draw = random.Random(0)
    reached = 0
    for _ in range(300):
        buffers = []
        for i in range(draw.randint(1, 8)):
            start = draw.randint(0, 6)
            live_range = LiveRange(start, start + draw.randint(1, 4))
            alignment = draw.choice([1, 4, 6, 16])
            size = draw.randint(0, 40)
            buffers.append(BufferInfo(f"b{i}", size, [SRAM], alignment, [live_range]))
        for a in buffers:
            a.set_conflicts([b for b in buffers if a != b and meet(a, b)])
        plan = get_algorithm("hill_climb")(buffers, 0)
        ends = [place.byte_offset + b.size_bytes for b, place in plan.items() if b.size_bytes]
        assert max(ends, default=0) >= memory_pressure(buffers)
        reached += max(ends, default=0) == memory_pressure(buffers)
    assert reached > 150


def meet(a, b):
    (x,), (y,) = a.live_ranges, b.live_ranges
    return x.start < y.stop and y.start < x.stop


def test_pressure_of_each_candidate_pool():
    """Whatever may go to a pool counts for it; equal constants count once."""

    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            a = T.alloc_buffer((32,), "int8", annotations={"candidate_memory_pools": [SRAM, DRAM]})
            b = T.alloc_buffer((16,), "int8", annotations={"candidate_memory_pools": [DRAM]})
            c = T.alloc_buffer((64,), "int8", annotations={"candidate_memory_pools": [SRAM]})
            k = T.alloc_buffer(
                (4,), "int8", annotations={"candidate_memory_pools": [FLASH], "constant_data": DATA}
            )
            same = T.alloc_buffer(
                (4,), "int8", annotations={"candidate_memory_pools": [FLASH], "constant_data": DATA}
            )
            a[0] = k[0]
            b[0] = a[0]
            c[0] = same[0]

    analysis = analyze(Mod)
    assert analysis.memory_pressure == 64
    assert dict(analysis.pool_memory_pressure) == {"sram": 64, "dram": 48, "flash": 4}
