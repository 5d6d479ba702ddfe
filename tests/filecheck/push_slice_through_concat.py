# Slices of a joined tensor are the tensors that were joined.
# RUN: usmp-opt %s --passes=PushSliceThroughConcat | filecheck %s

from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 4), "float32"), y: R.Tensor((2, 3), "float32")) -> R.Tensor(
        (2, 3), "float32"
    ):
        with R.dataflow():
            joined = R.concat((x, y), axis=1)
            part = R.strided_slice(joined, [1], [4], [7], [1])
            z = R.exp(part)
            R.output(z)
        return z


# CHECK: @R.function
# CHECK-NEXT: def main(x: R.Tensor((2, 4), dtype="float32"), y: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
# CHECK-NEXT:     with R.dataflow():
# CHECK-NEXT:         part: R.Tensor((2, 3), dtype="float32") = y
# CHECK-NEXT:         z: R.Tensor((2, 3), dtype="float32") = R.exp(part)
# CHECK-NEXT:         R.output(z)
# CHECK-NEXT:     return z
