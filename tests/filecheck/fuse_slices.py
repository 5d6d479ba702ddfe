# A slice of what is computed element by element, for it alone, becomes an operator to be fused
# with that.
# RUN: usmp-opt %s --passes=LegalizeOperators,relax.transform.AnnotateTIROpPattern,FuseSlices | filecheck %s

from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 2), "float32")) -> R.Tensor((2, 2), "float32"):
        with R.dataflow():
            a = R.exp(x)
            y = R.strided_slice(a, [0], [0], [2], [1])
            R.output(y)
        return y


# CHECK: @T.prim_func(private=True, s_tir=True)
# CHECK-NEXT: def strided_slice(a: T.Buffer((T.int64(4), T.int64(2)), "float32"), T_strided_slice_with_axes: T.Buffer((T.int64(2), T.int64(2)), "float32")):
# CHECK-NEXT:     T.func_attr({"tirx.noalias": True})
# CHECK-NEXT:     # with T.sblock("root"):
# CHECK-NEXT:     for ax0, ax1 in T.grid(T.int64(2), T.int64(2)):
# CHECK-NEXT:         with T.sblock("T_strided_slice_with_axes"):
# CHECK-NEXT:             v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
# CHECK-NEXT:             T.reads(a[v_ax0, v_ax1])
# CHECK-NEXT:             T.writes(T_strided_slice_with_axes[v_ax0, v_ax1])
# CHECK-NEXT:             T_strided_slice_with_axes[v_ax0, v_ax1] = a[v_ax0, v_ax1]
#
# CHECK: @T.prim_func(private=True, s_tir=True)
# CHECK-NEXT: def tir_exp(x: T.Buffer((T.int64(4), T.int64(2)), "float32"), compute: T.Buffer((T.int64(4), T.int64(2)), "float32")):
# CHECK-NEXT:     T.func_attr({"op_pattern": 0, "tirx.noalias": True})
# CHECK-NEXT:     # with T.sblock("root"):
# CHECK-NEXT:     for i0, i1 in T.grid(T.int64(4), T.int64(2)):
# CHECK-NEXT:         with T.sblock("compute"):
# CHECK-NEXT:             v_i0, v_i1 = T.axis.remap("SS", [i0, i1])
# CHECK-NEXT:             T.reads(x[v_i0, v_i1])
# CHECK-NEXT:             T.writes(compute[v_i0, v_i1])
# CHECK-NEXT:             compute[v_i0, v_i1] = T.exp(x[v_i0, v_i1])
#
# CHECK: @R.function
# CHECK-NEXT: def main(x: R.Tensor((4, 2), dtype="float32")) -> R.Tensor((2, 2), dtype="float32"):
# CHECK-NEXT:     cls = Module
# CHECK-NEXT:     with R.dataflow():
# CHECK-NEXT:         a = R.call_tir(cls.tir_exp, (x,), out_ty=R.Tensor((4, 2), dtype="float32"))
# CHECK-NEXT:         y = R.call_tir(cls.strided_slice, (a,), out_ty=R.Tensor((2, 2), dtype="float32"))
# CHECK-NEXT:         R.output(y)
# CHECK-NEXT:     return y
