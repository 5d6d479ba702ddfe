# What main calls is a part of it, at any depth, and the functions are gone.
# RUN: usmp-opt %s --passes=InlineFunctions | filecheck %s

from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        y = Module.outer(x)
        return R.add(y, x)

    @R.function(private=True)
    def outer(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y = Module.inner(x)
        return R.sqrt(y)

    @R.function(private=True)
    def inner(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return R.exp(x)


# CHECK: class Module:
# CHECK-NEXT: @R.function
# CHECK-NEXT: def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
# CHECK-NEXT:     gv: R.Tensor((4,), dtype="float32") = R.exp(x)
# CHECK-NEXT:     gv1: R.Tensor((4,), dtype="float32") = R.sqrt(gv)
# CHECK-NEXT:     gv1_1: R.Tensor((4,), dtype="float32") = R.add(gv1, x)
# CHECK-NEXT:     return gv1_1
# CHECK-NOT: def
