"""The greedy algorithms against a slow model that tries every offset and counts every byte."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import levels
from usmp.algorithms import get_algorithm
from usmp.analysis.checks.plan_checker import check_plan
from usmp.objects import BufferInfo, PoolInfoProperties, WorkspacePoolInfo
from usmp_solver import ALGORITHMS


@st.composite
def problems(draw):
    """Up to 8 buffers, a limited pool, and perhaps one to spill to; conflicts are one-sided."""
    limits = [draw(st.integers(0, 199))]
    if draw(st.booleans()):
        limits.append(draw(st.sampled_from([-1, 30, 100])))
    pools = [
        WorkspacePoolInfo(f"pool{i}", ["c"], PoolInfoProperties(limit))
        for i, limit in enumerate(limits)
    ]
    buffers = [
        BufferInfo(
            draw(st.sampled_from("abc")),
            draw(st.integers(0, 64)),
            draw(st.sampled_from([pools, pools[::-1], pools[:1]])),
            draw(st.sampled_from([1, 1, 2, 3, 16])),
        )
        for _ in range(draw(st.integers(1, 8)))
    ]
    for buffer in buffers:
        buffer.set_conflicts([other for other in buffers if draw(st.booleans())])
    return buffers


def conflict(a, b):
    return a != b and (b in list(a.conflicts) or a in list(b.conflicts))


def used_bytes(buffer, place):
    pool, offset = place
    return {(pool, byte) for byte in range(offset, offset + buffer.size_bytes)}


def model(algorithm, buffers):
    """Pool name and offset of each buffer, or None if one does not fit."""
    if algorithm == "no_sharing":
        order = list(range(len(buffers)))
    else:
        degree = [sum(conflict(buffer, other) for other in buffers) for buffer in buffers]

        def key(i):
            size, count = buffers[i].size_bytes, degree[i]
            first = (size, count) if algorithm == "greedy_by_size" else (count, size)
            return (*first, buffers[i].name_hint)

        order = sorted(range(len(buffers)), key=key, reverse=True)
    if algorithm == "no_sharing":
        places = {}
        for i in order:
            places[i] = next(iter(lowest_places(buffers, i, places, stack=True)), None)
            if places[i] is None:
                return None
    else:
        places = in_order(buffers, order, {})
    return places and [places[i] for i in range(len(buffers))]


def in_order(buffers, order, places):
    """The first way through the candidate pools of all buffers that leaves none out, or None."""
    if not order:
        return places
    for place in lowest_places(buffers, order[0], places, stack=False):
        found = in_order(buffers, order[1:], {**places, order[0]: place})
        if found is not None:
            return found
    return None


def lowest_places(buffers, i, places, stack):
    """The lowest place of a buffer in each pool that has room."""
    buffer = buffers[i]
    taken = set().union(
        *(
            used_bytes(buffers[j], place)
            for j, place in places.items()
            if stack or conflict(buffer, buffers[j])
        )
    )
    for pool in buffer.pool_candidates:
        top = max((byte + 1 for name, byte in taken if name == pool.pool_name), default=0)
        limit = 10_000 if pool.size_hint_bytes < 0 else pool.size_hint_bytes
        start = -(-top // buffer.alignment) * buffer.alignment if stack else 0
        for offset in range(start, limit - buffer.size_bytes + 1, buffer.alignment):
            place = (pool.pool_name, offset)
            if not used_bytes(buffer, place) & taken:
                yield place
                break


def run(algorithm, buffers):
    try:
        plan = get_algorithm(algorithm)(buffers, 0)
    except ValueError as error:
        assert "the space available in the provided pools exceeded" in str(error)
        return None
    check_plan(buffers, plan)
    return [(plan[buffer].pool_info.pool_name, plan[buffer].byte_offset) for buffer in buffers]


@pytest.mark.slow
@settings(max_examples=levels.number(80, 2000), deadline=None)
@given(problems())
def test_conflicting_buffers_share_no_byte_and_are_where_the_model_puts_them(buffers):
    for algorithm in ALGORITHMS:
        places = run(algorithm, buffers)
        if algorithm in ("greedy_by_size", "greedy_by_conflicts", "no_sharing"):
            assert places == model(algorithm, buffers)
        for i, a in enumerate(buffers if places else []):
            for j, b in enumerate(buffers[:i]):
                if conflict(a, b) or algorithm == "no_sharing":
                    assert not used_bytes(a, places[i]) & used_bytes(b, places[j])
