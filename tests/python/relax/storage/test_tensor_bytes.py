"""Bounds of symbolic sizes, and the bytes that tensors take at most."""

from __future__ import annotations

import pytest
from tvm import relax, tirx
from tvm.ir import PrimType
from tvm.script import ir as I
from tvm.script import relax as R

from usmp.analysis.relax_functions.function_memory import ManagedTensor
from usmp.relax.storage.tensor_bytes import SizeBounds, alignment_of


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", "m", 3), "int8"), y: R.Tensor(("k",), "int8"), s: R.Shape(["p"])):
        R.func_attr(
            {
                "tir_var_upper_bound": {"n": 16, "k": 5, "unknown": 7, "p": 1},
                "tir_var_lower_bound": {"n": 4, "m": 2},
            }
        )
        return x


MAIN = Module["main"]
N, M = MAIN.params[0].ty.shape.values[:2]
K = MAIN.params[1].ty.shape.values[0]


def tensor(*shape, dtype="float32") -> ManagedTensor:
    return ManagedTensor("main.a", relax.ShapeExpr(shape), len(shape), dtype, 0, 1)


@pytest.fixture(scope="module")
def bounds() -> SizeBounds:
    return SizeBounds("main", MAIN)


@pytest.mark.parametrize(
    ("extent", "largest"),
    [
        (tirx.IntImm("int64", 9), 9),
        (N, 16),
        (N - 20, 0),
        (N * 2 - 1, 31),
        # A lower bound counts where a size is subtracted, and is 0 where none is given.
        (20 - N, 16),
        (20 - K, 20),
        (N + 2 * K, 26),
        (M, None),
        (N + M, None),
        (tirx.floordiv(N + 7, 8), 2),
        (tirx.max(N, K * 4), 20),
    ],
)
def test_the_largest_value_of_an_extent(bounds, extent, largest):
    assert bounds.largest(extent) == largest


@pytest.mark.parametrize(
    ("shape", "elements"), [((), 1), ((N, 3), 48), ((N, K, 2), 160), ((N, M), None), ((0, 4), 0)]
)
def test_bytes_follow_from_elements(bounds, shape, elements):
    assert bounds.elements_of(relax.ShapeExpr(shape)) == elements
    for dtype, item_bytes in (("int8", 1), ("float32", 4), ("float64", 8)):
        expected = None if elements is None else elements * item_bytes
        assert bounds.bytes_of(tensor(*shape, dtype=dtype)) == expected


def test_a_shape_that_is_no_expression_of_sizes_has_no_bound(bounds):
    shape = relax.Var("shape", relax.ShapeType(ndim=2))
    assert bounds.elements_of(shape) is None


def test_sizes_that_tensors_use(bounds):
    """Those with bounds can be checked before a run; the others are named in messages."""
    assert bounds.used_by([tensor(N, 3), tensor(M, N + K)]) == {N: (4, 16), K: (0, 5)}
    assert bounds.used_by([tensor(M, 3)]) == {}
    assert bounds.unbounded(tensor(M, N, M + 1)) == ["m"]
    assert bounds.unbounded(tensor(N, 3)) == []
    foreign = tirx.Var("q", PrimType("int64"))
    assert bounds.unbounded(tensor(foreign, M)) == ["q", "m"]


def with_bounds(**attributes) -> relax.Function:
    function = MAIN.without_attr("tir_var_upper_bound").without_attr("tir_var_lower_bound")
    for name, value in attributes.items():
        function = function.with_attr(f"tir_var_{name}", value)
    return function


@pytest.mark.parametrize(
    ("upper", "lower", "least"), [(0, 0, 1), (-3, 0, 1), (3, 4, 4), (0, -1, 1), (1, 2, 2)]
)
def test_an_upper_bound_that_is_no_size_is_refused(upper, lower, least):
    function = with_bounds(upper_bound={"n": upper}, lower_bound={"n": lower})
    with pytest.raises(ValueError, match=f'^main: the bound {upper} of "n".*at least {least}$'):
        SizeBounds("main", function)


@pytest.mark.parametrize(("upper", "lower"), [(1, 0), (4, 4), (1, 1), (5, 4)])
def test_an_upper_bound_may_be_the_lower_one(upper, lower):
    function = with_bounds(upper_bound={"n": upper}, lower_bound={"n": lower})
    assert SizeBounds("main", function).used_by([tensor(N)]) == {N: (lower, upper)}


@pytest.mark.parametrize("attributes", [{}, {"upper_bound": {}}, {"lower_bound": {"n": 3}}])
def test_without_upper_bounds_no_size_has_any(attributes):
    bounds = SizeBounds("main", with_bounds(**attributes))
    assert (bounds.upper, bounds.largest(N)) == ({}, None)


def test_bounds_are_a_dictionary_of_numbers():
    bounds = SizeBounds("main", with_bounds(upper_bound={"n": 8, "k": "many"}))
    assert bounds.upper == {"n": 8}
    with pytest.raises(ValueError, match="main: tir_var_upper_bound is 7, not a dictionary"):
        SizeBounds("main", with_bounds(upper_bound=7))


@pytest.mark.parametrize(
    ("size", "alignment"),
    [(0, 1), (1, 1), (2, 2), (3, 2), (4, 4), (31, 16), (32, 32), (63, 32), (64, 64), (1000, 64)],
)
def test_a_place_is_aligned_to_the_widest_access(size, alignment):
    assert alignment_of(size) == alignment
