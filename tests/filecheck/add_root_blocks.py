# Loops of one's own are in a block, as those that TVM makes of an operator.
# RUN: usmp-opt %s --passes=AddRootBlocks | filecheck %s

from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func(private=True)
    def double(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i in range(4):
            y[i] = x[i] * T.float32(2)

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        y = R.call_tir(Module.double, (x,), out_ty=R.Tensor((4,), "float32"))
        return y


# CHECK: def double(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
# CHECK-NEXT:     T.func_attr({"op_pattern": 8})
# CHECK-NEXT:     with T.sblock("root"):
# CHECK-NEXT:         T.reads()
# CHECK-NEXT:         T.writes()
# CHECK-NEXT:         for i in range(4):
# CHECK-NEXT:             y[i] = x[i] * T.float32(2.0)
