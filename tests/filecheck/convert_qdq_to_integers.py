# A maximum between dequantize and quantize at one scale is one of the integers.
# RUN: usmp-opt %s --passes=ConvertQDQToIntegers | filecheck %s

from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "int8"), y: R.Tensor((4,), "int8")) -> R.Tensor((4,), "int8"):
        with R.dataflow():
            a = R.dequantize(x, R.const(0.5, "float32"), R.const(3, "int8"))
            b = R.dequantize(y, R.const(0.5, "float32"), R.const(3, "int8"))
            c = R.maximum(a, b)
            d = R.quantize(c, R.const(0.5, "float32"), R.const(3, "int8"), out_dtype="int8")
            R.output(d)
        return d


# CHECK: @T.prim_func(private=True, s_tir=True)
# CHECK-NEXT: def maximum(lv: T.Buffer((T.int64(4),), "int8"), lv1: T.Buffer((T.int64(4),), "int8"), output: T.Buffer((T.int64(4),), "int8")):
# CHECK-NEXT:     T.func_attr({"code_hash": 263501758522572029, "quantized_operator": {"inputs": [{"axis": 0, "dtype": "int8", "scales": [0.5], "zero_points": [3]}, {"axis": 0, "dtype": "int8", "scales": [0.5], "zero_points": [3]}], "kind": "maximum", "outputs": [{"axis": 0, "dtype": "int8", "scales": [0.5], "zero_points": [3]}], "parameters": {}}, "tirx.noalias": True})
# CHECK-NEXT:     # with T.sblock("root"):
# CHECK-NEXT:     for i0 in range(T.int64(4)):
# CHECK-NEXT:         with T.sblock("output"):
# CHECK-NEXT:             v_i0 = T.axis.spatial(T.int64(4), i0)
# CHECK-NEXT:             T.reads(lv[v_i0], lv1[v_i0])
# CHECK-NEXT:             T.writes(output[v_i0])
# CHECK-NEXT:             output[v_i0] = T.max(lv[v_i0], lv1[v_i0])
#
# CHECK: @R.function
# CHECK-NEXT: def main(x: R.Tensor((4,), dtype="int8"), y: R.Tensor((4,), dtype="int8")) -> R.Tensor((4,), dtype="int8"):
# CHECK-NEXT:     cls = Module
# CHECK-NEXT:     with R.dataflow():
# CHECK-NEXT:         d = R.call_tir(cls.maximum, (x, y), out_ty=R.Tensor((4,), dtype="int8"))
# CHECK-NEXT:         R.output(d)
# CHECK-NEXT:     return d
