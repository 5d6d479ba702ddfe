"""Arithmetic on extents that are numbers or sizes."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax, tirx
from tvm.script import relax as R
from tvm.sym import Analyzer

from usmp.frontend import size_arithmetic
from usmp.frontend.size_arithmetic import SizeArithmetic, SizesError
from usmp.objects.symbolic_size import SymbolicSize
from usmp.relax.symbolic_sizes import bounded_analyzer

END = 2**31 - 1
N = tirx.Var("n", "int64")
M = tirx.Var("m", "int64")
SIZES = SizeArithmetic(
    bounded_analyzer([(N, SymbolicSize("n", 4, 100)), (M, SymbolicSize("m", 1, None))])
)


def same(found, expected):
    """Whether two extents, or lists of them, are equal, numbers as numbers."""
    if isinstance(expected, (list, tuple)):
        return len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(expected, int):
        return type(found) is int and found == expected
    return bool(Analyzer().can_prove_equal(found, expected))


def test_what_holds_for_all_sizes():
    assert SIZES.holds(True)
    assert not SIZES.holds(False)
    assert SIZES.holds(N >= 4)
    assert not SIZES.holds(N >= 5)
    assert SIZES.decided(N >= 4)
    assert not SIZES.decided(N < 4)
    with pytest.raises(SizesError):
        SIZES.decided(N >= 5)
    assert SIZES.are_equal(3, 3)
    assert not SIZES.are_equal(3, 4)
    assert SIZES.are_equal(N + N, 2 * N)
    assert not SIZES.are_equal(N, 4)
    assert not SIZES.are_equal(4, N)
    assert SIZES.is_at_most(3, 3)
    assert not SIZES.is_at_most(4, 3)
    assert SIZES.is_at_most(4, N)
    assert not SIZES.is_at_most(5, N)
    assert SIZES.is_at_most(N, 100)
    assert not SIZES.is_at_most(N, 99)
    assert same(SIZES.simplified(N + 1 - N), 1)
    assert same(SIZES.simplified(N + 1 + 1), N + 2)
    assert SIZES.simplified(7) == 7


@pytest.mark.parametrize(
    ("shape", "wanted", "expected"),
    [
        ([2, 6], [3, -1], [3, 4]),
        ([2, 6], [12], [12]),
        ([2, 6], [-1], [12]),
        ([N, 6], [N, 2, 3], [N, 2, 3]),
        ([N, 6], [-1, 3], [2 * N, 3]),
        ([N, 6], [N, -1], [N, 6]),
        ([N, 6], [2, -1, 3], [2, N, 3]),
        ([N, 6], [6, -1], [6, N]),
        ([N, M], [M, -1], [M, N]),
        ([N * 4, M], [N, -1], [N, 4 * M]),
        ([0, 6], [6, 0], [6, 0]),
    ],
)
def test_reshapes(shape, wanted, expected):
    assert same(SIZES.reshaped(shape, wanted), expected)


@pytest.mark.parametrize(
    ("shape", "wanted"),
    [([2, 6], [5, -1]), ([2, 6], [3, 3]), ([N, 6], [4, -1]), ([N], [M]), ([2, 6], [-1, -1])],
)
def test_reshapes_of_other_numbers_of_elements(shape, wanted):
    with pytest.raises(SizesError, match="which have as many elements only for some sizes"):
        SIZES.reshaped(shape, wanted)


def test_nothing_is_left_beside_an_axis_of_no_elements():
    with pytest.raises(SizesError, match="an axis of no elements leaves the shape open"):
        SIZES.reshaped([N, 6], [0, -1])


@pytest.mark.parametrize(
    ("shape", "wanted", "expected"),
    [
        ([3], [2, 3], [2, 3]),
        ([2, 3], [3], [2, 3]),
        ([2, 1], [1, 3], [2, 3]),
        ([N, 1], [1, M], [N, M]),
        ([N], [5, 1], [5, N]),
        ([1], [N], [N]),
    ],
)
def test_broadcasts(shape, wanted, expected):
    assert same(SIZES.broadcast(shape, wanted), expected)


@pytest.mark.parametrize(("shape", "wanted"), [([2], [3]), ([N], [M]), ([N], [4]), ([4], [N])])
def test_shapes_that_do_not_go_together(shape, wanted):
    with pytest.raises(SizesError, match="which is possible only for some sizes"):
        SIZES.broadcast(shape, wanted)


@pytest.mark.parametrize(
    ("extent", "start", "end", "step", "expected"),
    [
        (10, 2, 8, 3, (2, 8, 3)),
        (10, -3, END, 1, (7, 10, 1)),
        (10, 5, 0, -2, (5, 0, -2)),
        # Down to the first element, which -1 would leave out.
        (10, 9, -END, -1, (9, -11, -1)),
        (0, 0, 5, 1, (0, 0, 1)),
        (N, 0, END, 1, (0, N, 1)),
        (N, 1, END, 2, (1, N, 2)),
        (N, 1, 4, 1, (1, 4, 1)),
        (N, -END, END, 1, (0, N, 1)),
        (N, 0, -1, 1, (0, N - 1, 1)),
        (N, -4, N, 1, (N - 4, N, 1)),
        (N, -3, END, 1, (N - 3, N, 1)),
        (N, 0, 100, 1, (0, N, 1)),
        (N, 0, 1000, 1, (0, N, 1)),
        (N, -200, 2, 1, (0, 2, 1)),
        (N, -100, 2, 1, (0, 2, 1)),
        (N, 2, 2, 1, (2, 2, 1)),
        (10, N - N, 3, 1, (0, 3, 1)),
    ],
)
def test_slices(extent, start, end, step, expected):
    found = SIZES.cut(extent, start, end, step)
    assert same([SIZES.simplified(each) for each in found], expected)


@pytest.mark.parametrize(
    ("extent", "start", "end", "step", "message"),
    [
        (N, 0, END, -1, "its step is -1 along an axis of n elements"),
        (N, 0, END, 0, "its step is 0"),
        (N, 5, END, 1, "position 5, where it begins or ends, is inside"),
        (N, 0, 99, 1, "position 99, where"),
        (N, -5, END, 1, "position -5, where"),
        (N, 0, M, 1, "position m, where"),
        (N, 3, 2, 1, "it ends at 2, which may be in front of its begin, 3"),
        (N, 2, -3, 1, "it ends at n - 3, which may be in front of its begin, 2"),
    ],
)
def test_slices_that_depend_on_the_sizes(extent, start, end, step, message):
    with pytest.raises(SizesError) as caught:
        SIZES.cut(extent, start, end, step)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("index", "extent", "expected"),
    [(0, 3, 0), (2, 3, 2), (-1, 3, 2), (-3, 3, 0), (3, N, 3), (-4, N, N - 4), (N - 1, N, N - 1)],
)
def test_positions(index, extent, expected):
    assert same(SIZES.simplified(SIZES.position(index, extent)), expected)


@pytest.mark.parametrize(("index", "extent"), [(3, 3), (-4, 3), (4, N), (-5, N), (N, N), (M, N)])
def test_positions_outside(index, extent):
    with pytest.raises(SizesError, match="only for some sizes"):
        SIZES.position(index, extent)


def test_numbers_and_expressions():
    assert size_arithmetic.product([]) == 1
    assert size_arithmetic.product([2, 3, 4]) == 24
    assert same(size_arithmetic.product([2, N, 3]), 6 * N)
    for value in (np.int32(5), tirx.IntImm("int32", 5), 5):
        assert type(size_arithmetic.number(value)) is int
        assert size_arithmetic.number(value) == 5
    assert size_arithmetic.number(N) is N
    assert size_arithmetic.is_number(-1, -1)
    assert not size_arithmetic.is_number(1, -1)
    assert not size_arithmetic.is_number(N, 1)
    assert size_arithmetic.int64(N) is N
    made = size_arithmetic.int64(5)
    assert (made.value, str(made.ty.dtype)) == (5, "int64")


def test_slices_of_several_axes():
    x = relax.Var("x", R.Tensor((4, 5, 6), "float32"))
    assert size_arithmetic.strided_slice(x, {}) is x
    call = size_arithmetic.strided_slice(x, {2: (1, 5, 2), 0: (0, 3, 1)})
    normalized = relax.BlockBuilder().normalize(call)
    assert [int(extent) for extent in normalized.ty.shape] == [3, 5, 2]
