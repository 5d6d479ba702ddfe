"""Sums of a constant and multiples of other values."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import tirx

from usmp.analysis.memory.indices.linear_sums import (
    NonlinearTerm,
    NotLinear,
    Sum,
    cast_sum,
    constant_sum,
    held_sum,
)

PART, OTHER = (NonlinearTerm(np.arange(4).reshape(4, 1), frozenset({0})) for _ in range(2))
LEFT = Sum(3, {0: 2, 1: 5}, {1: (PART, 4)}, 3, 40)
RIGHT = Sum(10, {1: -5, 2: 1}, {1: (PART, 1), 2: (OTHER, 7)}, -10, 30, 4)


def test_factors_of_the_same_axis_and_part_are_added():
    both = Sum(13, {0: 2, 1: 0, 2: 1}, {1: (PART, 5), 2: (OTHER, 7)}, -7, 70, 4)
    assert LEFT.plus(RIGHT) == both
    assert RIGHT.plus(LEFT) == both


def test_vectors_of_other_lengths_are_not_added():
    assert RIGHT.plus(RIGHT).lanes == 4
    with pytest.raises(NotLinear):
        RIGHT.plus(RIGHT._replace(lanes=2))


def test_all_is_multiplied_by_a_factor():
    assert RIGHT.times(-2) == Sum(-20, {1: 10, 2: -2}, {1: (PART, -2), 2: (OTHER, -14)}, -60, 20, 4)
    assert constant_sum(7).times(3) == Sum(21, {}, {}, 21, 21)


def between(least, greatest):
    return Sum(0, {}, {}, least, greatest)


LIMITS = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint8": (0, 2**8 - 1),
    "uint16": (0, 2**16 - 1),
    "uint32": (0, 2**32 - 1),
}


@pytest.mark.parametrize(("dtype", "limits"), LIMITS.items())
def test_values_that_a_type_holds_do_not_wrap(dtype, limits):
    low, high = limits
    expr, vector = tirx.Var("x", dtype), tirx.Var("x", f"{dtype}x4")
    for variable in (expr, vector):
        cast = tirx.Cast(str(variable.ty.dtype), variable)
        for find, node in ((cast_sum, cast), (held_sum, variable)):
            assert find(between(low, high), node) == between(low, high)
            for outside in (between(low - 1, 0), between(0, high + 1)):
                with pytest.raises(NotLinear):
                    find(outside, node)


def test_any_type_holds_small_numbers():
    strange = tirx.Var("x", "float32")
    assert held_sum(between(0, 127), strange) == between(0, 127)
    for other in (between(-1, 0), between(0, 128)):
        with pytest.raises(NotLinear):
            held_sum(other, strange)


def test_truths_are_0_or_1():
    cast = tirx.Cast("bool", tirx.Var("x", "int32"))
    assert cast_sum(between(0, 1), cast) == between(0, 1)
    for other in (between(-1, 0), between(0, 2)):
        with pytest.raises(NotLinear):
            cast_sum(other, cast)
