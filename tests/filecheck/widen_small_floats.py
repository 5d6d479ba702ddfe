# What is loaded as float16 is computed as float32, and rounded where it is stored; what a tensor
# intrinsic gets the address of stays as it is.
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

    @T.prim_func
    def g(p: T.handle("float16"), q: T.handle("float16")):
        a = T.decl_buffer((4,), "float16", data=p)
        b = T.decl_buffer((4,), "float16", data=q)
        c = T.alloc_buffer((4,), "float16", scope="local")
        with T.attr(
            "tvmgen_copy",
            "usmp.tensor_intrin",
            T.call_pure_extern("int32", "tvmgen_copy", c[0], a[0], 8),
        ):
            for i in range(4):
                c[i] = a[i]
        for i in range(4):
            b[i] = c[i] + T.float16(1)


# CHECK: @T.prim_func
# CHECK-NEXT: def f(p: T.handle("float16", "global"), q: T.handle("float16", "global")):
# CHECK-NEXT:     a = T.decl_buffer((4,), "float16", data=p)
# CHECK-NEXT:     b = T.decl_buffer((4,), "float16", data=q)
# CHECK-NEXT:     for i in range(4):
# CHECK-NEXT:         b[i] = T.Cast("float16", T.Cast("float32", a[i]) * T.Cast("float32", a[i]) + T.float32(1.0))
# CHECK: def g(p: T.handle("float16", "global"), q: T.handle("float16", "global")):
# CHECK: c = T.alloc_local((4,), "float16")
# CHECK-NEXT: with T.attr("tvmgen_copy", "usmp.tensor_intrin", T.call_pure_extern("int32", "tvmgen_copy", c[0], a[0], 8)):
# CHECK-NEXT:     for i in range(4):
# CHECK-NEXT:         c[i] = a[i]
# CHECK-NEXT: for i in range(4):
# CHECK-NEXT:     b[i] = T.Cast("float16", T.Cast("float32", c[i]) + T.float32(1.0))
