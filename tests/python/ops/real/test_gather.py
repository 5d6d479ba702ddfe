"""Operators that read where indices say: none reads outside of its tensor."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax, tirx

from support.relax_vm import computed
from usmp.ops.real.gather import GATHER_OPERATORS
from usmp.support.errors import UnsupportedModelError

DATA = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def legalized(builder, call):
    call = builder.normalize(call)
    return builder.emit(GATHER_OPERATORS[call.op.name](builder, call))


def results(make, data, *indices):
    """Of indices of the run, and of constant ones where these are inside."""
    (result,) = computed(
        lambda builder, *tensors: legalized(builder, make(*tensors)), data, *indices
    )
    return result


def result_of_constants(make, data, *indices):
    constants = [relax.const(each, str(each.dtype)) for each in indices]
    (result,) = computed(lambda builder, tensor: legalized(builder, make(tensor, *constants)), data)
    return result


def check(make, expected, *indices):
    """Negative indices are counted from the end."""
    np.testing.assert_array_equal(results(make, DATA, *indices), expected)
    np.testing.assert_array_equal(result_of_constants(make, DATA, *indices), expected)


def refused(make, *indices):
    with pytest.raises(UnsupportedModelError) as caught:
        result_of_constants(make, DATA, *indices)
    return str(caught.value)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_take(axis):
    def make(data, indices):
        return relax.op.take(data, indices, axis=axis, mode="fast")

    inside = np.array([[0, 1], [-1, -2]], np.int64)
    check(make, np.take(DATA, inside, axis), inside)
    outside = np.array([9, 2**32, -9, -(2**32)], np.int64)
    last = DATA.shape[axis] - 1
    expected = np.take(DATA, [last, last, 0, 0], axis)
    np.testing.assert_array_equal(results(make, DATA, outside), expected)
    assert refused(make, outside).startswith(f"take: index 9 is outside of axis {axis % 3}, which")


def test_take_of_a_tensor_with_one_axis():
    indices = np.array([23, -24, -1])
    (result,) = computed(
        lambda builder, data, indices: legalized(
            builder,
            relax.op.take(builder.emit(relax.op.reshape(data, [24])), indices, mode="fast"),
        ),
        DATA,
        indices,
    )
    assert result.tolist() == [23, 0, 23]


@pytest.mark.parametrize("axis", [1, -1])
def test_gather_elements(axis):
    def make(data, indices):
        return relax.op.gather_elements(data, indices, axis=axis)

    inside = np.array([[[0, 2, -1, -3]], [[1, 1, 2, 0]]], np.int64)
    data = DATA if axis == 1 else DATA[:, :1]
    check(make, np.take_along_axis(data, inside % DATA.shape[axis], axis), inside)
    outside = np.array([[[7, -7]]], np.int64)
    expected = [[[DATA[0, 2, 0], DATA[0, 0, 1]]]] if axis == 1 else [[[3, 0]]]
    np.testing.assert_array_equal(results(make, DATA, outside), expected)
    message = refused(make, outside)
    assert message.startswith(f"gather_elements: index 7 is outside of axis {axis % 3}, which")


def test_gather_nd():
    """Positions on the first two axes, and on the last two of each batch."""

    def make(data, indices):
        return relax.op.gather_nd(data, indices)

    def make_batches(data, indices):
        return relax.op.gather_nd(data, indices, batch_dims=1)

    inside = np.array([[[0, 1], [-1, -3]], [[1, 2], [0, 0]]], np.int64)
    check(make, DATA[inside[..., 0], inside[..., 1]], inside)
    batches = np.stack([DATA[b][inside[b, :, 0], inside[b, :, 1]] for b in (0, 1)])
    check(make_batches, batches, inside)
    outside = np.array([[5, -9]], np.int64)
    np.testing.assert_array_equal(results(make, DATA, outside), DATA[[1], [0]])
    assert refused(make, outside).startswith("gather_nd: index 5 is outside of axis 0, which has 2")
    outside = np.array([[[1, 4]]] * 2, np.int64)
    message = refused(make_batches, outside)
    assert message.startswith("gather_nd: index 4 is outside of axis 2, which has 4")


def test_index_tensor():
    """Indices of the first two axes are broadcast together."""

    def make(data, rows, columns):
        return relax.op.index_tensor(data, [rows, columns])

    rows, columns = np.array([[0], [-1]], np.int64), np.array([2, -2, 0], np.int64)
    check(make, DATA[rows, columns], rows, columns)
    far = np.array([-9, 9, 1], np.int64)
    np.testing.assert_array_equal(results(make, DATA, rows, far), DATA[rows, [0, 2, 1]])
    assert refused(make, rows, far).startswith("index_tensor: index -9 is outside of axis 1, which")


def test_index_tensor_of_a_tuple_that_is_computed():
    rows, columns = np.array([1, -2], np.int64), np.array([2, -9], np.int64)

    def function(builder, data, *tensors):
        pair = builder.emit(relax.Tuple(list(tensors)))
        return legalized(builder, relax.op.index_tensor(data, pair))

    (result,) = computed(function, DATA, rows, columns)
    np.testing.assert_array_equal(result, DATA[[1, 0], [2, 0]])


@pytest.mark.parametrize("operator", ["roi_align", "roi_pool"])
def test_regions_are_those_of_the_nearest_image(operator):
    data = np.stack([np.full((1, 4, 4), value, np.float32) for value in (3, 5, 7)])
    regions = np.array(
        [[image, 0, 0, 3, 3] for image in (0, 1, 2, 9, -4, np.nan, 1e30)], np.float32
    )
    make = getattr(relax.op.vision, operator)
    (result,) = computed(
        lambda builder, *tensors: legalized(builder, make(*tensors, (1, 1), 1.0)), data, regions
    )
    np.testing.assert_allclose(result.reshape(-1), [3, 5, 7, 7, 3, 3, 7], rtol=1e-6)


def test_axes_of_which_the_run_knows_the_extent_are_checked_by_it():
    """Constant indices may be inside or outside."""
    extent = tirx.Var("n", "int64")
    data = relax.Var("data", relax.TensorType((extent,), "float32"))
    indices = relax.const(np.array([-1, 5, 0], np.int64), "int64")
    builder = relax.BlockBuilder()
    with builder.function("main", [data]):
        result = legalized(builder, relax.op.take(data, indices, axis=0, mode="fast"))
        builder.emit_func_output(result)
    assert [int(extent) for extent in result.ty.shape] == [3]


def test_nothing_is_read_of_axes_without_elements():
    data, indices = np.zeros((0, 2), np.float32), np.zeros((0,), np.int64)
    result = results(lambda *args: relax.op.take(*args, axis=0, mode="fast"), data, indices)
    assert result.shape == (0, 2)


def test_other_modes_of_take_say_what_is_outside():
    def make(data, indices):
        return relax.op.take(data, indices, axis=2, mode="wrap")

    indices = np.array([5, -1], np.int64)
    np.testing.assert_array_equal(results(make, DATA, indices), DATA[:, :, [1, 3]])
