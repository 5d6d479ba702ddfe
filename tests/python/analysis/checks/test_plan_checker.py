import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import levels
from usmp.analysis.checks.plan_checker import check_plan, check_relations, relations_of
from usmp.objects import (
    BufferInfo,
    LiveRange,
    PoolAllocation,
    PoolInfoProperties,
    WorkspacePoolInfo,
)


def pool(name="sram", size_hint_bytes=100):
    return WorkspacePoolInfo(name, ["c"], PoolInfoProperties(size_hint_bytes))


SRAM, DRAM = pool(), pool("dram", -1)


def buffer(name, size, live=(), alignment=1, pools=(SRAM, DRAM)):
    return BufferInfo(name, size, pools, alignment, [LiveRange(*span) for span in live])


def check(*placed):
    """Check buffers given with their offsets in SRAM, or with pool and offset."""
    places = {
        b: PoolAllocation(SRAM, at) if isinstance(at, int) else PoolAllocation(*at)
        for b, at in placed
    }
    check_plan(list(places), places)


def refusal(*placed):
    with pytest.raises(ValueError) as error:
        check(*placed)
    return str(error.value)


def test_no_buffers():
    check_plan([], {})


def test_sound_plan():
    a, b = buffer("a", 10, alignment=4), buffer("b", 20)
    a.set_conflicts([b])
    check((a, 80), (b, 60))


def test_missing_allocation():
    a, b = buffer("a", 10), buffer("b", 20)
    with pytest.raises(ValueError) as error:
        check_plan([a, b], {a: PoolAllocation(SRAM, 0)})
    assert str(error.value) == 'USMP plan check: buffer "b" has no allocation'


def test_allocations_of_other_buffers_are_ignored():
    a, b = buffer("a", 10), buffer("b", 20)
    a.set_conflicts([b])
    check_plan([a], {a: PoolAllocation(SRAM, 0), b: PoolAllocation(SRAM, 0)})


@pytest.mark.parametrize(
    ("size", "alignment", "pools", "place", "reason"),
    [
        (10, 1, (DRAM,), (SRAM, 0), "is in a pool that is not one of its candidates"),
        (10, 1, (), (SRAM, 0), "is in a pool that is not one of its candidates"),
        (10, 1, (SRAM,), (SRAM, -1), "starts before the pool"),
        (10, 4, (SRAM,), (SRAM, -4), "starts before the pool"),
        (0, 1, (SRAM,), (SRAM, -1), "starts before the pool"),
        (10, 16, (SRAM,), (SRAM, 8), "is not aligned"),
        (0, 16, (SRAM,), (SRAM, 8), "is not aligned"),
        (
            10,
            1,
            (SRAM,),
            (SRAM, 91),
            "ends at byte 101, but the size hint of the pool is 100 bytes",
        ),
        (
            0,
            1,
            (SRAM,),
            (SRAM, 101),
            "ends at byte 101, but the size hint of the pool is 100 bytes",
        ),
        (10, 1, (DRAM,), (DRAM, 2**63 - 5), "ends beyond the largest 64-bit offset"),
    ],
)
def test_allocation_that_is_wrong_by_itself(size, alignment, pools, place, reason):
    where, offset = place
    assert refusal((buffer("a", size, alignment=alignment, pools=pools), place)) == (
        f'USMP plan check: buffer "a" ({size} bytes, alignment {alignment}) at offset {offset} '
        f'of pool "{where.pool_name}" {reason}'
    )


@pytest.mark.parametrize("place", [90, (DRAM, 2**63 - 11)])
def test_the_last_byte_of_a_pool_may_be_used(place):
    check((buffer("a", 10), place))


def test_a_pool_of_no_bytes():
    nothing = pool("nothing", 0)
    check((buffer("a", 0, pools=[nothing]), (nothing, 0)))
    assert "the size hint of the pool is 0 bytes" in refusal(
        (buffer("a", 1, pools=[nothing]), (nothing, 0))
    )


def test_the_size_hint_is_that_of_the_candidate():
    """An algorithm cannot make room by answering with a pool of its own making."""
    assert "the size hint of the pool is 100 bytes" in refusal(
        (buffer("a", 200), (pool("sram", 1000), 0))
    )


@pytest.mark.parametrize("listed_by", ["a", "b"])
def test_conflict_listed_by_one_side_only(listed_by):
    a, b = buffer("a", 10), buffer("b", 20)
    {"a": a, "b": b}[listed_by].set_conflicts([b if listed_by == "a" else a])
    first, second = ('"a" at bytes [0, 10)', '"b" at bytes [5, 25)')
    if listed_by == "b":
        first, second = second, first
    assert refusal((a, 0), (b, 5)) == (
        f"USMP plan check: buffers {first} and {second} share bytes [5, 10) "
        'of pool "sram", but they conflict'
    )
    check((a, 0), (b, 10))
    check((a, 0), (b, (DRAM, 5)))


def test_live_ranges_count_without_any_listed_conflict():
    a, b = buffer("a", 10, [(0, 2), (6, 9)]), buffer("b", 20, [(3, 5), (8, 10)])
    assert refusal((a, 0), (b, 5)) == (
        'USMP plan check: buffers "a" at bytes [0, 10) and "b" at bytes [5, 25) share bytes '
        '[5, 10) of pool "sram", but both are live at position 8'
    )
    check((a, 0), (b, 10))
    check((a, 0), (b, (DRAM, 5)))


