"""SimplifyIntegers: rules of integers do not hold for floats."""

from __future__ import annotations

import tvm
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T

from usmp.transform.simplify_integers import SimplifyIntegers


def test_differences_and_equalities_of_floats_stay():
    @I.ir_module
    class Before:
        @T.prim_func
        def f(a: T.Buffer((4,)), b: T.Buffer((4,)), c: T.Buffer((4,), "bool")):
            for i in range(4):
                b[i] = a[i] + T.float32(1) - a[i]
                c[i] = a[i] - a[i] == a[i] - a[i] or T.sqrt(a[i]) != T.sqrt(a[i])
                c[i] = T.Not(a[i] <= b[i])
                c[i] = T.Not(a[i] < b[i]) or a[i] <= b[i] or b[i] < a[i]

    after = SimplifyIntegers(tirx.transform.StmtSimplify())(Before)
    tvm.ir.assert_structural_equal(after, Before)


def test_integers_are_simplified():
    @I.ir_module
    class Before:
        @T.prim_func
        def f(a: T.Buffer((4,)), b: T.Buffer((4,))):
            for i in range(4):
                b[i + 1 - 1] = a[i] - a[i + i - i]
                if i - i == 0:
                    b[i] = b[i] - a[i]

    @I.ir_module
    class Expected:
        @T.prim_func
        def f(a: T.Buffer((4,)), b: T.Buffer((4,))):
            for i in range(4):
                b[i] = a[i] - a[i]
                b[i] = b[i] - a[i]

    after = SimplifyIntegers(tirx.transform.StmtSimplify())(Before)
    tvm.ir.assert_structural_equal(after, Expected)
