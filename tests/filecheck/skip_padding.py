# An accumulation of padding is guarded, and the guard leaves the loop that it does not depend on.
# RUN: usmp-opt %s --passes=SkipPadding | filecheck %s

from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func
    def f(x: T.Buffer((64,), "int8"), w: T.Buffer((36,), "int8"), acc: T.Buffer((1,), "int32")):
        for ky in range(3):
            for c in range(4):
                acc[0] = acc[0] + T.if_then_else(
                    1 <= ky, T.Cast("int32", x[ky * 4 + c]), 0
                ) * T.Cast("int32", w[ky * 4 + c])


# CHECK: @T.prim_func
# CHECK-NEXT: def f(x: T.Buffer((64,), "int8"), w: T.Buffer((36,), "int8"), acc: T.Buffer((1,), "int32")):
# CHECK-NEXT:     for ky in range(3):
# CHECK-NEXT:         if 1 <= ky:
# CHECK-NEXT:             for c in range(4):
# CHECK-NEXT:                 acc = acc + T.Cast("int32", x[ky * 4 + c]) * T.Cast("int32", w[ky * 4 + c])
