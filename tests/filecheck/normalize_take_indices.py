# An index that counts from the end counts from the start.
# RUN: usmp-opt %s --passes=NormalizeTakeIndices | filecheck %s

from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 5), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            y = R.take(x, R.const(-1, "int64"), axis=1, mode="fast")
            R.output(y)
        return y


# CHECK: @R.function
# CHECK-NEXT: def main(x: R.Tensor((2, 5), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
# CHECK-NEXT:     with R.dataflow():
# CHECK-NEXT:         y: R.Tensor((2,), dtype="float32") = R.take(x, R.const(4, "int64"), axis=1, mode="fast")
# CHECK-NEXT:         R.output(y)
# CHECK-NEXT:     return y