def test_live_ranges_are_half_open_and_need_no_order():
    a, b = buffer("a", 10, [(5, 7), (0, 2)]), buffer("b", 20, [(2, 5), (7, 9)])
    check((a, 0), (b, 5))


def test_a_long_buffer_is_compared_with_all_that_start_inside_it():
    long = buffer("long", 50, [(0, 9)])
    short = [buffer(f"s{i}", 5, [(10, 11)]) for i in range(3)]
    late = buffer("late", 5, [(8, 10)])
    assert 'buffers "long" at bytes [0, 50) and "late" at bytes [45, 50)' in refusal(
        (long, 0), *((s, 10 * i) for i, s in enumerate(short)), (late, 45)
    )


def test_pools_are_told_apart_by_name():
    a, b = buffer("a", 10, [(0, 2)]), buffer("b", 10, [(1, 2)])
    assert "both are live at position 1" in refusal((a, (pool(), 0)), (b, (pool(), 0)))


def test_buffers_of_no_bytes_share_none():
    a, b = buffer("a", 10, [(0, 9)]), buffer("b", 0, [(0, 9)])
    a.set_conflicts([b])
    check((a, 0), (b, 5))


def test_a_buffer_does_not_conflict_with_itself():
    a = buffer("a", 10, [(0, 9)])
    a.set_conflicts([a])
    check((a, 0))


@st.composite
def plans(draw):
    numbers = st.integers(-1, 14)
    placed = []
    for name in "abcdefg"[: draw(st.integers(0, 7))]:
        spans = draw(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 3)), max_size=3))
        alignment = draw(st.sampled_from([1, 1, 1, 2]))
        pools = draw(st.sampled_from([[SMALL, LARGE], [SMALL, LARGE], [LARGE]]))
        b = buffer(name, draw(st.integers(0, 6)), [(s, s + n) for s, n in spans], alignment, pools)
        placed.append((b, (draw(st.sampled_from([SMALL, LARGE, LARGE])), draw(numbers))))
    for b, _ in placed:
        b.set_conflicts([other for other, _ in placed if draw(st.integers(0, 5)) == 0])
    return placed


SMALL, LARGE = pool("small", 16), pool("large", -1)


def is_sound(placed):
    def live(b):
        return {t for span in b.live_ranges for t in range(span.start, span.stop)}

    def used(b, place):
        return {(place[0].pool_name, place[1] + i) for i in range(b.size_bytes)}

    alone = all(
        where.pool_name in [candidate.pool_name for candidate in b.pool_candidates]
        and offset >= 0
        and offset % b.alignment == 0
        and (where.size_hint_bytes < 0 or offset + b.size_bytes <= where.size_hint_bytes)
        for b, (where, offset) in placed
    )
    return alone and not any(
        used(a, x) & used(b, y) and (b in list(a.conflicts) or live(a) & live(b))
        for a, x in placed
        for b, y in placed
        if a != b
    )


@pytest.mark.slow
@settings(max_examples=levels.number(250, 2500), deadline=None)
@given(plans())
def test_exactly_the_sound_plans_pass(placed):
    if is_sound(placed):
        check(*placed)
    else:
        assert refusal(*placed).startswith("USMP plan check: buffer")


def test_thousands_of_buffers_in_the_same_bytes_take_seconds_at_most():
    placed = [(buffer(str(i), 50, [(2 * i, 2 * i + 1)]), i % 50) for i in range(4000)]
    start = time.monotonic()
    check(*placed)
    assert time.monotonic() - start < 10


# ---- what an algorithm may not change


def related():
    """Three buffers that conflict; `c` may start 4 bytes below `a`."""
    a, b, c = buffers = [buffer(name, 10) for name in "abc"]
    for one in buffers:
        one.set_conflicts([other for other in buffers if other != one])
    c.set_overlaps({a: 4})
    return a, b, c


def test_buffers_that_were_only_read():
    buffers = related()
    check_relations(buffers, relations_of(buffers), "mine")


@pytest.mark.parametrize(
    ("change", "changed"),
    [
        (lambda a, b, c: b.set_conflicts([]), 'conflicts of buffer "b"'),
        (lambda a, b, c: b.set_conflicts([a]), 'conflicts of buffer "b"'),
        (lambda a, b, c: b.set_conflicts([a, a]), 'conflicts of buffer "b"'),
        (lambda a, b, c: c.set_overlaps({}), 'safe overlaps of buffer "c"'),
        (lambda a, b, c: c.set_overlaps({a: 3}), 'safe overlaps of buffer "c"'),
        (lambda a, b, c: c.set_overlaps({b: 4}), 'safe overlaps of buffer "c"'),
        (lambda a, b, c: c.set_overlaps({a: 4, b: 9}), 'safe overlaps of buffer "c"'),
        (lambda a, b, c: a.set_overlaps({b: 10}), 'safe overlaps of buffer "a"'),
    ],
)
def test_buffers_that_were_changed(change, changed):
    buffers = related()
    before = relations_of(buffers)
    change(*buffers)
    with pytest.raises(ValueError) as error:
        check_relations(buffers, before, "mine")
    assert str(error.value) == (
        f'USMP plan check: algorithm "mine" changed the {changed}; an algorithm may only read its '
        "buffers"
    )
