"""Where parts of tensors begin in what they lie in, if they have no gaps."""

from __future__ import annotations

import pytest
from tvm import relax, tirx

from usmp.relax.contiguous_parts import part_offsets


def tensor(*shape) -> relax.Var:
    return relax.Var("x", relax.TensorType(shape, "int8"))


def offsets(call: relax.Expr) -> list[int] | None:
    return part_offsets(relax.BlockBuilder().normalize(call))


def concat(axis: int | None, *shapes: tuple) -> list[int] | None:
    return offsets(relax.op.concat([tensor(*shape) for shape in shapes], axis))


@pytest.mark.parametrize(
    ("axis", "shapes", "expected"),
    [
        (0, [(2, 3), (4, 3), (1, 3)], [0, 6, 18]),
        (None, [(2,), (5,)], [0, 2]),
        (0, [(1,), (1,)], [0, 1]),
        (1, [(1, 2, 3), (1, 4, 3)], [0, 6]),
        (-2, [(1, 2, 3), (1, 4, 3)], [0, 6]),
        (-1, [(1, 1, 3), (1, 1, 4)], [0, 3]),
        # Rows of the results are made of rows of each.
        (1, [(2, 2), (2, 3)], None),
        (-1, [(1, 2, 2), (1, 2, 3)], None),
        # Nothing has a place.
        (0, [(2, 3), (0, 3)], None),
        (0, [(2, tirx.Var("n", "int64")), (2, tirx.Var("n", "int64"))], None),
    ],
)
def test_parts_of_a_concatenation(axis, shapes, expected):
    assert concat(axis, *shapes) == expected


@pytest.mark.parametrize(
    ("shape", "sections", "axis", "expected"),
    [
        ((6, 2), 3, 0, [0, 4, 8]),
        ((6, 2), [1, 3], 0, [0, 2, 6]),
        ((1, 6), 2, 1, [0, 3]),
        ((1, 6, 2), 2, -2, [0, 6]),
        ((2, 6), 2, 1, None),
        ((6, 2), [0], 0, None),
    ],
)
def test_parts_of_a_split(shape, sections, axis, expected):
    assert offsets(relax.op.split(tensor(*shape), sections, axis)) == expected


@pytest.mark.parametrize(
    ("shape", "axes", "begins", "ends", "strides", "expected"),
    [
        ((5, 4), [0], [1], [3], None, [4]),
        ((5, 4), [0, 1], [2, 1], [3, 3], None, [9]),
        ((5, 4), [-1, 0], [1, 2], [3, 3], None, [9]),
        ((5, 4), [0], [-2], [5], None, [12]),
        ((5, 4), [0], [-9], [2], None, [0]),
        ((5, 4, 3), [0, 1], [1, 2], [2, 4], None, [18]),
        ((1, 4, 3), [1], [2], [3], None, [6]),
        ((5, 4), [1], [1], [3], None, None),
        ((5, 4, 3), [0, 2], [1, 1], [3, 2], None, None),
        ((5, 4, 3), [0, 2], [1, 1], [2, 2], None, None),
        # A range of one axis, whole others.
        ((5, 4, 3), [1, 0], [0, 1], [4, 3], None, [12]),
        ((5, 4), [0], [1], [5], [2], None),
        ((5, 4), [0], [3], [5], [2], [12]),
        ((5, 4), [0], [4], [2], [-2], [16]),
        # A begin beyond the axis is its last element.
        ((5, 4), [0], [9], [3], [-1], [16]),
        ((5, 4), [0], [4], [2], [-1], None),
        ((5, 4), [0], [2], [2], None, None),
    ],
)
def test_a_slice(shape, axes, begins, ends, strides, expected):
    assert offsets(relax.op.strided_slice(tensor(*shape), axes, begins, ends, strides)) == expected
