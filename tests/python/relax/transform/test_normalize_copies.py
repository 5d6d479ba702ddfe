"""Takes, stacks and dropouts as slices and joins."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax, tirx

from usmp.relax.transform import NormalizeCopies


@pytest.fixture
def take(model):
    """A module that takes constant indices from `x`."""

    def make(indices, axis, shape=(4, 6), dtype="int64"):
        constant = relax.const(np.asarray(indices, dtype))
        return model(lambda _, x: relax.op.take(x, constant, axis, "fast"), ("x", shape, "float32"))

    return make


@pytest.fixture
def sliced(model):
    """A module that slices `x` along an axis, and gives the slice a shape."""

    def make(axis, begin, end, stride, new_shape, shape=(4, 6)):
        def body(b, x):
            part = b.emit(relax.op.strided_slice(x, [axis], [begin], [end], [stride]))
            return relax.op.reshape(part, new_shape)

        return model(body, ("x", shape, "float32"))

    return make


@pytest.mark.parametrize(
    ("indices", "axis", "begin", "end", "stride", "new_shape"),
    [
        (2, 0, 2, 3, 1, (6,)),
        ([2], 0, 2, 3, 1, (1, 6)),
        ([[1, 2, 3]], 1, 1, 4, 1, (4, 1, 3)),
        ([0, 2, 4], -1, 0, 6, 2, (4, 3)),
        ([3, 2, 1], 0, 3, 0, -1, (3, 6)),
        ([3, 1], 0, 3, -5, -2, (2, 6)),
        ([2, 1, 0], 1, 2, -7, -1, (4, 3)),
    ],
    ids=str,
)
def test_a_take_of_elements_at_equal_distances_is_a_slice(
    take, sliced, expected, random_array, indices, axis, begin, end, stride, new_shape
):
    before = take(indices, axis)
    after = NormalizeCopies()(before)
    wanted = sliced(axis % 2, begin, end, stride, new_shape)
    tvm.ir.assert_structural_equal(after, wanted)
    x = random_array(4, 6)
    np.testing.assert_array_equal(expected(after, x), expected(before, x), strict=True)


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint8"])
def test_indices_of_other_types(take, sliced, dtype):
    after = NormalizeCopies()(take([5, 4], 1, dtype=dtype))
    tvm.ir.assert_structural_equal(after, sliced(1, 5, 3, -1, (4, 2)))


def test_a_tensor_of_one_axis_has_no_other(take, sliced):
    after = NormalizeCopies()(take([1, 2], None, (5,)))
    tvm.ir.assert_structural_equal(after, sliced(0, 1, 3, 1, (2,), (5,)))


@pytest.mark.parametrize("indices", [[0, 1, 3], [1, 1], [3, 0, 1, 2], np.empty((0,)), [4, 3]])
def test_other_takes_stay(take, indices):
    before = take(indices, 0)
    assert NormalizeCopies()(before).same_as(before)


def test_a_take_of_computed_indices_stays(model):
    inputs = ("x", (4, 6), "float32"), ("i", (2,), "int32")
    before = model(lambda _, x, i: relax.op.take(x, i, 0), *inputs)
    assert NormalizeCopies()(before).same_as(before)


@pytest.mark.parametrize(("axis", "positive"), [(0, 0), (1, 1), (-1, 2), (-3, 0)])
def test_a_stack_is_a_join(model, axis, positive):
    inputs = ("x", (4, 6), "float32"), ("y", (4, 6), "float32")

    def joined(b, x, y):
        parts = [b.emit(relax.op.expand_dims(value, positive)) for value in (x, y)]
        return relax.op.concat(parts, positive)

    after = NormalizeCopies()(model(lambda _, x, y: relax.op.stack([x, y], axis), *inputs))
    tvm.ir.assert_structural_equal(after, model(joined, *inputs))


def test_a_dropout_is_its_input(model):
    def body(b, x):
        dropped = b.emit(relax.op.nn.dropout(b.emit(relax.op.exp(x)), 0.5))
        return relax.op.nn.relu(b.emit(dropped[0]))

    x = ("x", (4, 6), "float32")
    after = relax.transform.CanonicalizeBindings()(NormalizeCopies()(model(body, x)))
    wanted = model(lambda b, x: relax.op.nn.relu(b.emit(relax.op.exp(x))), x)
    tvm.ir.assert_structural_equal(after, wanted)


def test_the_mask_of_a_dropout_is_computed(model):
    before = model(lambda b, x: b.emit(relax.op.nn.dropout(x, 0.5))[1], ("x", (4, 6), "float32"))
    assert NormalizeCopies()(before).same_as(before)


def test_sizes_that_only_the_run_knows(model):
    """A split along a fixed axis becomes slices; a take along another one stays."""
    n = tirx.Var("n", "int64")
    shape = (1, n, 6)

    def parts(b, x):
        both = b.emit(relax.op.split(x, 2, -1))
        return relax.op.add(*(b.emit(relax.TupleGetItem(both, index)) for index in range(2)))

    def slices(b, x):
        halves = [b.emit(relax.op.strided_slice(x, [2], [i], [i + 3], [1])) for i in (0, 3)]
        return relax.op.add(*halves)

    after = NormalizeCopies()(model(parts, ("x", shape, "float32")))
    tvm.ir.assert_structural_equal(
        after, model(slices, ("x", shape, "float32")), map_free_vars=True
    )
    indices = relax.const(np.array([0, 1], "int64"))
    taken = model(lambda _, x: relax.op.take(x, indices, 1, "fast"), ("x", shape, "float32"))
    tvm.ir.assert_structural_equal(NormalizeCopies()(taken), taken)
