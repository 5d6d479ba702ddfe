# A part of a split is a slice of the whole.
# RUN: usmp-opt %s --passes=NormalizeCopies | filecheck %s

from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 2), "float32")) -> R.Tensor((2, 2), "float32"):
        with R.dataflow():
            parts = R.split(x, indices_or_sections=2, axis=0)
            y = parts[1]
            R.output(y)
        return y


# CHECK: @R.function
# CHECK-NEXT: def main(x: R.Tensor((4, 2), dtype="float32")) -> R.Tensor((2, 2), dtype="float32"):
# CHECK-NEXT:     with R.dataflow():
# CHECK-NEXT:         y: R.Tensor((2, 2), dtype="float32") = R.strided_slice(x, (0,), (2,), (4,), (1,), assume_inbound=False)
# CHECK-NEXT:         R.output(y)
# CHECK-NEXT:     return y
