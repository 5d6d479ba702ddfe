"""The greedy algorithms on the graphs of TVM's own tests (tests/python/tir-usmp at v0.18.0).

TVM stacks a buffer on top of its neighbours; here it goes into the lowest gap, so some peaks are
smaller. `test_fanout` is larger: TVM's 190 lets conflicting buffers overlap where only one of
the two lists the other.
"""

import pytest

from usmp.algorithms import get_algorithm
from usmp.objects import BufferInfo, PoolInfoProperties, WorkspacePoolInfo

GREEDY = ["greedy_by_size", "greedy_by_conflicts"]


def pool(name="global_workspace", size_hint_bytes=-1):
    return WorkspacePoolInfo(name, ["c"], PoolInfoProperties(size_hint_bytes))


def graph(sizes, conflicts, pools=None, alignment=1):
    """Buffers by name; `conflicts` maps a name to the names, or the letters, it lists."""
    pools = pools or [pool()]
    buffers = {name: BufferInfo(name, size, pools, alignment) for name, size in sizes.items()}
    for name, others in conflicts.items():
        buffers[name].set_conflicts([buffers[other] for other in others])
    return buffers


def run(algorithm, buffers):
    """Pool name and offset by buffer name."""
    plan = get_algorithm(algorithm)(list(buffers.values()), 0)
    assert [buffer.name_hint for buffer in plan] == list(buffers)
    return {
        buffer.name_hint: (place.pool_info.pool_name, place.byte_offset)
        for buffer, place in plan.items()
    }


def offsets(algorithm, buffers):
    return {name: offset for name, (_, offset) in run(algorithm, buffers).items()}


def peaks(algorithm, buffers):
    ends = {}
    for name, (where, offset) in run(algorithm, buffers).items():
        ends[where] = max(ends.get(where, 0), offset + buffers[name].size_bytes)
    return ends


@pytest.mark.parametrize("algorithm", GREEDY)
def test_name_based_ordering(algorithm):
    for _ in range(10):
        buffers = graph(
            {"bi_a": 10, "bi_b": 10, "bi_c": 10},
            {"bi_a": ["bi_b", "bi_c"], "bi_b": ["bi_c", "bi_a"], "bi_c": ["bi_a", "bi_b"]},
        )
        assert offsets(algorithm, buffers) == {"bi_a": 20, "bi_b": 10, "bi_c": 0}


@pytest.mark.parametrize("algorithm", GREEDY)
def test_equal_buffers_keep_the_input_order(algorithm):
    p = pool()
    buffers = [BufferInfo("same", 10, [p]) for _ in range(3)]
    for buffer in buffers:
        buffer.set_conflicts(buffers)
    plan = get_algorithm(algorithm)(buffers, 0)
    assert [plan[buffer].byte_offset for buffer in buffers] == [0, 10, 20]


@pytest.mark.parametrize("algorithm", GREEDY)
def test_linear(algorithm):
    buffers = graph(
        {"a": 10, "b": 20, "c": 100, "d": 40, "e": 50, "f": 50},
        {"a": "b", "b": "ac", "c": "bd", "d": "ce", "e": "df", "f": "e"},
    )
    assert peaks(algorithm, buffers) == {"global_workspace": 140}


@pytest.mark.parametrize(
    ("algorithm", "peak"), [("greedy_by_size", 220), ("greedy_by_conflicts", 210)]
)
def test_fanout(algorithm, peak):
    buffers = graph(
        {"a": 10, "b": 20, "c": 100, "d": 40, "e": 50, "f": 60, "g": 70},
        {"a": "bc", "b": "ace", "c": "eabd", "d": "bfce", "e": "cfbd", "f": "def", "g": "f"},
    )
    assert peaks(algorithm, buffers) == {"global_workspace": peak}


