"""Which elements `Resize` reads along an axis, and what they weigh."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax

from usmp.frontend.onnx.converters.resize_taps import (
    Axis,
    most_taps,
    rounding_of,
    taps_of,
    transformation,
    upsample_taps,
)
from usmp.frontend.onnx.graph.node import NotSupported, OnnxNode


def node(opset=19, **attributes):
    texts = {k: v.encode() if isinstance(v, str) else v for k, v in attributes.items()}
    return OnnxNode(relax.BlockBuilder(), [], texts, opset, 1)


def axis(before, after, scale=None, start=0, end=1):
    scale = np.float32(after / before if scale is None else scale)
    return Axis(before, after, scale, np.float32(start), np.float32(end))


def taps(mode, of_axis, coordinates="half_pixel", **attributes):
    made = node(coordinate_transformation_mode=coordinates, **attributes)
    found = taps_of(made, mode, of_axis)
    assert found.positions.shape == found.weights.shape
    assert found.positions.shape[1] == most_taps(made, mode, of_axis)
    return found


def nearest(of_axis, coordinates="half_pixel", rounding="round_prefer_floor"):
    found = taps("nearest", of_axis, coordinates, nearest_mode=rounding)
    assert (found.weights == 1).all()
    return found.positions[:, 0].tolist()


@pytest.mark.parametrize(
    ("coordinates", "of_axis", "expected"),
    [
        ("asymmetric", axis(4, 8), [0, 0, 1, 1, 2, 2, 3, 3]),
        ("half_pixel", axis(4, 8), [0, 0, 1, 1, 2, 2, 3, 3]),
        ("half_pixel", axis(8, 4), [0, 2, 4, 6]),
        ("asymmetric", axis(8, 4), [0, 2, 4, 6]),
        ("align_corners", axis(4, 7), [0, 0, 1, 1, 2, 2, 3]),
        ("align_corners", axis(4, 1), [0]),
        ("pytorch_half_pixel", axis(4, 1), [0]),
        ("half_pixel", axis(4, 1), [1]),
        ("pytorch_half_pixel", axis(8, 4), [0, 2, 4, 6]),
        ("half_pixel_symmetric", axis(5, 12, 2.5), [0, 0, 1, 1, 1, 2, 2, 3, 3, 3, 4, 4]),
        ("tf_half_pixel_for_nn", axis(8, 4), [1, 3, 5, 7]),
        ("tf_crop_and_resize", axis(5, 3, 1, 0.5, 1), [2, 3, 4]),
        ("tf_crop_and_resize", axis(5, 1, 1, 0.5, 1), [3]),
        ("tf_crop_and_resize", axis(5, 5, 1, -0.25, 1.25), [-1, 0, 2, 3, -1]),
        ("tf_crop_and_resize", axis(5, 2, 1, 0, 1), [0, 4]),
    ],
)
def test_nearest_elements(coordinates, of_axis, expected):
    assert nearest(of_axis, coordinates) == expected


@pytest.mark.parametrize(
    ("rounding", "expected"),
    [
        ("round_prefer_floor", [0, 1, 3]),
        ("round_prefer_ceil", [0, 2, 3]),
        ("floor", [0, 1, 3]),
        ("ceil", [0, 2, 3]),
    ],
)
def test_roundings(rounding, expected):
    assert nearest(axis(4, 3), "align_corners", rounding) == expected


def test_roundings_towards_the_nearer_one():
    # Positions 0, 0.8, 1.6, ...
    of_axis = axis(4, 5)
    assert nearest(of_axis, "asymmetric", "round_prefer_floor") == [0, 1, 2, 2, 3]
    assert nearest(of_axis, "asymmetric", "round_prefer_ceil") == [0, 1, 2, 2, 3]
    assert nearest(of_axis, "asymmetric", "floor") == [0, 0, 1, 2, 3]
    assert nearest(of_axis, "asymmetric", "ceil") == [0, 1, 2, 3, 3]


def test_linear_weights():
    found = taps("linear", axis(2, 4))
    assert found.positions.tolist() == [[0, 1], [0, 1], [0, 1], [1, 1]]
    np.testing.assert_allclose(found.weights, [[1, 0], [0.75, 0.25], [0.25, 0.75], [1, 0]])
    found = taps("linear", axis(3, 2), "align_corners")
    assert found.positions.tolist() == [[0, 1], [2, 2]]
    np.testing.assert_allclose(found.weights, [[1, 0], [1, 0]])


def test_cubic_weights():
    found = taps("cubic", axis(4, 8), "asymmetric")
    assert found.positions[0].tolist() == [0, 0, 1, 2]
    assert found.positions[3].tolist() == [0, 1, 2, 3]
    assert found.positions[7].tolist() == [2, 3, 3, 3]
    np.testing.assert_allclose(found.weights[0], [0, 1, 0, 0])
    half = [-0.09375, 0.59375, 0.59375, -0.09375]
    np.testing.assert_allclose(found.weights[3], half)
    found = taps("cubic", axis(4, 8), "asymmetric", cubic_coeff_a=-0.5)
    np.testing.assert_allclose(found.weights[3], [-0.0625, 0.5625, 0.5625, -0.0625])
    found = taps("cubic", axis(4, 16, 4), "asymmetric")
    np.testing.assert_allclose(found.weights[1], [-0.10546875, 0.87890625, 0.26171875, -0.03515625])


def test_what_is_outside_may_be_left_out():
    found = taps("cubic", axis(4, 8), "asymmetric", exclude_outside=1)
    np.testing.assert_allclose(found.weights.sum(1), 1, rtol=1e-6)
    np.testing.assert_allclose(
        found.weights[1], np.array([0, 0.59375, 0.59375, -0.09375]) / 1.09375
    )
    np.testing.assert_allclose(found.weights[7, 2:], 0)
    inside = taps("cubic", axis(4, 8), "asymmetric")
    np.testing.assert_allclose(found.weights[3], inside.weights[3])


def test_antialias_reads_more_where_the_image_becomes_smaller():
    found = taps("linear", axis(8, 4), antialias=1)
    assert found.positions.tolist() == [
        [0, 0, 1, 2],
        [1, 2, 3, 4],
        [3, 4, 5, 6],
        [5, 6, 7, 7],
    ]
    np.testing.assert_allclose(found.weights[1], [0.125, 0.375, 0.375, 0.125])
    larger = taps("linear", axis(4, 8), antialias=1)
    assert larger.positions.shape == (8, 2)
    plain = taps("linear", axis(4, 8))
    np.testing.assert_allclose(larger.weights[2], plain.weights[2])
    cubic = taps("cubic", axis(8, 4), antialias=1)
    assert cubic.positions.shape == (4, 8)
    np.testing.assert_allclose(cubic.weights.sum(1), 1, rtol=1e-6)
    weights = np.array([-0.03515625, -0.10546875, 0.26171875, 0.87890625])
    np.testing.assert_allclose(cubic.weights[1], np.array([*weights, *weights[::-1]]) / 2)
    excluded = taps("cubic", axis(8, 4), antialias=1, exclude_outside=1)
    assert excluded.weights[0, 0] == 0
    np.testing.assert_allclose(excluded.weights.sum(1), 1, rtol=1e-6)


def test_what_extrapolates_is_outside_in_all_modes():
    for mode in ("linear", "cubic"):
        found = taps(mode, axis(5, 5, 1, -0.25, 1.25), "tf_crop_and_resize")
        assert (found.positions[[0, 4]] == -1).all()
        assert (found.positions[1:4] >= 0).all()


def test_older_operators():
    old = node(10, coordinate_transformation_mode="half_pixel", nearest_mode="ceil")
    assert transformation(old) == "asymmetric"
    assert [rounding_of(old, axis(4, n)) for n in (2, 4, 8)] == ["ceil", "floor", "floor"]
    new = node(11)
    assert transformation(new) == "half_pixel"
    assert rounding_of(new, axis(4, 2)) == "round_prefer_floor"
    found = upsample_taps(True, axis(3, 7, 2.5))
    assert found.positions[:, 0].tolist() == [0, 0, 0, 1, 1, 2, 2]
    linear = upsample_taps(False, axis(2, 4))
    np.testing.assert_allclose(linear.weights, [[1, 0], [0.5, 0.5], [1, 0], [1, 0]])


@pytest.mark.parametrize(
    ("mode", "attributes", "message"),
    [
        ("linear", {"coordinate_transformation_mode": "x"}, 'mode "x" is not known'),
        ("nearest", {"nearest_mode": "x"}, 'nearest_mode "x" is not known'),
    ],
)
def test_words_that_are_not_known(mode, attributes, message):
    with pytest.raises(NotSupported, match=message):
        taps_of(node(**attributes), mode, axis(2, 4))
