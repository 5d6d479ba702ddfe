"""The boxes with the greatest scores, without those that overlap a better one."""

from __future__ import annotations

import math

import numpy as np
import pytest

from support.relax_vm import computed
from usmp.ops.detection.non_max_suppression import non_max_suppression

BOXES = np.array(
    [
        [0, 0, 2, 2],
        [2, 2, 0, 0.5],
        [0, 0, 2, 1],
        [5, 5, 7, 7],
        [5, 7, 7, 5.5],
        [9, 9, 9, 9],
        [0, 0, 1, 1],
        [5, 5, 6, 7],
    ],
    np.float32,
)
"""Three groups that overlap, and a box without area."""
SCORES = np.array([0.5, 0.9, 0.7, 0.8, 0.8, 0.1, 0.3, 0.85], np.float32)


def selected(most, overlap, score, decay, boxes=BOXES, scores=SCORES):
    thresholds = [np.array(value, np.float32) for value in (overlap, score)]
    return computed(
        lambda builder, boxes, scores, *limits: non_max_suppression(
            builder, boxes, scores, limits, most, decay
        ),
        boxes,
        scores,
        *thresholds,
    )


def area(box):
    return abs(box[2] - box[0]) * abs(box[3] - box[1])


def overlap_of(one, other):
    sides = [
        min(max(one[a], one[a + 2]), max(other[a], other[a + 2]))
        - max(min(one[a], one[a + 2]), min(other[a], other[a + 2]))
        for a in (0, 1)
    ]
    common = max(sides[0], 0) * max(sides[1], 0)
    return common / (area(one) + area(other) - common) if area(one) * area(other) else 0


def expected(most, overlap, score, decay):
    """Indices and scores, by the definition of (soft) suppression."""
    scores = {n: float(s) for n, s in enumerate(SCORES) if s > np.float32(score)}
    chosen = []
    while scores and len(chosen) < most:
        best = max(scores, key=lambda n: (scores[n], -n))
        chosen.append((best, scores.pop(best)))
        for n in list(scores):
            ratio = overlap_of(BOXES[n], BOXES[best])
            scores[n] *= math.exp((decay or 0) * ratio * ratio)
            if ratio >= overlap or scores[n] <= np.float32(score):
                del scores[n]
    rest = [0] * (most - len(chosen))
    indices, values = [*zip(*chosen, strict=True)] or ((), ())
    return [*indices, *rest], [*values, *rest], len(chosen)


@pytest.mark.parametrize("decay", [None, 0.0, -2.0, -0.5])
@pytest.mark.parametrize(
    ("most", "overlap", "score"),
    [(8, 0.5, 0.1), (3, 0.5, 0.15), (8, 0.99, 0.5), (8, 0.2, 0.15), (2, 0.5, 0.95)],
)
def test_boxes_are_selected_in_the_order_of_their_scores(most, overlap, score, decay):
    """What is beyond the selected boxes is zeros."""
    indices, *scores, count = selected(most, overlap, score, decay)
    chosen, values, number = expected(most, overlap, score, decay)
    assert count == number
    assert indices.tolist() == chosen
    assert len(scores) == (decay is not None)
    for each in scores:
        np.testing.assert_allclose(each, values, rtol=1e-5)


def test_an_overlap_as_great_as_the_threshold_is_too_much():
    boxes = np.array([[0, 0, 1, 2], [0, 0, 1, 1]], np.float32)
    scores = np.array([2, 1], np.float32)
    for decay in (None, -1.0):
        assert selected(2, 0.5, 0, decay, boxes, scores)[-1] == 1


def test_a_score_as_great_as_the_threshold_is_not_enough():
    for decay in (None, -1.0):
        boxes, scores = BOXES[[0, 3]], np.array([2, 1], np.float32)
        assert selected(2, 0.5, 1, decay, boxes, scores)[-1] == 1


def test_a_box_without_area_is_selected_again_while_there_are_candidates():
    """As by TFLite: it does not overlap itself."""
    boxes = np.array([[1, 1, 1, 1], [0, 0, 1, 1], [5, 5, 6, 6]], np.float32)
    scores = np.array([3, 2, 1], np.float32)
    indices, count = selected(4, 0.5, 0, None, boxes, scores)
    assert (indices.tolist(), count) == ([0, 0, 0, 0], 3)
