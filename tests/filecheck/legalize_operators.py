# An operator becomes a PrimFunc; what only changes the shape a reshape, which copies nothing.
# RUN: usmp-opt %s --passes=LegalizeOperators | filecheck %s

from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 4), "float32")) -> R.Tensor((4,), "float32"):
        with R.dataflow():
            flat = R.squeeze(x, axis=[0])
            y = R.nn.relu(flat)
            R.output(y)
        return y


# CHECK: @T.prim_func(private=True, s_tir=True)
# CHECK-NEXT: def relu(flat: T.Buffer((T.int64(4),), "float32"), clamp: T.Buffer((T.int64(4),), "float32")):
# CHECK-NEXT:     T.func_attr({"tirx.noalias": True})
# CHECK-NEXT:     # with T.sblock("root"):
# CHECK-NEXT:     for i0 in range(T.int64(4)):
# CHECK-NEXT:         with T.sblock("clamp"):
# CHECK-NEXT:             v_i0 = T.axis.spatial(T.int64(4), i0)
# CHECK-NEXT:             T.reads(flat[v_i0])
# CHECK-NEXT:             T.writes(clamp[v_i0])
# CHECK-NEXT:             clamp[v_i0] = T.max(T.float32(0.0), flat[v_i0])
#
# CHECK: @R.function
# CHECK-NEXT: def main(x: R.Tensor((1, 4), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
# CHECK-NEXT:     cls = Module
# CHECK-NEXT:     with R.dataflow():
# CHECK-NEXT:         flat: R.Tensor((4,), dtype="float32") = R.reshape(x, R.shape([4]))
# CHECK-NEXT:         y = R.call_tir(cls.relu, (flat,), out_ty=R.Tensor((4,), dtype="float32"))
# CHECK-NEXT:         R.output(y)
# CHECK-NEXT:     return y
