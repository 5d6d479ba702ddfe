"""`auto` and `exact`: plans that are proved, and what proves that there is none."""

from __future__ import annotations

import random
from contextlib import contextmanager

import pytest
import tvm_ffi

from support import levels
from support.deadlines import OVER
from support.placement_graphs import graph, peaks, pool, run
from usmp.algorithms import SearchedPlan, get_algorithm, watched
from usmp.analysis import check_plan
from usmp.objects import BufferInfo

SEARCHES = ["auto", "exact"]
CHAIN = {"b": ["a", "c"]}


def searched(name, buffers, seconds=None) -> SearchedPlan:
    plan = get_algorithm(name, seconds)(list(buffers.values()), 0)
    check_plan(buffers.values(), plan)
    return plan


def message(name, buffers) -> str:
    with pytest.raises(ValueError) as error:
        run(name, buffers)
    return str(error.value)


def hard(seed=1, count=40, pools=None):
    """Buffers whose conflicts follow no order of time, so that nothing simple proves a plan."""
    draw = random.Random(seed)
    names = [f"b{i}" for i in range(count)]
    return graph(
        {name: draw.randint(1000, 100_000) for name in names},
        {name: [other for other in names if draw.random() < 0.3] for name in names},
        pools,
    )


@pytest.mark.parametrize("name", SEARCHES)
def test_a_proved_plan(name):
    buffers = graph({"a": 32, "b": 48, "c": 16}, CHAIN)
    plan = searched(name, buffers)
    assert peaks(name, buffers) == {"global_workspace": 80}
    assert dict(plan.lower_bounds) == {"global_workspace": 80}
    assert plan.ended_by == "proof"


@pytest.mark.parametrize("name", SEARCHES)
def test_every_pool_has_a_bound(name):
    fast, slow = pool("fast", 40), pool("slow")
    a = BufferInfo("a", 32, [fast, slow])
    b = BufferInfo("b", 48, [fast, slow])
    c = BufferInfo("c", 16, [slow])
    a.set_conflicts([b, c])
    b.set_conflicts([c])
    plan = searched(name, {"a": a, "b": b, "c": c})
    # b is too large for the fast pool, and c may not be there.
    assert dict(plan.lower_bounds) == {"fast": 32, "slow": 64}
    assert plan.ended_by == "proof"


@pytest.mark.parametrize("name", SEARCHES)
def test_where_candidates_contradict_each_other_the_pool_named_first_is_preferred(name):
    """Were b moved to the pool that it names first, c could be lower, and the bound were false."""
    one, two = pool("one"), pool("two")
    a = BufferInfo("a", 8, [one, two])
    b = BufferInfo("b", 8, [two, one])
    c = BufferInfo("c", 4, [one, two])
    a.set_conflicts([b, c])
    b.set_conflicts([c])
    buffers = {"a": a, "b": b, "c": c}
    assert peaks(name, buffers) == {"one": 20}
    assert dict(searched(name, buffers).lower_bounds) == {"one": 20, "two": 0}


@pytest.mark.parametrize("name", SEARCHES)
def test_as_a_global_function_of_the_signature_of_tvm(name):
    buffers = graph({"a": 32, "b": 48, "c": 16}, CHAIN)
    plan = tvm_ffi.get_global_func(f"tir.usmp.algo.{name}")(list(buffers.values()), 80)
    assert {b.name_hint: p.byte_offset for b, p in plan.items()} == {
        name: offset for name, (_, offset) in run(name, buffers).items()
    }


@pytest.mark.slow
def test_auto_is_the_same_each_time():
    first, second = (searched("auto", hard()) for _ in range(2))
    assert [p.byte_offset for p in first.values()] == [p.byte_offset for p in second.values()]
    assert (first.work, first.ended_by) == (second.work, second.ended_by)


@pytest.mark.parametrize("name", SEARCHES)
def test_the_whole_message(name):
    conflicts = {"a": ["b", "c"], "b": ["c"]}
    buffers = graph({"a": 10, "b": 12, "c": 10}, conflicts, [pool("tiny", 31)])
    assert message(name, buffers) == (
        "TVM USMP Error: the space available in the provided pools exceeded when trying to "
        "allocate the buffer : b (12 bytes, alignment 1)\n"
        '  pool "tiny": size_hint_bytes=31\n'
        'No plan fits: 3 buffers together need at least 32 bytes: "a" (10 bytes), "b" (12 bytes), '
        '"c" (10 bytes); without any one of them the rest fits.\n'
        "Please increase the size_hints for memory pools. The smallest size_hint_bytes with which "
        'a plan fits: 32 for pool "tiny". Another pool among the candidates of the buffers may '
        "also help."
    )


@pytest.mark.parametrize("name", SEARCHES)
def test_one_buffer_that_is_too_large(name):
    buffers = graph({"a": 8, "b": 100}, {}, [pool("sram", 64)])
    assert 'No plan fits: one buffer alone needs at least 100 bytes: "b" (100 bytes).\n' in message(
        name, buffers
    )


