# What writes over its argument is marked opaque (8), so that nothing is fused with it.
# RUN: usmp-opt %s --passes=KeepInPlaceOperators | filecheck %s

from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def negate(x: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("negate"):
                vi = T.axis.spatial(4, i)
                x[vi] = T.float32(0) - x[vi]

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        with R.dataflow():
            y = R.call_tir_inplace(
                Module.negate, (x,), inplace_indices=[0], out_ty=R.Tensor((4,), "float32")
            )
            R.output(y)
        return y


# CHECK: @T.prim_func(private=True, s_tir=True)
# CHECK-NEXT: def negate(x: T.Buffer((4,), "float32")):
# CHECK-NEXT:     T.func_attr({"op_pattern": 8})
# CHECK-NEXT:     # with T.sblock("root"):
# CHECK-NEXT:     for i in range(4):
# CHECK-NEXT:         with T.sblock("negate"):
# CHECK-NEXT:             vi = T.axis.spatial(4, i)
# CHECK-NEXT:             T.reads(x[vi])
# CHECK-NEXT:             T.writes(x[vi])
# CHECK-NEXT:             x[vi] = T.float32(0.0) - x[vi]
#
# CHECK: @R.function
# CHECK-NEXT: def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
# CHECK-NEXT:     cls = Module
# CHECK-NEXT:     with R.dataflow():
# CHECK-NEXT:         y: R.Tensor((4,), dtype="float32") = R.call_tir_inplace(cls.negate, (x,), out_ty=R.Tensor((4,), dtype="float32"), inplace_indices=[0])
# CHECK-NEXT:         R.output(y)
# CHECK-NEXT:     return y
