# A cast states what is known of its tensor: n is 4.
# RUN: usmp-opt %s --passes=ResolveMatchCasts | filecheck %s

from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 2), "float32")):
        n = T.int64()
        y = R.match_cast(x, R.Tensor((n, 2), "float32"))
        z = R.reshape(y, (n * 2,))
        return z


# CHECK: def main(x: R.Tensor((4, 2), dtype="float32")) -> R.Tensor((8,), dtype="float32"):
# CHECK-NEXT:     z: R.Tensor((8,), dtype="float32") = R.reshape(x, R.shape([8]))
# CHECK-NEXT:     return z
