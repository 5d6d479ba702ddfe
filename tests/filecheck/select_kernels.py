# A product with a constant matrix becomes rows of the weight.
# RUN: usmp-opt %s --passes=ConvertQDQToIntegers,FuseOperators,SelectKernels | filecheck %s

from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 4), "int8")) -> R.Tensor((1, 2), "int8"):
        with R.dataflow():
            a = R.dequantize(x, R.const(0.5, "float32"), R.const(3, "int8"))
            w = R.const([[1, 2], [3, 4], [5, 6], [7, 8]], "int8")
            b = R.dequantize(w, R.const(0.25, "float32"), R.const(0, "int8"))
            c = R.matmul(a, b)
            y = R.quantize(c, R.const(1.0, "float32"), R.const(-1, "int8"), out_dtype="int8")
            R.output(y)
        return y


# CHECK: @T.prim_func(private=True, s_tir=True)
# CHECK-NEXT: def fully_connected(lv: T.Buffer((T.int64(1), T.int64(4)), "int8"), weight: T.Buffer((8,), "int8"), output: T.Buffer((T.int64(1), T.int64(2)), "int8")):
# CHECK-NEXT:     T.func_attr({"code_hash": 8267600374385874859, "op_pattern": 4, "operator_shapes": {"B": [2, 4], "C": [2], "D": [2], "E": [2], "lv": [1, 4], "output": [1, 2]}, "operator_steps": {{\[\{"kind": "fully_connected", "macs": 8\}\]}}, "quantized_operator": {"inputs": [{"axis": 0, "dtype": "int8", "scales": [0.5], "zero_points": [3]}, {"axis": 0, "dtype": "int8", "scales": [0.25], "zero_points": [0]}], "kind": "fully_connected", "outputs": [{"axis": 0, "dtype": "int8", "scales": [1.0], "zero_points": [-1]}], "parameters": {"clamp": [-128, 127], "input_zero_point": 3, "output_zero_point": -1, "rounding": "as_float", "weight_zero_point": 0}}, "schedule": {"instructions": {{[0-9]+}}, "tile": "2 channels"}, "tirx.noalias": True})
# CHECK-NEXT:     acc = T.alloc_local((2,), "int32")
# CHECK-NEXT:     acc[0] = 0
# CHECK-NEXT:     acc[1] = 0
# CHECK-NEXT:     with T.attr("tvmgen_dot_1x2", "usmp.tensor_intrin", T.call_pure_extern("int32", "tvmgen_dot_1x2", lv[0, 0], 0, weight[0], 4, 4, -3, acc[0])):
# CHECK-NEXT:         for k in range(4):
# CHECK-NEXT:             acc[0] = acc[0] + (T.Cast("int32", lv[0, k]) + -3) * T.Cast("int32", weight[k])
# CHECK-NEXT:             acc[1] = acc[1] + (T.Cast("int32", lv[0, k]) + -3) * T.Cast("int32", weight[4 + k])
# CHECK-NEXT:     output[0, 0] = T.Cast("int8", T.min(T.max(T.call_pure_extern("int32", "tvmgen_multiply_as_float", acc[0], 1073741824, -2) - 1, -128), 127))
# CHECK-NEXT:     output[0, 1] = T.Cast("int8", T.min(T.max(T.call_pure_extern("int32", "tvmgen_multiply_as_float", acc[1], 1073741824, -2) - 1, -128), 127))
#
# CHECK: @R.function
# CHECK-NEXT: def main(x: R.Tensor((1, 4), dtype="int8")) -> R.Tensor((1, 2), dtype="int8"):
# CHECK-NEXT:     cls = Module
# CHECK-NEXT:     with R.dataflow():
# CHECK-NEXT:         y = R.call_tir(cls.fully_connected, (x, metadata["ir.GenericConst"][0]), out_ty=R.Tensor((1, 2), dtype="int8"))
# CHECK-NEXT:         R.output(y)
# CHECK-NEXT:     return y
