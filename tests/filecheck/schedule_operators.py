# A stage is computed where it is read, so that no tensor is left between them.
# RUN: usmp-opt %s --passes=ScheduleOperators | filecheck %s

from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((8,), "int8"), B: T.Buffer((8,), "int8")):
        twice = T.sblock_alloc_buffer((8,), "int8")
        for i in range(8):
            with T.sblock("twice"):
                vi = T.axis.spatial(8, i)
                twice[vi] = A[vi] * T.int8(2)
        for i in range(8):
            with T.sblock("increment"):
                vi = T.axis.spatial(8, i)
                B[vi] = twice[vi] + T.int8(1)


# CHECK: @T.prim_func(s_tir=True)
# CHECK-NEXT: def f(A: T.Buffer((8,), "int8"), B: T.Buffer((8,), "int8")):
# CHECK-NEXT:     # with T.sblock("root"):
# CHECK-NEXT:     for i in range(8):
# CHECK-NEXT:         with T.sblock("increment"):
# CHECK-NEXT:             vi = T.axis.spatial(8, i)
# CHECK-NEXT:             T.reads(A[vi])
# CHECK-NEXT:             T.writes(B[vi])
# CHECK-NEXT:             B[vi] = A[vi] * T.int8(2) + T.int8(1)
