# A buffer parameter becomes a pointer, and nothing says that it is the only one to its bytes.
# RUN: usmp-opt %s --passes=PassBuffersAsPointers | filecheck %s

from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")):
        T.func_attr({"tirx.noalias": True})
        for i in range(4):
            B[i] = A[i]


# CHECK: @T.prim_func
# CHECK-NEXT: def f(A: T.handle("int8", "global"), B: T.handle("int8", "global")):
# CHECK-NEXT:     A_1 = T.decl_buffer((4,), "int8", data=A)
# CHECK-NEXT:     B_1 = T.decl_buffer((4,), "int8", data=B)
# CHECK-NEXT:     for i in range(4):
# CHECK-NEXT:         B_1[i] = A_1[i]
