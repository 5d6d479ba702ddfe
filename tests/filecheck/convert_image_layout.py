# An image is put into the order of its pixels, each with its channels, and back behind the convolution.
# RUN: usmp-opt %s --passes=ConvertImageLayout | filecheck %s

from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 2, 5), "float32"), w: R.Tensor((3, 2, 4), "float32")) -> R.Tensor(
        (1, 3, 2), "float32"
    ):
        with R.dataflow():
            y = R.nn.conv1d(x, w)
            z = R.nn.relu(y)
            R.output(z)
        return z


# CHECK: with R.dataflow():
# CHECK-NEXT: lv: R.Tensor((1, 5, 2), dtype="float32") = R.permute_dims(x, axes=[0, 2, 1])
# CHECK-NEXT: lv1: R.Tensor((1, 2, 3), dtype="float32") = R.nn.conv1d(lv, w,
# CHECK-SAME: data_layout="NWC", kernel_layout="OIW", out_layout="NWC"
# CHECK-NEXT: lv2: R.Tensor((1, 2, 3), dtype="float32") = R.nn.relu(lv1)
# CHECK-NEXT: z: R.Tensor((1, 3, 2), dtype="float32") = R.permute_dims(lv2, axes=[0, 2, 1])
