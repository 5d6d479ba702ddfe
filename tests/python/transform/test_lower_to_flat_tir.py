"""LowerToFlatTIR: S-TIR in, what the planner takes out."""

from __future__ import annotations

import pytest
import tvm
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T

from usmp.transform import LowerToFlatTIR, UnifiedStaticMemoryPlanner

ALLOCATED = {"buffer_allocated_addr": [], "buffer_data_alignment": 64}
"""What TVM says of an allocation that comes from a block."""


@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def rows(A: T.Buffer((4, 8), "int8"), B: T.Buffer((4,), "int8")):
        twice = T.sblock_alloc_buffer((4, 8), "int8")
        for i, j in T.grid(4, 8):
            with T.sblock("twice"):
                vi, vj = T.axis.remap("SS", [i, j])
                twice[vi, vj] = A[vi, vj] * T.int8(2)
        for i, j in T.grid(4, 8):
            with T.sblock("sum"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    B[vi] = T.int8(0)
                B[vi] = B[vi] + twice[vi, vj]

    @T.prim_func
    def __tvm_main__(x: T.Buffer((4, 8), "int8"), y: T.Buffer((4,), "int8")):
        Before.rows(x, y)


@I.ir_module
class After:
    @T.prim_func(s_tir=True)
    def rows(A: T.Buffer((4, 8), "int8"), B: T.Buffer((4,), "int8")):
        A_1 = T.decl_buffer((32,), "int8", data=A.data, layout=None)
        B_1 = T.decl_buffer((4,), "int8", data=B.data, layout=None)
        twice = T.alloc_buffer((32,), "int8", layout=None, annotations=ALLOCATED)
        for i, j in T.grid(4, 8):
            twice[i * 8 + j] = A_1[i * 8 + j] * T.int8(2)
        for i, j in T.grid(4, 8):
            if j == 0:
                B_1[i] = T.int8(0)
            B_1[i] = B_1[i] + twice[i * 8 + j]

    @T.prim_func
    def __tvm_main__(x: T.Buffer((4, 8), "int8"), y: T.Buffer((4,), "int8")):
        After.rows(x, y)


def test_blocks_become_loops_over_flat_buffers():
    tvm.ir.assert_structural_equal(LowerToFlatTIR()(Before), After)


def test_what_has_no_blocks_stays():
    tvm.ir.assert_structural_equal(LowerToFlatTIR()(After), After)


def planned(mod) -> dict[str, int]:
    mod = tirx.transform.BindTarget(tvm.target.Target("c"))(mod)
    plan = UnifiedStaticMemoryPlanner()(mod).attrs["memory_plan"]
    return {buffer.name: buffer.size_bytes for buffer in plan.buffers}


def test_the_planner_asks_for_it_and_takes_what_it_makes():
    with pytest.raises(ValueError, match=r"SBlockRealize found; .*usmp\.transform\.LowerToFlatTIR"):
        planned(Before)
    assert planned(LowerToFlatTIR()(Before)) == {"twice": 32}


def test_a_buffer_that_tvm_loses_is_named():
    @I.ir_module
    class Mod:
        @T.prim_func
        def op(A: T.Buffer((2, 2), "int8")):
            A[0, 0] = T.int8(1)

        @T.prim_func(s_tir=True)
        def __tvm_main__(x: T.Buffer((2, 2), "int8")):
            with T.sblock("call"):
                T.reads(x[0:2, 0:2])
                T.writes(x[0:2, 0:2])
                Mod.op(x)

    with pytest.raises(ValueError, match=r"^__tvm_main__: buffer x is passed to a call as a whole"):
        LowerToFlatTIR()(Mod)
