# An operator becomes flat loops over typed pointers.
# RUN: usmp-opt %s --passes=LowerOperators | filecheck %s

from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((4, 8), "int8"), B: T.Buffer((4, 8), "int8")):
        T.func_attr({"tirx.noalias": True})
        for i, j in T.grid(4, 8):
            with T.sblock("increment"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + T.int8(1)


# CHECK: @T.prim_func(s_tir=True)
# CHECK-NEXT: def f(A: T.handle("int8", "global"), B: T.handle("int8", "global")):
# CHECK-NEXT:     A_1 = T.decl_buffer((32,), "int8", data=A)
# CHECK-NEXT:     B_1 = T.decl_buffer((32,), "int8", data=B)
# CHECK-NEXT:     for i, j in T.grid(4, 8):
# CHECK-NEXT:         B_1[i * 8 + j] = A_1[i * 8 + j] + T.int8(1)
