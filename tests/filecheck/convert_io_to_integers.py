# What quantizes the input and dequantizes the output is left to the caller.
# RUN: usmp-opt %s --passes=ConvertIOToIntegers{io_type=int8} | filecheck %s

from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        with R.dataflow():
            a = R.quantize(x, R.const(0.5, "float32"), R.const(3, "int8"), out_dtype="int8")
            b = R.dequantize(a, R.const(0.5, "float32"), R.const(3, "int8"))
            c = R.nn.relu(b)
            d = R.quantize(c, R.const(0.25, "float32"), R.const(-1, "int8"), out_dtype="int8")
            y = R.dequantize(d, R.const(0.25, "float32"), R.const(-1, "int8"))
            R.output(y)
        return y


# CHECK: @R.function
# CHECK-NEXT: def main(x: R.Tensor((4,), dtype="int8")) -> R.Tensor((4,), dtype="int8"):
# CHECK-NEXT:     R.func_attr({"input_quantization": {"x": [0.5, 3]}, "output_quantization": {{\[\[}}0.25, -1]]})
# CHECK-NEXT:     with R.dataflow():
# CHECK-NEXT:         b: R.Tensor((4,), dtype="float32") = R.dequantize(x, R.const(0.5, "float32"), R.const(3, "int8"), out_dtype="float32", axis=-1)
# CHECK-NEXT:         c: R.Tensor((4,), dtype="float32") = R.nn.relu(b)
# CHECK-NEXT:         gv: R.Tensor((4,), dtype="int8") = R.quantize(c, R.const(0.25, "float32"), R.const(-1, "int8"), out_dtype="int8", axis=-1)
# CHECK-NEXT:         R.output(gv)
# CHECK-NEXT:     return gv