@pytest.mark.parametrize("name", SEARCHES)
def test_every_candidate_pool_is_named(name):
    buffers = graph({"a": 100}, {}, [pool("itcm", 4), pool("dtcm", 8)], alignment=16)
    assert message(name, buffers) == (
        "TVM USMP Error: the space available in the provided pools exceeded when trying to "
        "allocate the buffer : a (100 bytes, alignment 16)\n"
        '  pool "itcm": size_hint_bytes=4\n'
        '  pool "dtcm": size_hint_bytes=8\n'
        'No plan fits: one buffer alone is larger than each of its pools: "a" (100 bytes).\n'
        "Please increase the size_hints for memory pools. The smallest size_hint_bytes with which "
        'a plan fits: 100 for pool "itcm", or 100 for pool "dtcm". Another pool among the '
        "candidates of the buffers may also help."
    )


@pytest.mark.parametrize("name", SEARCHES)
def test_pins_that_collide(name):
    sram = pool("sram", 100)
    a = BufferInfo("a", 10, [sram], fixed_offset=20)
    b = BufferInfo("b", 10, [sram], fixed_offset=25)
    other = BufferInfo("other", 60, [sram])
    a.set_conflicts([b])
    assert message(name, {"a": a, "b": b, "other": other}) == (
        "TVM USMP Error: the space available in the provided pools exceeded when trying to "
        "allocate the buffer : a (10 bytes, alignment 1, pinned to offset 20)\n"
        '  pool "sram": size_hint_bytes=100\n'
        "No plan fits: 2 buffers together cannot be placed, whatever the size hints: "
        '"a" (10 bytes at offset 20), "b" (10 bytes at offset 25); without any one of them the '
        "rest fits.\n"
        "No size hint helps. Give the buffers other pools, or another fixed_offset."
    )


def small(seed, hints):
    """Up to 5 buffers that may go into both pools, or only into one of them."""
    draw = random.Random(seed)
    pools = [pool(name, hint) for name, hint in hints.items()]
    buffers = [
        BufferInfo(f"b{i}", draw.randint(1, 20), draw.choice([pools, pools[:1], pools[1:]]))
        for i in range(draw.randint(2, 5))
    ]
    for buffer in buffers:
        buffer.set_conflicts([b for b in buffers if draw.random() < 0.6])
    return {buffer.name_hint: buffer for buffer in buffers}


@pytest.mark.slow
def test_size_hints_that_are_called_smallest_are():
    misfits = 0
    seeds = levels.seeds(25, 200)
    for seed in seeds:
        hints = {"fast": random.Random(-seed).randint(5, 30), "slow": 20}
        try:
            searched("auto", small(seed, hints))
        except ValueError as error:
            text = str(error)
        else:
            continue
        misfits += 1
        for name in hints:

            def fits(hint, seed=seed, name=name, hints=hints):
                try:
                    searched("auto", small(seed, hints | {name: hint}))
                except ValueError:
                    return False
                return True

            smallest = next((hint for hint in range(hints[name], 101) if fits(hint)), None)
            named = f'{smallest} for pool "{name}"' in text.partition("a plan fits:")[2]
            assert named == (smallest is not None), (seed, name, smallest, text)
    assert misfits > len(seeds) / 6


def test_a_watched_search_can_be_ended():
    seen = []

    @contextmanager
    def watching():
        seen.append("begins")

        def watch(progress):
            seen.append(progress)
            return progress.peak is None

        yield watch
        seen.append("ends")

    buffers = hard(count=200)
    with watched(watching):
        plan = searched("exact", buffers)
    assert plan.ended_by == "interrupt"
    begins, *progress, ends = seen
    assert (begins, ends) == ("begins", "ends")
    *before, last = progress
    assert all(p.peak is None for p in before)
    assert 0 < last.lower_bound <= last.peak
    seen.clear()
    searched("auto", graph({"a": 1}, {}))
    assert seen == []


def test_time_ends_a_search():
    plan = searched("auto", hard(count=200), 0.3)
    assert plan.ended_by == "time"
    bound = plan.lower_bounds["global_workspace"]
    assert bound < max(p.byte_offset + b.size_bytes for b, p in plan.items())


@pytest.mark.slow
def test_a_deadline_ends_a_search_of_fixed_work():
    buffers = hard(count=60)
    ended = get_algorithm("auto", deadline=OVER)(list(buffers.values()), 0)
    check_plan(buffers.values(), ended)
    whole = searched("auto", buffers)
    assert (ended.ended_by, whole.ended_by) == ("time", "work")
    assert ended.work < whole.work / 2


@pytest.mark.slow
def test_no_size_hint_is_advised_that_is_no_larger():
    """When the advice is looked for, more work may find a plan within the size hint."""
    (peak,) = peaks("auto", hard()).values()
    with pytest.raises(ValueError) as error:
        searched("auto", hard(pools=[pool("sram", peak)]), 1e-9)
    assert str(error.value).splitlines()[1:] == [
        f'  pool "sram": size_hint_bytes={peak}',
        "No plan was found, and none is proved impossible: more work may find one "
        "(tir.usmp.algorithm=exact or a longer tir.usmp.time_budget).",
    ]


def test_what_the_watch_raises_comes_out():
    def watch(progress):
        raise KeyboardInterrupt

    @contextmanager
    def watching():
        yield watch

    with watched(watching), pytest.raises(KeyboardInterrupt):
        searched("exact", hard(count=200))


@pytest.mark.parametrize("name", ["greedy_by_size", "greedy_by_conflicts", "hill_climb"])
def test_other_algorithms_take_no_time_budget(name):
    with pytest.raises(ValueError) as error:
        get_algorithm(name, 1.0)
    assert str(error.value) == (
        f"tir.usmp.time_budget is for tir.usmp.algorithm=auto or exact, not for {name}"
    )
