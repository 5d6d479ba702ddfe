# A choice is an operator that runs one of two bodies; what it reads are parameters of both.
# RUN: usmp-opt %s --passes=ConvertBranches,LowerOperators,LowerControlFlow | filecheck %s

from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func(private=True)
    def double(a_ptr: T.handle("float32"), b_ptr: T.handle("float32")):
        a = T.decl_buffer((4,), "float32", data=a_ptr)
        b = T.decl_buffer((4,), "float32", data=b_ptr)
        for i in range(4):
            b[i] = a[i] + a[i]

    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32"), z: R.Tensor((4,), "float32")):
        if c:  # noqa: SIM108
            y = R.call_tir(Module.double, (x,), out_ty=R.Tensor((4,), "float32"))
        else:
            y = z
        return y


# CHECK: def if_then_else(x0: T.handle("bool", "global"), x1: T.handle("float32", "global"), x2: T.handle("float32", "global"), y0: T.handle("float32", "global")):
# CHECK: if condition:
# CHECK-NEXT: x = T.decl_buffer((4,), data=x1)
# CHECK-NEXT: z = T.decl_buffer((4,), data=x2)
# CHECK-NEXT: output = T.decl_buffer((4,), data=y0)
# CHECK-NEXT: Module.double_1(x.data, output.data)
# CHECK-NEXT: else:
# CHECK-NEXT: x = T.decl_buffer((4,), data=x1)
# CHECK-NEXT: z = T.decl_buffer((4,), data=x2)
# CHECK-NEXT: output = T.decl_buffer((4,), data=y0)
# CHECK-NEXT: Module.usmp_copy_0(z.data, output.data)
# CHECK: def main(c: R.Tensor((), dtype="bool"), x: R.Tensor((4,), dtype="float32"), z: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
# CHECK-NEXT: cls = Module
# CHECK-NEXT: gv = R.call_tir(cls.if_then_else, (c, x, z), out_ty=R.Tensor((4,), dtype="float32"))
# CHECK-NEXT: return gv
