# Two pixels at once take fewer instructions; that the output may then lie over less of the input
# is no matter here, where the caller provides both.
# RUN: usmp-opt %s --passes=ConvertQDQToIntegers,FuseOperators,SelectKernels,LowerOperators,LowerMain,ChooseSchedules | filecheck %s

from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 1, 4, 2), "int8")) -> R.Tensor((1, 1, 4, 2), "int8"):
        with R.dataflow():
            a = R.dequantize(x, R.const(0.5, "float32"), R.const(0, "int8"))
            w = R.const([[[[1, 2]]], [[[3, 4]]]], "int8")
            b = R.dequantize(w, R.const(0.25, "float32"), R.const(0, "int8"))
            c = R.nn.conv2d(a, b, data_layout="NHWC", kernel_layout="OHWI")
            y = R.quantize(c, R.const(1.0, "float32"), R.const(0, "int8"), out_dtype="int8")
            R.output(y)
        return y


# CHECK: def conv2d(lv: T.handle("int8", "global"), weight: T.handle("int8", "global"), output: T.handle("int8", "global")):
# CHECK-NOT: faster_schedules
# CHECK: "schedule": {"instructions": {{[0-9]+}}, "tile": "2 pixels x 2 channels"}
# CHECK: for tile in range(2):
# CHECK: tvmgen_dot_2x2
