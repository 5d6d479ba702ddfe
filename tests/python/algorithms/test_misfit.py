"""What a user reads when a buffer fits nowhere."""

import random
import re

import pytest

from support import levels
from support.placement_graphs import graph, pool, run
from usmp.objects import BufferInfo

ALGORITHMS = ["greedy_by_size", "greedy_by_conflicts", "hill_climb", "no_sharing"]
CYCLE = {"bi_a": ["bi_b"], "bi_b": ["bi_c"], "bi_c": ["bi_a"]}


def message(algorithm, buffers):
    with pytest.raises(ValueError) as error:
        run(algorithm, buffers)
    return str(error.value)


def fits(algorithm, buffers):
    try:
        run(algorithm, buffers)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_whole_message(algorithm):
    buffers = graph({"bi_a": 10, "bi_b": 10, "bi_c": 10}, CYCLE, [pool("tiny_workspace", 10)])
    assert message(algorithm, buffers) == (
        "TVM USMP Error: the space available in the provided pools exceeded when trying to "
        "allocate the buffer : bi_b (10 bytes, alignment 1)\n"
        '  pool "tiny_workspace": size_hint_bytes=10, 10 bytes already taken, '
        "the buffer would end at byte 20\n"
        "Please increase the size_hints for memory pools. The smallest size_hint_bytes with which "
        'the same algorithm succeeds: 30 for pool "tiny_workspace". '
        "Another pool among the candidates of the buffer, or another tir.usmp.algorithm, may also "
        "help."
    )


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_candidate_pool_is_named(algorithm):
    buffers = graph({"a": 100}, {}, [pool("itcm", 4), pool("dtcm", 8)], alignment=16)
    text = message(algorithm, buffers)
    assert text.splitlines()[:3] == [
        "TVM USMP Error: the space available in the provided pools exceeded when trying to "
        "allocate the buffer : a (100 bytes, alignment 16)",
        '  pool "itcm": size_hint_bytes=4, 0 bytes already taken, the buffer would end at byte 100',
        '  pool "dtcm": size_hint_bytes=8, 0 bytes already taken, the buffer would end at byte 100',
    ]
    assert 'succeeds: 100 for pool "itcm", or 100 for pool "dtcm".' in text


def test_without_sharing_it_would_go_on_top():
    buffers = graph({"a": 15, "b": 15, "c": 15}, {}, [pool("sram", 31)])
    text = message("no_sharing", buffers)
    assert "30 bytes already taken, the buffer would end at byte 45" in text
    assert 'succeeds: 45 for pool "sram".' in text


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_pins_that_collide(algorithm):
    p = pool("sram", 100)
    a = BufferInfo("a", 10, [p], fixed_offset=20)
    b = BufferInfo("b", 10, [p], fixed_offset=25)
    a.set_conflicts([b])
    first, second = ("b", "a") if algorithm != "no_sharing" else ("a", "b")
    start = {"a": 20, "b": 25}
    pin = start[second]
    assert message(algorithm, {"a": a, "b": b}) == (
        "TVM USMP Error: the space available in the provided pools exceeded when trying to "
        f"allocate the buffer : {second} (10 bytes, alignment 1, pinned to offset {pin})\n"
        f'  pool "sram": size_hint_bytes=100, {start[first] + 10} bytes already taken, '
        f'buffer "{first}" is at bytes [{start[first]}, {start[first] + 10})\n'
        "No size hint helps. Give the buffer another pool, or another fixed_offset."
    )


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_pin_beyond_the_limit(algorithm):
    buffers = {"a": BufferInfo("a", 10, [pool("sram", 100)], fixed_offset=96)}
    text = message(algorithm, buffers)
    assert "(10 bytes, alignment 1, pinned to offset 96)" in text
    assert 'succeeds: 106 for pool "sram".' in text


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_bytes_beyond_64_bits_do_not_wrap(algorithm):
    text = message(algorithm, graph({"a": 2**62, "b": 2**62}, {"a": "b"}))
    assert "the buffer would end beyond the largest 64-bit offset" in text
    assert text.endswith("No size hint helps. Give the buffer another pool.")


