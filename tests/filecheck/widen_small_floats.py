# What is loaded as float16 is computed as float32, and rounded where it is stored.
# RUN: usmp-opt %s --passes=WidenSmallFloats | filecheck %s

from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func
    def f(p: T.handle("float16"), q: T.handle("float16")):
        a = T.decl_buffer((4,), "float16", data=p)
        b = T.decl_buffer((4,), "float16", data=q)
        for i in range(4):
            b[i] = a[i] * a[i] + T.float16(1)


# CHECK: @T.prim_func
# CHECK-NEXT: def f(p: T.handle("float16", "global"), q: T.handle("float16", "global")):
# CHECK-NEXT:     a = T.decl_buffer((4,), "float16", data=p)
# CHECK-NEXT:     b = T.decl_buffer((4,), "float16", data=q)
# CHECK-NEXT:     for i in range(4):
# CHECK-NEXT:         b[i] = T.Cast("float16", T.Cast("float32", a[i]) * T.Cast("float32", a[i]) + T.float32(1.0))
