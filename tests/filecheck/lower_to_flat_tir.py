# Blocks and buffers of several dimensions become loops over flat buffers.
# RUN: usmp-opt %s --passes=LowerToFlatTIR | filecheck %s

from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((4, 8), "int8"), B: T.Buffer((4, 8), "int8")):
        for i, j in T.grid(4, 8):
            with T.sblock("increment"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + T.int8(1)


# CHECK: @T.prim_func(s_tir=True)
# CHECK-NEXT: def f(A: T.Buffer((4, 8), "int8"), B: T.Buffer((4, 8), "int8")):
# CHECK-NEXT:     A_1 = A.view(32)
# CHECK-NEXT:     B_1 = B.view(32)
# CHECK-NEXT:     for i, j in T.grid(4, 8):
# CHECK-NEXT:         B_1[i * 8 + j] = A_1[i * 8 + j] + T.int8(1)
