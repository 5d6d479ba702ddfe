# C has no packed functions.
# RUN: not usmp-opt %s --passes=CheckCalls 2>&1 | filecheck %s

from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y = R.call_packed("my.twice", x, ty_args=R.Tensor((4,), "float32"))
        return y


# CHECK: usmp-opt: error: the model calls the packed function "my.twice" by call_packed (result y), which needs TVM's runtime;
# CHECK-NEXT:   write it as a PrimFunc, and call that with R.call_tir
