"""Where the greedy algorithms put what: gaps, alignment, pools, limits."""

import pytest

from support.placement_graphs import graph, offsets, pool, run
from usmp.algorithms import get_algorithm
from usmp.objects import BufferInfo

GREEDY = ["greedy_by_size", "greedy_by_conflicts"]


@pytest.mark.parametrize("algorithm", GREEDY)
def test_equal_buffers_keep_the_input_order(algorithm):
    p = pool()
    buffers = [BufferInfo("same", 10, [p]) for _ in range(3)]
    for buffer in buffers:
        buffer.set_conflicts(buffers)
    plan = get_algorithm(algorithm)(buffers, 0)
    assert [plan[buffer].byte_offset for buffer in buffers] == [0, 10, 20]


@pytest.mark.parametrize("algorithm", [*GREEDY, "no_sharing"])
def test_no_candidates(algorithm):
    with pytest.raises(ValueError) as error:
        get_algorithm(algorithm)([BufferInfo("x", 8, [])], 0)
    assert str(error.value) == 'Cannot process buffer "x" with no pool candidates'


@pytest.mark.parametrize("algorithm", [*GREEDY, "no_sharing"])
def test_a_buffer_listed_twice(algorithm):
    buffer = BufferInfo("x", 8, [pool()])
    with pytest.raises(ValueError, match=r'^Buffer "x" is listed twice$'):
        get_algorithm(algorithm)([buffer, buffer], 0)


@pytest.mark.parametrize("algorithm", GREEDY)
def test_two_different_pools_of_one_name(algorithm):
    a, b = BufferInfo("a", 8, [pool("sram", 8)]), BufferInfo("b", 8, [pool("sram", 16)])
    with pytest.raises(ValueError, match=r'^Two different memory pools are called "sram"$'):
        get_algorithm(algorithm)([a, b], 0)


@pytest.mark.parametrize("algorithm", GREEDY)
def test_equal_pools_of_one_name_are_one_memory(algorithm):
    a, b = BufferInfo("a", 8, [pool("sram", 16)]), BufferInfo("b", 8, [pool("sram", 16)])
    a.set_conflicts([b])
    assert offsets(algorithm, {"a": a, "b": b}) == {"a": 8, "b": 0}


@pytest.mark.parametrize("algorithm", GREEDY)
def test_conflicting_buffers_never_overlap_in_a_limited_pool(algorithm):
    """TVM put b0 and b1 both at 49; b0, b1 and b2 need 156 bytes of 152."""
    buffers = graph(
        {"b0": 55, "b1": 52, "b2": 49, "b3": 5},
        {"b0": ["b1", "b2"], "b1": ["b0", "b2"], "b2": ["b0", "b1", "b3"], "b3": ["b2"]},
        [pool("sram", 152)],
    )
    with pytest.raises(ValueError, match="the space available in the provided pools exceeded"):
        run(algorithm, buffers)


@pytest.mark.parametrize("algorithm", GREEDY)
def test_a_buffer_has_its_own_alignment(algorithm):
    """TVM rounded by the neighbor's alignment and put b at 10."""
    a, b = BufferInfo("a", 10, [pool()], 1), BufferInfo("b", 8, [pool()], 16)
    a.set_conflicts([b])
    b.set_conflicts([a])
    assert offsets(algorithm, {"a": a, "b": b}) == {"a": 0, "b": 16}


@pytest.mark.parametrize(("size", "offset"), [(40, 56), (44, 56), (45, 160)])
def test_a_gap_is_filled_if_the_aligned_buffer_fits(size, offset):
    """The new buffer may not touch c at [0, 50) and b at [100, 160), but a is long dead."""
    buffers = graph({"a": 100, "b": 60, "c": 50}, {"b": "ac"})
    new = BufferInfo("new", size, [pool()], 8)
    new.set_conflicts([buffers["b"], buffers["c"]])
    assert offsets("greedy_by_size", buffers | {"new": new}) == {
        "a": 0,
        "b": 100,
        "c": 0,
        "new": offset,
    }


@pytest.mark.parametrize("algorithm", GREEDY)
def test_a_buffer_of_no_bytes_is_in_nobodys_way(algorithm):
    buffers = graph({"big": 10, "none": 0, "tiny": 1}, {"none": ["big", "tiny"], "tiny": ["big"]})
    assert offsets(algorithm, buffers) == {"big": 0, "none": 0, "tiny": 10}


@pytest.mark.parametrize("algorithm", GREEDY)
def test_bytes_beyond_64_bits_do_not_wrap(algorithm):
    buffers = graph({"a": 2**62, "b": 2**62}, {"a": "b"})
    with pytest.raises(ValueError, match="would end beyond the largest 64-bit offset"):
        run(algorithm, buffers)


def test_no_sharing_stacks_in_input_order():
    p = pool()
    buffers = {
        "a": BufferInfo("a", 10, [p], 4),
        "c": BufferInfo("c", 7, [p], 16),
        "b": BufferInfo("b", 1, [p], 8),
    }
    assert offsets("no_sharing", buffers) == {"a": 0, "c": 16, "b": 24}


def test_no_sharing_gives_no_bytes_to_a_buffer_of_no_bytes():
    p = pool()
    buffers = {
        "a": BufferInfo("a", 10, [p]),
        "none": BufferInfo("none", 0, [p], 16),
        "b": BufferInfo("b", 1, [p]),
    }
    assert offsets("no_sharing", buffers) == {"a": 0, "none": 16, "b": 10}


def test_no_sharing_spills_to_the_next_pool_with_room():
    buffers = graph({"a": 10, "b": 10, "c": 2}, {}, [pool("fast", 12), pool("slow", 10)])
    assert run("no_sharing", buffers) == {"a": ("fast", 0), "b": ("slow", 0), "c": ("fast", 10)}
