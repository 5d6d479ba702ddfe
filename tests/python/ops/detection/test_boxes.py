"""How much boxes overlap, and which has the greatest score."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax, tirx

from support.relax_vm import computed
from usmp.ops.detection.boxes import ZERO, find_greatest, intersection_over_union
from usmp.ops.statements import Local, call_statements, loop
from usmp.tir.nodes import sequence

BOXES = [
    [0, 0, 2, 2],
    [1, 1, 4, 3],
    [2, 0, 5, 2],
    [1, 0, 1, 2],
    [0, 0, 4, 1],
    [-2, 0.5, 1, 0.75],
    [0, 1, 3, 1],
]
"""Among them two without area."""


def overlap(one, other):
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)]
    if min(areas) <= 0:
        return 0
    sides = [min(one[a + 2], other[a + 2]) - max(one[a], other[a]) for a in (0, 1)]
    common = max(sides[0], 0) * max(sides[1], 0)
    return common / (sum(areas) - common)


@pytest.mark.parametrize("is_ordered", [True, False])
def test_overlap_is_the_common_area_over_that_of_both(is_ordered):
    """Corners that are in no order are those of the same box."""
    boxes = np.array(BOXES, np.float32)
    count = len(BOXES)
    if not is_ordered:
        boxes[::2] = boxes[::2][:, [2, 3, 0, 1]]
        boxes[1::3] = boxes[1::3][:, [0, 3, 2, 1]]

    def body(boxes, output):
        ratio = Local.of("ratio", "float32")

        def compare(one, other):
            found = intersection_over_union(boxes, one, other, ratio, is_ordered=is_ordered)
            return [*found, tirx.BufferStore(output, ratio.get(), [one, other])]

        every = loop("i", count, lambda one: loop("j", count, lambda other: compare(one, other)))
        return sequence([*ratio.declared(ZERO), every])

    written = [("output", relax.TensorType((count, count), "float32"))]
    (output,) = computed(
        lambda builder, boxes: call_statements(builder, "iou", body, [("boxes", boxes)], written),
        boxes,
    )
    expected = [[overlap(one, other) for other in BOXES] for one in BOXES]
    np.testing.assert_allclose(output, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("scores", "greatest"),
    [
        ([1, 3, 3, 2], 1),
        ([5, -3, -2, -2], 2),
        ([9, -1, -2, -3], 1),
        ([9], -1),
        ([9, 0, 9], 2),
    ],
)
def test_the_first_of_the_greatest_that_count_is_found(scores, greatest):
    """All but the first count."""

    def body(scores, output):
        found = Local.of("found", "int32")
        declared = found.declared(tirx.IntImm("int32", 7))
        search = find_greatest(len(scores_of), found, lambda n: scores[n], lambda n: n > 0)
        return sequence([*declared, *search, tirx.BufferStore(output, found.get(), [0])])

    scores_of = np.array(scores, np.float32)
    written = [("output", relax.TensorType((1,), "int32"))]
    (output,) = computed(
        lambda builder, data: call_statements(builder, "find", body, [("scores", data)], written),
        scores_of,
    )
    assert output.tolist() == [greatest]
