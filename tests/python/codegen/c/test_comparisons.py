"""Comparisons that are decided before the C is compiled: compilers warn of them."""

from __future__ import annotations

import tvm_ffi
from tvm import tirx
from tvm.ir import Var
from tvm.script import tirx as T

from usmp.codegen.c.expression import ExpressionPrinter
from usmp.codegen.c.helpers import Helpers

A, B = (tirx.Var(name, "int32") for name in "ab")


def to_c(expr: tirx.Expr) -> str:
    names: dict[Var, str] = {}
    tvm_ffi.structural_walk(expr, (Var, lambda var: names.update({var: var.name})))
    return ExpressionPrinter(names, set(), {}, Helpers()).print(expr)


def equal(left: tirx.Expr, right: int) -> tirx.Expr:
    return tirx.EQ(left, tirx.IntImm("int32", right))


def test_comparisons_that_exclude_each_other():
    cases = [
        ([equal(A, 1), A < 1], "0"),
        ([equal(A, 1), A < 2], "a == 1 && a < 2"),
        ([A < 3, B > 0, A >= 3], "0"),
        ([A < 3, B > 0, A >= 2], "a < 3 && b > 0 && a >= 2"),
        ([A <= 1, tirx.LT(tirx.IntImm("int32", 1), A)], "0"),
        ([A <= 1, tirx.LE(tirx.IntImm("int32", 1), A)], "a <= 1 && 1 <= a"),
        ([A > 4, tirx.GE(tirx.IntImm("int32", 4), A)], "0"),
        ([A > 4, B <= 4], "a > 4 && b <= 4"),
    ]
    assert [to_c(tirx.all(*conditions)) for conditions, _ in cases] == [text for _, text in cases]


def test_calls_are_made_even_so():
    call = tirx.call_extern("int32", "tick")
    assert to_c(tirx.all(call > 0, A < 1, A > 1)) == "tick() > 0 && a < 1 && a > 1"


def test_compilers_take_windows_without_any_data(load_functions, compiler):
    @T.prim_func
    def f(a: T.handle("int32")):
        A = T.decl_buffer((8,), "int32", data=a)
        for k in range(2):
            if k == 1 and k < 1:
                A[0] = A[k] + 1
            A[1] = T.if_then_else(k == 1 and k < 1, A[k], 2)

    load_functions(f, "-O2", compiler=compiler)