def random_problem(seed, limits, candidates=2):
    """Up to 6 buffers that may go into two pools of the given limits, or only into one of them."""
    draw = random.Random(seed)
    pools = [pool(name, limit) for name, limit in limits.items()]
    buffers = [
        BufferInfo(
            f"b{i}",
            draw.randint(1, 20),
            draw.choice([pools, pools, pools[::-1], pools[:1]])
            if candidates == 2
            else [draw.choice(pools)],
            draw.choice([1, 4]),
        )
        for i in range(draw.randint(2, 6))
    ]
    for buffer in buffers:
        buffer.set_conflicts([b for b in buffers if draw.random() < 0.5])
    return {buffer.name_hint: buffer for buffer in buffers}


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_size_hint_is_the_smallest_that_does(algorithm):
    """Every size hint is tried: the algorithms are not monotone with two pools."""
    misfits = 0
    seeds = levels.seeds(15, 300)
    for seed in seeds:
        limits = {"fast": random.Random(-seed).randint(5, 40), "slow": 20}
        if fits(algorithm, random_problem(seed, limits)):
            continue
        misfits += 1
        text = message(algorithm, random_problem(seed, limits))
        for name in limits:
            smallest = next(
                (
                    hint
                    for hint in range(limits[name], 130)
                    if fits(algorithm, random_problem(seed, limits | {name: hint}))
                ),
                None,
            )
            named = f'{smallest} for pool "{name}"' in text.partition("succeeds:")[2]
            assert named == (smallest is not None), (seed, name, smallest, text)
    assert misfits > len(seeds) / 8


@pytest.mark.slow
def test_a_search_that_would_take_long_names_what_is_enough():
    draw = random.Random(0)
    buffers = graph(
        {f"b{i}": draw.randint(1, 10**6) for i in range(400)},
        {f"b{i}": [f"b{j}" for j in range(400) if draw.random() < 0.5] for i in range(400)},
        [pool("fast", 10**6), pool("slow", 10**6)],
    )
    text = message("greedy_by_size", buffers)
    enough = int(text.partition("Enough is size_hint_bytes=")[2].split()[0])
    roomy = {
        name: BufferInfo(name, b.size_bytes, [pool("fast", enough), pool("slow", 10**6)])
        for name, b in buffers.items()
    }
    for name, b in buffers.items():
        roomy[name].set_conflicts([roomy[other.name_hint] for other in b.conflicts])
    assert fits("greedy_by_size", roomy)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_size_hints_that_are_called_enough_are_enough(algorithm):
    """Also for an algorithm that what it refuses leads elsewhere."""
    tried = 0
    seeds = levels.seeds(80, 1000)
    for seed in seeds:
        limits = {"fast": random.Random(-seed).randint(5, 30), "slow": 12}
        if fits(algorithm, random_problem(seed, limits, candidates=1)):
            continue
        _, _, enough = message(algorithm, random_problem(seed, limits, candidates=1)).partition(
            "Enough is size_hint_bytes="
        )
        hints = {name: int(hint) for hint, name in re.findall(r'(\d+) for pool "(\w+)"', enough)}
        if hints:
            tried += 1
            assert fits(algorithm, random_problem(seed, limits | hints, candidates=1)), seed
            assert (" together." in enough) == (len(hints) > 1)
    assert tried > len(seeds) / 20


def test_a_pin_near_the_largest_offset():
    p = pool()
    a = BufferInfo("a", 64, [p], fixed_offset=2**63 - 256)
    b = BufferInfo("b", 64, [p], fixed_offset=2**63 - 16)
    a.set_conflicts([b])
    text = message("greedy_by_size", {"a": a, "b": b})
    assert "allocate the buffer : b (64 bytes, alignment 1, pinned to offset" in text
    assert "the buffer would end beyond the largest 64-bit offset" in text
    assert text.endswith(
        "No size hint helps. Give the buffer another pool, or another fixed_offset."
    )
