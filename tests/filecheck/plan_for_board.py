# What does not fit is said in the words of the board.
# RUN: not usmp-opt %s --passes=PlanForBoard{board=mps2-an385} --usmp-workspace-pools=sram --usmp-workspace-pool-sram=size=8 2>&1 | filecheck %s

from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func
    def increment(p: T.handle("int8"), q: T.handle("int8")):
        T.func_attr({"target": T.target("c")})
        a = T.decl_buffer((4,), "int8", data=p)
        b = T.decl_buffer((4,), "int8", data=q)
        for i in range(4):
            b[i] = a[i] + T.int8(1)

    @T.prim_func
    def __tvm_main__(x: T.handle("int8"), y: T.handle("int8")):
        T.func_attr({"target": T.target("c")})
        c = T.alloc_buffer((40,), "int8")
        Module.increment(x, c.data)
        Module.increment(c.data, y)


# CHECK: usmp-opt: error: the model does not fit board mps2-an385: no space for buffer "c" (40 bytes)
# CHECK-NEXT:   sram (4194304 bytes at 0x20000000) has 8 bytes for pools, 32 too few
# CHECK-NEXT:   With enough memory it would take 40 bytes of sram, the largest of them c (40)
# CHECK-NEXT:   Choose other memories, a smaller model, or another tir.usmp.algorithm
