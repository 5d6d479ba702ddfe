"""Operators that are computed at compile time give the integers of the emitted C."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import tirx
from tvm.ir import GlobalVar, IRModule
from tvm.script import tirx as T

from usmp.aot.transform import LowerOperators
from usmp.codegen.llvm import UnsupportedByLLVM, evaluate


def flat(func: tirx.PrimFunc) -> tirx.PrimFunc:
    variable = GlobalVar("f")
    return LowerOperators()(IRModule({variable: func}))[variable]


@T.prim_func(private=True, s_tir=True)
def doubled(x: T.Buffer((300, 300), "int8"), y: T.Buffer((300, 300), "int32")):
    wide = T.sblock_alloc_buffer((300, 300), "int32")
    for i, j in T.grid(300, 300):
        with T.sblock("wide"):
            vi, vj = T.axis.remap("SS", [i, j])
            wide[vi, vj] = T.Cast("int32", x[vi, vj])
    for i, j in T.grid(300, 300):
        with T.sblock("y"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = T.call_pure_extern(
                "int32",
                "tvmgen_multiply_by_quantized_multiplier",
                wide[vi, vj] + wide[299 - vi, vj],
                1 << 30,
                2,
            )


def test_buffers_and_functions_of_fixed_point():
    x = np.random.default_rng(0).integers(-128, 128, (300, 300)).astype(np.int8)
    result = np.zeros((300, 300), np.int32)
    evaluate(flat(doubled), [x], result)
    wide = x.astype(np.int32)
    np.testing.assert_array_equal(result, 2 * (wide + wide[::-1]))


@T.prim_func(private=True, s_tir=True)
def of_the_user(x: T.Buffer((3,), "int32"), y: T.Buffer((3,), "int32")):
    for i in range(3):
        with T.sblock("y"):
            v = T.axis.spatial(3, i)
            y[v] = T.call_pure_extern("int32", "my_function", x[v])


def test_functions_that_are_not_there():
    with pytest.raises(UnsupportedByLLVM, match="my_function is not there at compile time"):
        evaluate(flat(of_the_user), [np.zeros(3, np.int32)], np.zeros(3, np.int32))
