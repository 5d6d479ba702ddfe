"""Slices of joins, as slices of what is joined."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax

from usmp.relax.transform import PushSliceThroughConcat

X = ("x", (2, 4), "float32")
Y = ("y", (2, 3), "float32")
Z = ("z", (5, 4), "float32")


def emit_slices(b, value, axis, *ranges):
    return [b.emit(relax.op.strided_slice(value, [axis], [i], [j], [1])) for i, j in ranges]


@pytest.fixture
def check(model, expected, random_array):
    """Rewrite a body, compare it with another one, and both by their results."""

    def check(body, changed, *inputs):
        before = model(body, *inputs)
        after = PushSliceThroughConcat()(before)
        right = before if changed is None else model(changed, *inputs)
        tvm.ir.assert_structural_equal(*map(relax.transform.CanonicalizeBindings(), (after, right)))
        arrays = [random_array(*shape) for _, shape, _ in inputs]
        for got, wanted in zip(expected(after, *arrays), expected(before, *arrays), strict=True):
            np.testing.assert_array_equal(got, wanted, strict=True)

    return check


@pytest.mark.parametrize("axis", [1, -1])
def test_slices_inside_of_one_input(check, axis):
    def body(b, x, y):
        joined = b.emit(relax.op.concat([x, y], 1))
        return relax.Tuple(emit_slices(b, joined, axis, (1, 3), (-2, 100), (0, 4)))

    def wanted(b, x, y):
        (first,) = emit_slices(b, x, 1, (1, 3))
        return relax.Tuple([first, *emit_slices(b, y, 1, (1, 3)), x])

    check(body, wanted, X, Y)


def test_a_slice_of_two_inputs_along_an_inner_axis_joins_parts_of_them(check):
    def body(b, x, y):
        joined = b.emit(relax.op.concat([x, y, x], 1))
        return relax.Tuple(emit_slices(b, joined, 1, (3, 8)))

    def wanted(b, x, y):
        parts = [*emit_slices(b, x, 1, (3, 4)), y, *emit_slices(b, x, 1, (0, 1))]
        return relax.Tuple([b.emit(relax.op.concat(parts, 1))])

    check(body, wanted, X, Y)


def test_a_slice_of_other_axes_too(check):
    def cut(b, value, begin, end):
        axes, begins, ends, strides = [0, 1], [1, begin], [-3, end], [-1, 1]
        return b.emit(relax.op.strided_slice(value, axes, begins, ends, strides))

    def body(b, x, y):
        return cut(b, b.emit(relax.op.concat([x, y], 1)), 4, 7)

    check(body, lambda b, x, y: cut(b, y, 0, 3), X, Y)


@pytest.mark.cc
def test_joins_of_joins(check):
    def body(b, x, y):
        inner = b.emit(relax.op.concat([x, y], 1))
        outer = b.emit(relax.op.concat([inner, y], 1))
        return relax.Tuple(emit_slices(b, outer, 1, (4, 7), (7, 10)))

    check(body, lambda b, x, y: relax.Tuple([y, y]), X, Y)


def test_a_join_along_the_outermost_axis_of_which_each_slice_is_of_one_input(check):
    def body(b, x, z):
        joined = b.emit(relax.op.concat([x, z], 0))
        return relax.Tuple(emit_slices(b, joined, 0, (0, 2), (3, 5)))

    check(body, lambda b, x, z: relax.Tuple([x, *emit_slices(b, z, 0, (1, 3))]), X, Z)


def test_a_join_along_the_outermost_axis_stays_if_a_slice_would_have_to_join(check):
    def body(b, x, z):
        joined = b.emit(relax.op.concat([x, z], 0))
        return relax.Tuple(emit_slices(b, joined, 0, (0, 2), (1, 3)))

    check(body, None, X, Z)


@pytest.mark.parametrize(
    "reader",
    [
        lambda b, joined: joined,
        lambda b, joined: b.emit(relax.op.exp(joined)),
        lambda b, joined: b.emit(relax.op.strided_slice(joined, [0], [0], [1])),
        lambda b, joined: b.emit(relax.op.strided_slice(joined, [1], [0], [7], [2])),
    ],
    ids=["returned", "whole", "other_axis", "every_other"],
)
def test_a_join_with_other_readers_stays(check, reader):
    def body(b, x, y):
        joined = b.emit(relax.op.concat([x, y], 1))
        return relax.Tuple([*emit_slices(b, joined, 1, (0, 1)), reader(b, joined)])

    check(body, None, X, Y)
