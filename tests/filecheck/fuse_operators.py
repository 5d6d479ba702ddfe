# Operators that compute element by element become one PrimFunc.
# RUN: usmp-opt %s --passes=FuseOperators | filecheck %s

from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        with R.dataflow():
            a = R.exp(x)
            y = R.negative(a)
            R.output(y)
        return y


# CHECK: @T.prim_func(private=True, s_tir=True)
# CHECK-NEXT: def fused_tir_exp_tir_negative(x: T.Buffer((T.int64(4),), "float32"), compute_intermediate_1: T.Buffer((T.int64(4),), "float32")):
# CHECK-NEXT:     T.func_attr({"operator_shapes": {"compute_intermediate_1": [4], "x": [4]}, "operator_steps": [{"kind": "tir_exp", "macs": 0}, {"kind": "tir_negative", "macs": 0}], "tirx.noalias": True})
# CHECK-NEXT:     # with T.sblock("root"):
# CHECK-NEXT:     compute_intermediate = T.sblock_alloc_buffer((T.int64(4),))
# CHECK-NEXT:     for i0 in range(T.int64(4)):
# CHECK-NEXT:         with T.sblock("compute"):
# CHECK-NEXT:             v_i0 = T.axis.spatial(T.int64(4), i0)
# CHECK-NEXT:             T.reads(x[v_i0])
# CHECK-NEXT:             T.writes(compute_intermediate[v_i0])
# CHECK-NEXT:             compute_intermediate[v_i0] = T.exp(x[v_i0])
# CHECK-NEXT:     for i0 in range(T.int64(4)):
# CHECK-NEXT:         with T.sblock("compute1"):
# CHECK-NEXT:             v_i0 = T.axis.spatial(T.int64(4), i0)
# CHECK-NEXT:             T.reads(compute_intermediate[v_i0])
# CHECK-NEXT:             T.writes(compute_intermediate_1[v_i0])
# CHECK-NEXT:             compute_intermediate_1[v_i0] = compute_intermediate[v_i0] * T.float32(-1.0)
#
# CHECK: @R.function
# CHECK-NEXT: def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
# CHECK-NEXT:     cls = Module
# CHECK-NEXT:     with R.dataflow():
# CHECK-NEXT:         gv = R.call_tir(cls.fused_tir_exp_tir_negative, (x,), out_ty=R.Tensor((4,), dtype="float32"))
# CHECK-NEXT:         R.output(gv)
# CHECK-NEXT:     return gv
