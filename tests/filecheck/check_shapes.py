# A shape that is not known at compile time is refused.
# RUN: not usmp-opt %s --passes=CheckShapes 2>&1 | filecheck %s

from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(dtype="float32", ndim=2)) -> R.Tensor(dtype="float32", ndim=2):
        return x


# CHECK: usmp-opt: error: input x has a dynamic shape, R.Tensor(dtype="float32", ndim=2);
# CHECK-NEXT:   memory is planned at compile time: give the model fixed input shapes and try again
