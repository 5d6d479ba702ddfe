"""Buffers that lie inside of others: what is solved for, and where everything is in the end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from usmp_solver import Buffer, Pool, Problem, colocate, solve


def test_a_buffer_inside_of_another_is_live_with_it():
    storage, view = Buffer("storage", 64, [(0, 2)], alignment=4), Buffer("view", 16, [(4, 6)])
    made = colocate([storage, view, Buffer("c", 8, [(5, 7)])], {"view": ("storage", 32)})
    assert made.buffers == (
        Buffer("storage", 64, ((0, 2), (4, 6)), alignment=4),
        Buffer("c", 8, ((5, 7),)),
    )
    assert made.members == {"storage": ("storage", 0), "view": ("storage", 32), "c": ("c", 0)}
    solution = solve(Problem.from_buffers(made.buffers))
    places = made.places(solution)
    assert solution.peak == 72
    assert places["view"] == ("memory", places["storage"][1] + 32)


def test_chains_add_up_and_the_whole_grows_to_its_last_byte():
    buffers = [Buffer("a", 8, [(0, 1)]), Buffer("b", 8, [(1, 2)]), Buffer("c", 8, [(2, 3)])]
    made = colocate(buffers, {"c": ("b", 8), "b": ("a", 4)})
    assert made.buffers == (Buffer("a", 20, ((0, 3),)),)
    assert made.members == {"a": ("a", 0), "b": ("a", 4), "c": ("a", 12)}


def test_what_the_parts_demand_holds_for_the_whole():
    made = colocate(
        [
            Buffer("a", 32, [(0, 1)], alignment=4, pools=("sram", "flash"), conflicts=("x",)),
            Buffer("b", 12, [(1, 2)], alignment=6, pools=("flash",), offset=36, conflicts=("y",)),
            Buffer("x", 4, [(5, 6)], conflicts=("b",)),
            Buffer("y", 4, [(5, 6)]),
        ],
        {"b": ("a", 12)},
    )
    whole, x, _ = made.buffers
    assert whole == Buffer(
        "a", 32, ((0, 2),), alignment=12, pools=("flash",), offset=24, conflicts=("x", "y")
    )
    assert x.conflicts == ("a",)


def test_overlaps_are_those_of_buffers_that_stay_alone():
    buffers = [
        Buffer("in", 8, [(0, 2)]),
        Buffer("out", 8, [(1, 3)], overlaps={"in": 0, "part": 4}),
        Buffer("whole", 8, [(1, 3)], overlaps={"in": 0}),
        Buffer("part", 4, [(1, 2)]),
    ]
    made = colocate(buffers, {"part": ("whole", 0)})
    assert {buffer.name: buffer.overlaps for buffer in made.buffers} == {
        "in": {},
        "out": {"in": 0},
        "whole": {},
    }


def test_parts_that_conflict_may_lie_side_by_side():
    buffers = [Buffer("a", 8), Buffer("b", 4, conflicts=("c",)), Buffer("c", 4)]
    assert colocate(buffers, {"b": ("a", 0), "c": ("a", 4)}).buffers == (Buffer("a", 8, ()),)
    with pytest.raises(ValueError, match=r'^buffers "b" and "c" conflict, but share bytes in "a"$'):
        colocate(buffers, {"b": ("a", 0), "c": ("a", 3)})


@pytest.mark.parametrize(
    ("parts", "within", "message"),
    [
        ([Buffer("a", 4)], {"b": ("a", 0)}, '"b", which is to lie in another buffer, is unknown'),
        ([Buffer("a", 4)], {"a": ("b", 0)}, 'buffer "a" is to lie in the unknown buffer "b"'),
        ([Buffer("a", 4)], {"a": ("a", 0)}, 'buffer "a" is to lie in "a", which lies in it'),
        (
            [Buffer("a", 4), Buffer("b", 4)],
            {"a": ("b", 0), "b": ("a", 0)},
            'buffer "b" is to lie in "a", which lies in it',
        ),
        (
            [Buffer("a", 4), Buffer("b", 4)],
            {"b": ("a", -1)},
            'buffer "b" is to start 1 bytes before "a"',
        ),
        (
            [Buffer("a", 4), Buffer("b", 4, alignment=8)],
            {"b": ("a", 4)},
            'buffer "b" starts 4 bytes into "a", which is no multiple of its alignment, 8',
        ),
        (
            [Buffer("a", 4, pools=("sram",)), Buffer("b", 4, pools=("flash",))],
            {"b": ("a", 0)},
            'there is no pool that may hold all that lies in buffer "a"',
        ),
        (
            [Buffer("a", 4, offset=8), Buffer("b", 4, offset=8)],
            {"b": ("a", 4)},
            'the pinned offsets of "a" and "b" contradict where they lie in "a"',
        ),
        ([Buffer("a", 4)] * 2, {}, "two buffers have one name; give each a name of its own"),
    ],
)
def test_what_contradicts_itself_is_refused(parts, within, message):
    with pytest.raises(ValueError) as caught:
        colocate(parts, within)
    assert str(caught.value) == message


@pytest.mark.slow
@given(st.data())
def test_in_every_plan_parts_lie_where_they_must_and_meet_no_other(data):
    count = data.draw(st.integers(2, 6))
    numbers = [
        data.draw(st.tuples(st.integers(0, 9), st.integers(0, 5), st.integers(1, 3)))
        for _ in range(count)
    ]
    buffers = [
        Buffer(str(name), size, [(start, start + length)])
        for name, (size, start, length) in enumerate(numbers)
    ]
    within = {
        str(name): (str(data.draw(st.integers(0, name - 1))), data.draw(st.integers(0, 9)))
        for name in range(1, count)
        if data.draw(st.booleans())
    }
    made = colocate(buffers, within)
    places = made.places(solve(Problem.from_buffers(made.buffers, [Pool("sram")])))
    assert places.keys() == {buffer.name for buffer in buffers}
    for name, (host, start) in within.items():
        assert places[name][1] == places[host][1] + start
    for a in buffers:
        for b in buffers:
            if made.members[a.name][0] == made.members[b.name][0]:
                continue
            are_live_together = a.live[0][0] < b.live[0][1] and b.live[0][0] < a.live[0][1]
            low, high = sorted([(places[a.name][1], a.size), (places[b.name][1], b.size)])
            assert not (are_live_together and a.size and b.size) or sum(low) <= high[0]