@pytest.mark.parametrize("algorithm", GREEDY)
def test_mobilenet_subgraph(algorithm):
    buffers = graph(
        {
            "sid_9": 301056,
            "sid_8": 802816,
            "PaddedInput_7": 314646,
            "Conv2dOutput_7": 256,
            "tensor_2": 200704,
        },
        {
            "PaddedInput_7": ["sid_9", "sid_8", "Conv2dOutput_7"],
            "tensor_2": ["sid_8"],
            "sid_9": ["PaddedInput_7"],
            "sid_8": ["PaddedInput_7", "Conv2dOutput_7", "tensor_2"],
            "Conv2dOutput_7": ["sid_8", "PaddedInput_7"],
        },
        [pool("fast_memory", 200704), pool("slow_memory")],
    )
    assert run(algorithm, buffers) == {
        "sid_9": ("slow_memory", 0),
        "sid_8": ("slow_memory", 0),
        "PaddedInput_7": ("slow_memory", 802816),
        "Conv2dOutput_7": ("fast_memory", 0),
        "tensor_2": ("fast_memory", 0),
    }
    assert peaks(algorithm, buffers) == {"fast_memory": 200704, "slow_memory": 1117462}


RESNET_SIZES = {
    "sid_2": 720000,
    "sid_6": 5760000,
    "sid_7": 720000,
    "sid_8": 720000,
    "PaddedInput": 720000,
    "PaddedInput_1": 758912,
    "PaddedInput_2": 720000,
    "PaddedInput_3": 720000,
    "Conv2dOutput": 256,
    "Conv2dOutput_1": 256,
    "Conv2dOutput_2": 256,
    "Conv2dOutput_3": 256,
}
# One line an operator: what is live while it runs. TVM's conflicts of this graph are the pairs.
RESNET_LIVE = [
    ["sid_2", "PaddedInput", "Conv2dOutput", "sid_8"],
    ["sid_2", "sid_8", "PaddedInput_1"],
    ["sid_2", "PaddedInput_1", "Conv2dOutput_1", "sid_7"],
    ["sid_2", "sid_7", "PaddedInput_2"],
    ["sid_2", "PaddedInput_2", "Conv2dOutput_2", "sid_6"],
    ["sid_2", "sid_6", "PaddedInput_3"],
    ["sid_6", "PaddedInput_3", "Conv2dOutput_3"],
]


@pytest.mark.parametrize("algorithm", GREEDY)
def test_resnet_subgraph(algorithm):
    conflicts = {
        name: [
            other
            for other in RESNET_SIZES
            if other != name and any({name, other} <= set(live) for live in RESNET_LIVE)
        ]
        for name in RESNET_SIZES
    }
    assert peaks(algorithm, graph(RESNET_SIZES, conflicts)) == {"global_workspace": 7200256}


@pytest.mark.parametrize("algorithm", [*GREEDY, "no_sharing"])
def test_no_pool_error(algorithm):
    buffers = graph(
        {"bi_a": 10, "bi_b": 10, "bi_c": 10},
        {"bi_a": ["bi_b"], "bi_b": ["bi_c"], "bi_c": ["bi_a"]},
        [pool("tiny_workspace", 10)],
    )
    with pytest.raises(ValueError) as error:
        run(algorithm, buffers)
    assert str(error.value) == (
        "TVM USMP Error: the space available in the provided pools exceeded when trying to "
        "allocate the buffer : bi_b (10 bytes, alignment 1)\n"
        '  pool "tiny_workspace": size_hint_bytes=10, 10 bytes already taken, '
        "the buffer would end at byte 20\n"
        "Please increase the size_hints for memory pools. Another pool among the candidates of "
        "the buffer, or another tir.usmp.algorithm, may also help."
    )


@pytest.mark.parametrize("algorithm", [*GREEDY, "no_sharing"])
def test_error_tells_of_every_candidate_pool(algorithm):
    buffers = graph({"a": 100}, {}, [pool("itcm", 4), pool("dtcm", 8)], alignment=16)
    with pytest.raises(ValueError) as error:
        run(algorithm, buffers)
    assert str(error.value).splitlines()[:3] == [
        "TVM USMP Error: the space available in the provided pools exceeded when trying to "
        "allocate the buffer : a (100 bytes, alignment 16)",
        '  pool "itcm": size_hint_bytes=4, 0 bytes already taken, the buffer would end at byte 100',
        '  pool "dtcm": size_hint_bytes=8, 0 bytes already taken, the buffer would end at byte 100',
    ]


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
    """TVM rounded by the neighbour's alignment and put b at 10."""
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
