"""Extents in int32, and PrimFuncs that have symbolic shapes."""

from __future__ import annotations

import pytest
from tvm import tirx
from tvm.ir import PointerType, PrimType
from tvm.sym import Analyzer

from usmp.tir.size_expressions import has_symbolic_shapes, in_int32

N, M = (tirx.Var(name, PrimType("int64")) for name in "nm")


@pytest.mark.parametrize(
    ("extent", "value"),
    [
        (7, 7),
        (tirx.IntImm("int64", 9), 9),
        (N, 17),
        (N + M, 22),
        (N - M * 2, 7),
        (tirx.floordiv(N, M), 3),
        (tirx.floormod(N, M), 2),
        (tirx.max(N, M), 17),
        (tirx.min(N, M), 5),
        (tirx.Cast("int32", N) + 1, 18),
        (tirx.floordiv(N + 7, 8) * 3, 9),
    ],
)
def test_an_extent_of_int64_becomes_int32(extent, value):
    n, m = (tirx.IntImm("int32", number) for number in (17, 5))
    found = in_int32(extent, {"n": n, "m": m})
    assert str(found.ty.dtype) == "int32"
    assert int(Analyzer().simplify(found)) == value


def test_variables_are_replaced_by_name():
    n = tirx.Var("other", PrimType("int32"))
    assert in_int32(N, {"n": n}).same_as(n)


def test_unknown_sizes_and_operations_are_refused():
    with pytest.raises(ValueError, match="extent m is no size that runs are given"):
        in_int32(N + M, {"n": tirx.IntImm("int32", 1)})
    with pytest.raises(ValueError, match="is no expression of sizes that is known"):
        in_int32(tirx.truncdiv(N, M), {})


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ([], False),
        ([tirx.decl_buffer((4, 8), "int8")], False),
        ([tirx.decl_buffer((4, 8), "int8"), tirx.decl_buffer((4, N), "int8")], True),
        ([tirx.decl_buffer((N, 4), "int8")], True),
        ([tirx.decl_buffer((4, 8), "int8"), N], True),
        ([tirx.Var("p", PointerType(PrimType("int8")))], False),
        ([tirx.Var("p", PointerType(PrimType("int8"))), M], True),
    ],
)
def test_buffers_and_sizes_make_a_primfunc_symbolic(params, expected):
    assert has_symbolic_shapes(tirx.PrimFunc(params, tirx.Evaluate(0))) == expected
