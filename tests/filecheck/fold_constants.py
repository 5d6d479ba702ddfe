# What depends on constants alone is computed at compile time.
# RUN: usmp-opt %s --passes=LegalizeOperators,FoldConstants | filecheck %s

from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((), "float32")) -> R.Tensor((), "float32"):
        with R.dataflow():
            two = R.add(R.const(1.5, "float32"), R.const(0.5, "float32"))
            y = R.multiply(x, two)
            R.output(y)
        return y


# CHECK: @T.prim_func(private=True, s_tir=True)
# CHECK-NEXT: def add(A: T.Buffer((), "float32"), T_add: T.Buffer((), "float32")):
# CHECK-NEXT:     T.func_attr({"tirx.noalias": True})
# CHECK-NEXT:     # with T.sblock("root"):
# CHECK-NEXT:     with T.sblock("T_add"):
# CHECK-NEXT:         vi = T.axis.spatial(T.int64(1), T.int64(0))
# CHECK-NEXT:         T.reads(A[()])
# CHECK-NEXT:         T.writes(T_add[()])
# CHECK-NEXT:         T_add[()] = A[()] + T.float32(0.5)
#
# CHECK: @T.prim_func(private=True, s_tir=True)
# CHECK-NEXT: def multiply(x: T.Buffer((), "float32"), two: T.Buffer((), "float32"), T_multiply: T.Buffer((), "float32")):
# CHECK-NEXT:     T.func_attr({"tirx.noalias": True})
# CHECK-NEXT:     # with T.sblock("root"):
# CHECK-NEXT:     with T.sblock("T_multiply"):
# CHECK-NEXT:         vi = T.axis.spatial(T.int64(1), T.int64(0))
# CHECK-NEXT:         T.reads(x[()], two[()])
# CHECK-NEXT:         T.writes(T_multiply[()])
# CHECK-NEXT:         T_multiply[()] = x[()] * two[()]
#
# CHECK: @R.function
# CHECK-NEXT: def main(x: R.Tensor((), dtype="float32")) -> R.Tensor((), dtype="float32"):
# CHECK-NEXT:     cls = Module
# CHECK-NEXT:     with R.dataflow():
# CHECK-NEXT:         y = R.call_tir(cls.multiply, (x, metadata["ir.GenericConst"][0]), out_ty=R.Tensor((), dtype="float32"))
# CHECK-NEXT:         R.output(y)
# CHECK-NEXT:     return y
