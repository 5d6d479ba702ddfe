"""Negative constant indices of take count from the end."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax

import usmp
from usmp.passes import apply_passes
from usmp.relax.transform import NormalizeTakeIndices


@pytest.fixture
def take(model):
    """A module that takes constant indices from `x`."""

    def make(indices, axis, mode="fast", dtype="int64", shape=(2, 3)):
        constant = relax.const(np.asarray(indices, dtype))
        return model(lambda _, x: relax.op.take(x, constant, axis, mode), ("x", shape, "float32"))

    return make


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize(
    ("indices", "axis", "counted"),
    [
        (-1, 1, 2),
        (-2, 0, 0),
        ([[-3, 2], [0, -1]], 1, [[0, 2], [0, 2]]),
    ],
)
def test_negative_indices_are_counted_from_the_start(take, indices, axis, counted, dtype):
    after = NormalizeTakeIndices()(take(indices, axis, dtype=dtype))
    tvm.ir.assert_structural_equal(after, take(counted, axis, dtype=dtype))
    relax.analysis.well_formed(after)


def test_tensor_of_one_axis(take):
    after = NormalizeTakeIndices()(take([-1, 0], None, shape=(5,)))
    tvm.ir.assert_structural_equal(after, take([4, 0], None, shape=(5,)))


@pytest.mark.parametrize("mode", ["wrap", "clip"])
def test_modes_that_say_what_a_negative_index_means_stay(take, mode):
    before = take([-1, 5], 1, mode)
    assert NormalizeTakeIndices()(before).same_as(before)


def test_module_without_negative_indices_stays(take):
    before = take([0, 2], 1)
    assert NormalizeTakeIndices()(before).same_as(before)


@pytest.mark.parametrize("index", [3, -4])
def test_elements_that_are_not_there(take, index):
    with pytest.raises(usmp.UnsupportedModelError) as error:
        apply_passes(NormalizeTakeIndices(), take(index, 1))
    assert str(error.value) == (
        f"take: index {index} is outside of axis 1, which has 3 elements; indices from -3 to 2 are "
        "inside"
    )


@pytest.mark.cc
def test_build_takes_the_last_element(take):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    outputs = usmp.build(take(-1, 1)).run({"x": x})
    np.testing.assert_array_equal(outputs["output"], [2, 5])
