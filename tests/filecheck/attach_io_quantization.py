# What quantizes inputs and outputs is kept as attributes of main.
# RUN: usmp-opt %s --passes=AttachIOQuantization | filecheck %s

from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "int8")) -> R.Tensor((4,), "int8"):
        with R.dataflow():
            real = R.dequantize(x, R.const(0.5, "float32"), R.const(3, "int8"))
            y = R.quantize(real, R.const(0.25, "float32"), R.const(-1, "int8"), out_dtype="int8")
            R.output(y)
        return y


# CHECK: @R.function
# CHECK-NEXT: def main(x: R.Tensor((4,), dtype="int8")) -> R.Tensor((4,), dtype="int8"):
# CHECK-NEXT:     R.func_attr({"input_quantization": {"x": [0.5, 3]}, "output_quantization": {{\[\[}}0.25, -1]]})
# CHECK-NEXT:     with R.dataflow():
# CHECK-NEXT:         real: R.Tensor((4,), dtype="float32") = R.dequantize(x, R.const(0.5, "float32"), R.const(3, "int8"), out_dtype="float32", axis=-1)
# CHECK-NEXT:         y: R.Tensor((4,), dtype="int8") = R.quantize(real, R.const(0.25, "float32"), R.const(-1, "int8"), out_dtype="int8", axis=-1)
# CHECK-NEXT:         R.output(y)
# CHECK-NEXT:     return y
