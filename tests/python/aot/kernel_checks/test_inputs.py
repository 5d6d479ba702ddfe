"""Inputs of checks drive sums to both ends, have all rows of all kinds, and are always the same."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import te

from usmp.aot.kernel_checks import inputs
from usmp.aot.kernel_checks.inputs import inputs_of
from usmp.aot.kernel_checks.kernel_body import ReplacedOperator

SIGNS = [
    [[[1, -2], [3, 0]], [[5, 6], [-7, 8]]],
    [[[-1, 2], [-3, 4]], [[-5, 6], [-7, 8]]],
]


def operator(data: te.Tensor, weights: np.ndarray | None) -> ReplacedOperator:
    """Any operator on this data and these weights: what it computes does not matter."""
    tensors = [data]
    if weights is not None:
        tensors.append(te.placeholder(weights.shape, str(weights.dtype), "w"))
    result = te.compute(data.shape, lambda *i: data(*i))
    func = te.create_prim_func([*tensors, result])
    return ReplacedOperator("it", func, (None, *([] if weights is None else [weights])))


def runs(dtype: str, shape: tuple[int, ...], weights: np.ndarray | None = None):
    made = inputs_of(operator(te.placeholder(shape, dtype, "x"), weights))
    assert all(len(run) == 1 for run in made)
    return [array for (array,) in made]


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [("int8", -128, 127), ("uint8", 0, 255), ("int16", -32768, 32767), ("float32", -64, 64)],
)
def test_elements_are_of_the_whole_range(dtype, low, high):
    random, *ends, lowest, highest, zeros = runs(dtype, (40, 50))
    assert {a.dtype for a in (random, *ends, lowest, highest, zeros)} == {np.dtype(dtype)}
    assert len(np.unique(random)) > 250
    assert [set(a.ravel()) for a in ends] == [{low, high}] * 3
    assert [set(a.ravel()) for a in (lowest, highest, zeros)] == [{low}, {high}, {0}]


def test_booleans_are_zero_or_one():
    assert {int(x) for a in runs("bool", (8, 8)) for x in a.view(np.uint8).ravel()} == {0, 1}


def test_windows_have_the_signs_of_the_weights_of_one_channel_after_the_other():
    weights = np.array(SIGNS, "int8")
    _, signed, opposite, *_ = runs("int8", (1, 3, 4, 2), weights)
    first, second = (np.where(w > 0, 127, -128) for w in weights)
    assert signed[0, :2, :2].tolist() == first.tolist()
    assert signed[0, :2, 2:].tolist() == second.tolist()
    assert signed[0, 2:, :2].tolist() == first[:1].tolist()
    assert opposite[0, :2, :2].tolist() == np.where(weights[0] < 0, 127, -128).tolist()


def test_rows_of_a_matrix_have_the_signs_of_the_weights():
    _, signed, *_ = runs("int8", (3, 2), np.array([[1, -1], [-1, 1]], "int8"))
    assert signed.tolist() == [[127, -128], [-128, 127], [127, -128]]


def test_a_large_operator_runs_once_on_rows_of_all_kinds(monkeypatch):
    many = runs("int8", (1, 28, 3, 2))
    monkeypatch.setattr(inputs, "_LARGE", 100)
    (mixed,) = runs("int8", (1, 28, 3, 2))
    for row in range(28):
        assert mixed[0, row].tolist() == many[row // 2 % 7][0, row].tolist()


def test_a_scalar_has_inputs(monkeypatch):
    monkeypatch.setattr(inputs, "_LARGE", 0)
    assert [array.shape for array in runs("int8", ())] == [()]


def test_inputs_are_always_the_same():
    first, second = runs("int8", (5, 6)), runs("int8", (5, 6))
    assert [a.tolist() for a in first] == [a.tolist() for a in second]
