"""Detected objects, by TFLite's definition of its operator."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support.relax_vm import computed
from usmp.ops.detection.detection_postprocess import (
    DetectionOptions,
    Quantized,
    detection_postprocess,
)
from usmp.ops.quantization import Quantization

generator = np.random.default_rng(3)
OPTIONS = DetectionOptions(
    max_detections=4,
    max_classes=2,
    detections_per_class=3,
    is_regular=False,
    score_threshold=0.25,
    overlap_threshold=0.4,
    classes=3,
    scales=(10.0, 8.0, 5.0, 4.0),
)
BOXES = 9
ENCODINGS = generator.normal(size=(BOXES, 5)).astype(np.float32)
ANCHORS = np.abs(generator.normal(size=(BOXES, 4))).astype(np.float32) + 0.5
SCORES = (generator.integers(0, 9, (BOXES, 4)) / 8).astype(np.float32)
"""Of which some are equal; the first column is the background."""


def detected(options, scores=SCORES, encodings=ENCODINGS, anchors=ANCHORS, quantizations=None):
    quantizations = quantizations or [None] * 3

    def function(builder, *tensors):
        arguments = [Quantized(*each) for each in zip(tensors, quantizations, strict=True)]
        return detection_postprocess(builder, *arguments, options)

    return computed(function, encodings, scores, anchors)


def corners(options, encodings=ENCODINGS, anchors=ANCHORS):
    """Of all boxes: least y and x, greatest y and x."""
    code = encodings[:, :4].astype(np.float64) / options.scales
    center = code[:, :2] * anchors[:, 2:] + anchors[:, :2]
    half = np.exp(code[:, 2:]) * anchors[:, 2:] / 2
    return np.hstack([center - half, center + half]).astype(np.float32)


def overlap(one, other):
    sides = [min(one[a + 2], other[a + 2]) - max(one[a], other[a]) for a in (0, 1)]
    common = max(sides[0], 0) * max(sides[1], 0)
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)]
    return common / (sum(areas) - common)


def suppressed(scores, options, most):
    """Indices of boxes, the best first."""
    boxes, chosen = corners(options), []
    for box in sorted(range(len(scores)), key=lambda n: -scores[n]):
        if scores[box] >= options.score_threshold and len(chosen) < most:
            ratios = [overlap(boxes[box], boxes[other]) for other in chosen]
            if not any(ratio > options.overlap_threshold for ratio in ratios):
                chosen.append(box)
    return chosen


def fast(options, scores):
    """Boxes, classes and scores; None where a box has fewer classes than there are places."""
    rows = []
    for box in suppressed(scores.max(1), options, options.max_detections):
        classes = sorted(range(options.classes), key=lambda c: -scores[box, c])
        rows += [(box, c, scores[box, c]) for c in classes[: options.max_classes]]
        rows += [None] * (options.max_classes - options.classes)
    return rows


def boxes_of(rows):
    return len({row[0] for row in rows if row})


def regular(options, scores):
    rows = []
    for c in range(options.classes):
        chosen = suppressed(scores[:, c], options, options.detections_per_class)
        rows += [(box, c, scores[box, c]) for box in chosen]
        rows = sorted(rows, key=lambda row: -row[2])[: options.max_detections]
    return rows


def check(results, rows, count, boxes):
    """What is beyond the rows is zeros."""
    found, classes, scores, number = results
    assert number.tolist() == [count]
    expected = np.zeros((found.shape[1], 6), np.float32)
    for place, row in enumerate(rows):
        if row is not None:
            expected[place] = [*boxes[row[0]], *row[1:]]
    assert found.shape[2] == 4
    assert classes.tolist() == [expected[:, 4].tolist()]
    np.testing.assert_allclose(scores, expected[np.newaxis, :, 5], rtol=1e-6)
    np.testing.assert_allclose(found, expected[np.newaxis, :, :4], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"max_classes": 5, "max_detections": 2},
        {"max_classes": 1, "max_detections": 12},
        {"score_threshold": 0.95},
        {"score_threshold": 2.0},
        {"overlap_threshold": 0.05, "max_detections": 7},
    ],
)
def test_boxes_compete_by_their_greatest_score(changes):
    options = replace(OPTIONS, **changes)
    rows = fast(options, SCORES[:, 1:])
    number = boxes_of(rows)
    check(detected(options), rows, number, corners(options))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"max_detections": 6},
        {"max_detections": 1},
        {"detections_per_class": 1},
        {"max_detections": 12, "detections_per_class": 12},
        {"overlap_threshold": 0.05, "score_threshold": 0.6},
        {"score_threshold": 2.0},
    ],
)
def test_boxes_compete_within_their_class(changes):
    options = replace(OPTIONS, is_regular=True, max_classes=1, **changes)
    rows = regular(options, SCORES[:, 1:])
    check(detected(options), rows, len(rows), corners(options))


def test_scores_without_a_background_are_all_read():
    options = replace(OPTIONS, classes=4)
    rows = fast(options, SCORES)
    check(detected(options), rows, boxes_of(rows), corners(options))


def test_integers_stand_for_real_numbers():
    quantizations = [
        Quantization("int8", (scale,), (zero_point,))
        for scale, zero_point in ((0.25, 3), (0.125, -2), (0.5, -1))
    ]
    tensors = [
        generator.integers(-10, 10, ENCODINGS.shape).astype(np.int8),
        (SCORES * 8 - 2).astype(np.int8),
        generator.integers(1, 6, ANCHORS.shape).astype(np.int8),
    ]
    encodings, scores, anchors = (
        (np.float32(tensor) - q.zero_point) * np.float32(q.scale)
        for tensor, q in zip(tensors, quantizations, strict=True)
    )
    np.testing.assert_array_equal(scores, SCORES)
    options = replace(OPTIONS, overlap_threshold=1.0, max_detections=BOXES)
    rows = fast(options, SCORES[:, 1:])
    result = detected(options, tensors[1], tensors[0], tensors[2], quantizations)
    check(result, rows, boxes_of(rows), corners(options, encodings, anchors))
