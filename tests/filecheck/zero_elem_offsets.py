# An offset that the caller would choose is 0.
# RUN: usmp-opt %s --passes=ZeroElemOffsets | filecheck %s

from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func
    def copy(a: T.handle, b: T.handle):
        offset = T.int32()
        A = T.match_buffer(a, (4,), "int8", elem_offset=offset)
        B = T.match_buffer(b, (4,), "int8")
        for i in range(4):
            B[i] = A[i]


# CHECK: @T.prim_func
# CHECK-NEXT: def copy(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")):
# CHECK-NEXT:     for i in range(4):
# CHECK-NEXT:         B[i] = A[i]
