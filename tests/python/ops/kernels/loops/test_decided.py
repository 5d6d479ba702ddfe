"""Choices whose condition is the same for all values of variables are made."""

from __future__ import annotations

from tvm import tirx
from tvm.ir import assert_structural_equal

from usmp.ops.kernels.loops.decided import decided, turning_points

X, Y, Z = (tirx.Var(name, "int32") for name in "xyz")
FIRST, SECOND = tirx.Var("first", "int32"), tirx.Var("second", "int32")


def choice(condition):
    return tirx.if_then_else(condition, FIRST, SECOND)


def test_where_conditions_turn():
    inside = tirx.all(X >= 1, X - 2 < 3, Y > 5)
    assert turning_points(choice(inside), X, 9) == [1, 5]
    assert turning_points(choice(inside), Y, 9) == [6]
    assert turning_points(choice(inside), Z, 9) == []
    assert turning_points(choice(X + Y < 5), X, 9) == []
    assert turning_points(choice(tirx.floormod(X, 2) == 0), X, 4) == [1, 2, 3]


def test_what_is_known_is_chosen():
    inside = choice(tirx.all(X >= 1, Y < 4))
    assert_structural_equal(decided(inside, {X: range(1, 3), Y: range(4)}), FIRST)
    assert_structural_equal(decided(inside, {X: range(0, 1)}), SECOND)
    assert_structural_equal(decided(inside, {X: range(0, 2), Y: range(4)}), inside)
    assert_structural_equal(decided(inside, {X: range(1, 2)}), inside)


def test_other_conditions():
    either = tirx.Select(tirx.any(X == 3, tirx.Not(Y <= 1)), FIRST, SECOND)
    assert_structural_equal(decided(either, {X: range(3, 4)}), FIRST)
    assert_structural_equal(decided(either, {X: range(3), Y: range(2)}), SECOND)
    assert_structural_equal(decided(either, {X: range(3)}), either)
    assert_structural_equal(
        decided(choice(X + Y > 1), {X: range(9), Y: range(9)}), choice(X + Y > 1)
    )
