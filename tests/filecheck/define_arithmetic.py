# What may overflow or divide by zero is computed by a function that is defined for all operands;
# what cannot, stays.
# RUN: usmp-opt %s --passes=DefineArithmetic | filecheck %s

from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func
    def f(p: T.handle("int32"), q: T.handle("int32")):
        a = T.decl_buffer((4,), "int32", data=p)
        b = T.decl_buffer((4,), "int32", data=q)
        for i in range(4):
            b[i] = a[i] + a[i]
            b[i] = T.Div(a[i], a[3 - i])
            b[i] = i * 2 + 1


# CHECK: @T.prim_func
# CHECK-NEXT: def f(p: T.handle("int32", "global"), q: T.handle("int32", "global")):
# CHECK-NEXT:     a = T.decl_buffer((4,), "int32", data=p)
# CHECK-NEXT:     b = T.decl_buffer((4,), "int32", data=q)
# CHECK-NEXT:     for i in range(4):
# CHECK-NEXT:         b[i] = T.call_pure_extern("int32", "tvmgen_add_int32", a[i], a[i])
# CHECK-NEXT:         b[i] = T.call_pure_extern("int32", "tvmgen_divide_int32", a[i], a[3 - i])
# CHECK-NEXT:         b[i] = i * 2 + 1
