"""How many bytes a call needs, depending on what is live before and after it."""

from __future__ import annotations

import pytest

from usmp.planning.operator_order.bytes_needed import AFTER, BEFORE, bytes_needed
from usmp.planning.operator_order.graph import GraphCall, GraphTensor, OperatorGraph, TensorUse

BOTH = BEFORE | AFTER


def needed(sizes, uses, liveness, reuse_bytes=None) -> tuple[int, int]:
    """What a call needs if tensors share no bytes, and if they do."""
    call = GraphCall(tuple(TensorUse(n, *use) for n, use in enumerate(uses)), (), reuse_bytes or {})
    graph = OperatorGraph(tuple(map(GraphTensor, sizes)), (call,))
    return tuple(bytes_needed(graph, call, liveness, shares) for shares in (False, True))


@pytest.mark.parametrize(
    ("sizes", "uses", "liveness", "expected"),
    [
        ([], [], [], 0),
        # Moments matter only to tensors that die or are born in the call.
        ([10, 7], [(0, 0), (2, 2)], [BEFORE, AFTER], 10),
        ([10, 7], [(0, 0), (2, 2)], [BOTH, AFTER], 17),
        ([10, 7], [(0, 0), (2, 2)], [BEFORE, BOTH], 17),
        ([10, 7], [(0, 2), (2, 2)], [BEFORE, AFTER], 17),
        ([10, 7], [(3, 3), (2, 2)], [BEFORE, AFTER], 17),
        ([10, 7], [(0, 1), (2, 2)], [BEFORE, AFTER], 10),
        # The scratch is there between the input and the output.
        ([10, 7, 4], [(0, 1), (2, 3), (1, 2)], [BEFORE, AFTER, 0], 14),
        ([10, 7, 9], [(0, 1), (2, 3), (1, 2)], [BEFORE, AFTER, 0], 19),
        ([3, 7, 9], [(0, 1), (2, 3), (1, 2)], [BEFORE, AFTER, 0], 16),
    ],
)
def test_the_most_bytes_at_one_moment(sizes, uses, liveness, expected):
    assert needed(sizes, uses, liveness) == (expected, expected)


@pytest.mark.parametrize(
    ("sizes", "liveness", "reuse_bytes", "expected"),
    [
        ([10, 7], [BEFORE, AFTER], {(0, 1): 7}, 10),
        ([10, 7], [BEFORE, AFTER], {(0, 1): 3}, 14),
        # What lives on, or was there before, shares nothing; neither does the wrong direction.
        ([10, 7], [BOTH, AFTER], {(0, 1): 7}, 17),
        ([10, 7], [BEFORE, BOTH], {(0, 1): 7}, 17),
        ([10, 7], [BEFORE, AFTER], {(1, 0): 7}, 17),
        # Two results cannot both take the place of one operand, nor one result that of two.
        ([10, 7, 6], [BEFORE, AFTER, AFTER], {(0, 1): 7, (0, 2): 6}, 16),
        ([10, 7, 9], [BEFORE, BEFORE, AFTER], {(0, 2): 9, (1, 2): 7}, 17),
        # The better pairing is that in which the first result leaves the first operand alone.
        (
            [9, 9, 9, 9],
            [BEFORE, BEFORE, AFTER, AFTER],
            {(0, 2): 9, (1, 2): 8, (0, 3): 9, (1, 3): 1},
            36 - 17,
        ),
        # Scratch shares either with what dies or with what is born.
        ([5, 5, 5], [BEFORE, 0, AFTER], {(0, 1): 5, (1, 2): 4}, 10),
        ([5, 5, 5], [BEFORE, AFTER, 0], {(0, 2): 4, (2, 1): 5}, 10),
        ([5, 5, 5], [0, 0, AFTER], {(0, 1): 2, (1, 0): 3, (1, 2): 1}, 12),
    ],
)
def test_tensors_share_bytes_in_pairs(sizes, liveness, reuse_bytes, expected):
    without, shared = needed(sizes, [(0, 0)] * len(sizes), liveness, reuse_bytes)
    assert (without, shared) == (sum(sizes), expected)


def test_another_moment_is_the_peak_if_the_first_can_be_shared():
    uses = [(0, 0), (0, 1), (1, 1)]
    assert needed([6, 6, 5], uses, [BEFORE, AFTER, AFTER], {(0, 1): 6}) == (12, 11)


@pytest.mark.parametrize(("pairs", "shared"), [(3, 3), (11, 12)])
def test_too_many_pairings_are_bounded(pairs, shared):
    """One result more wants the place of the first operand; only the bound counts it, too."""
    liveness = [BEFORE] * pairs + [AFTER] * (pairs + 1)
    reuse_bytes = {(y, pairs + y): 1 for y in range(pairs)} | {(0, 2 * pairs): 1}
    total = 2 * pairs + 1
    found = needed([1] * total, [(0, 0)] * total, liveness, reuse_bytes)
    assert found == (total, total - shared)
