"""Values of extents, and the greatest of them."""

from __future__ import annotations

from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tvm import tirx

from support.size_expressions import BOUNDS, random_expression
from usmp.analysis.symbolic.extents import greatest, value_of
from usmp.objects.symbolic_size import SymbolicSize
from usmp.plain.size_expression import extent_at

SIZES = [SymbolicSize(name, *bounds) for name, bounds in BOUNDS.items()]
VARIABLES = {name: tirx.Var(name, "int32") for name in BOUNDS}
OPERATIONS = {
    "+": tirx.Add,
    "-": tirx.Sub,
    "*": tirx.Mul,
    "//": tirx.FloorDiv,
    "%": tirx.FloorMod,
    "min": tirx.Min,
    "max": tirx.Max,
}
N = tirx.Var("n", "int32")


def in_tir(expression):
    """The expression, nothing of it computed."""
    if isinstance(expression, int):
        return tirx.IntImm("int32", expression)
    if isinstance(expression, str):
        return VARIABLES[expression]
    operator, *sides = expression
    return OPERATIONS[operator](*map(in_tir, sides))


@settings(deadline=None, max_examples=100, derandomize=True)
@given(st.integers(0, 2**31))
def test_values_and_the_greatest_of_all_sizes(seed):
    expression = random_expression(Random(seed), 3)
    extent = in_tir(expression)
    found = []
    for a, b in product(*(range(low, high + 1) for low, high in BOUNDS.values())):
        found.append(extent_at(expression, {"a": a, "b": b}))
        assert value_of(extent, {"a": a, "b": b}) == found[-1]
    assert greatest(extent, SIZES) == max(found)


def test_arrays_of_sizes():
    extent = tirx.max(tirx.floordiv(N - 1, 2) + 1, 3).astype("int64")
    assert value_of(extent, {"n": np.array([1, 5, 6, 9])}).tolist() == [3, 3, 3, 5]


def test_an_extent_may_be_greatest_at_a_small_size():
    assert greatest(N * (20 - N), [SymbolicSize("n", 1, 16)]) == 100


@pytest.mark.parametrize(
    ("extent", "most"),
    [
        (N, 2**21),
        (N * 4 + 1, 2**23 + 1),
        (10 - N, 9),
        (tirx.floordiv(N, 3), 2**21 // 3),
        (tirx.min(N, 7), 7),
    ],
)
def test_too_many_values_to_look_at(extent, most):
    assert greatest(extent, [SymbolicSize("n", 1, 2**21)]) == most


def test_too_many_values_may_give_more():
    exact = greatest(N * (20 - N), [SymbolicSize("n", 1, 16)])
    assert greatest(N * (20 - N), [SymbolicSize("n", 1, 2**21)]) >= exact


def test_what_has_no_greatest_value():
    with pytest.raises(ValueError, match="n has no upper bound"):
        greatest(N * 4, [SymbolicSize("n")])
    with pytest.raises(ValueError, match="n in n \\* 4 is no size that runs are given"):
        greatest(N * 4, SIZES)


def test_what_has_no_value():
    with pytest.raises(ValueError, match="extent n is no expression of sizes that is known"):
        value_of(N, {"m": 1})
    with pytest.raises(ValueError, match="is no expression of sizes that is known"):
        value_of(tirx.truncdiv(N, 2), {"n": 1})
