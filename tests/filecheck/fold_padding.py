# Zeros around an image are padding of the convolution that reads it, beside what it has already.
# RUN: usmp-opt %s --passes=FoldPadding | filecheck %s

from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 2, 5), "float32"), w: R.Tensor((3, 2, 4), "float32")) -> R.Tensor(
        (1, 3, 6), "float32"
    ):
        with R.dataflow():
            padded = R.nn.pad(x, [0, 0, 0, 0, 2, 1])
            y = R.nn.conv1d(padded, w, padding=[0, 1])
            R.output(y)
        return y


# CHECK: with R.dataflow():
# CHECK-NEXT: y: R.Tensor((1, 3, 6), dtype="float32") = R.nn.conv1d(x, w, strides=[1], padding=[2, 2],
# CHECK-NOT: R.nn.pad
