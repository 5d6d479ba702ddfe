# Loops that a target would run at once run one iteration after the other.
# RUN: usmp-opt %s --passes=ConvertForLoopsToSerial | filecheck %s

from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func
    def f(p: T.handle("int8")):
        a = T.decl_buffer((4,), "int8", data=p)
        for i in T.parallel(4):
            a[i] = T.int8(0)
        for i in T.vectorized(4):
            a[i] = T.int8(1)
        for i in T.unroll(4):
            a[i] = T.int8(2)


# CHECK: @T.prim_func
# CHECK-NEXT: def f(p: T.handle("int8", "global")):
# CHECK-NEXT:     a = T.decl_buffer((4,), "int8", data=p)
# CHECK-NEXT:     for i in range(4):
# CHECK-NEXT:         a[i] = T.int8(0)
# CHECK-NEXT:     for i in range(4):
# CHECK-NEXT:         a[i] = T.int8(1)
# CHECK-NEXT:     for i in range(4):
# CHECK-NEXT:         a[i] = T.int8(2)
