# An operator has the shape variable of the function that calls it.
# RUN: usmp-opt %s --passes=BindSymbolicSizes | filecheck %s

from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def negative(a: T.handle, b: T.handle):
        k = T.int64()
        A = T.match_buffer(a, (k, T.int64(4)), "float32")
        B = T.match_buffer(b, (k, T.int64(4)), "float32")
        for i, j in T.grid(k, T.int64(4)):
            with T.sblock("negative"):
                v_i, v_j = T.axis.remap("SS", [i, j])
                B[v_i, v_j] = T.float32(0) - A[v_i, v_j]

    @R.function
    def main(x: R.Tensor(("rows", 4), "float32")) -> R.Tensor(("rows", 4), "float32"):
        rows = T.int64()
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.negative, (x,), out_ty=R.Tensor((rows, 4), "float32"))
            R.output(y)
        return y


# CHECK: def negative(A: T.Buffer((rows, T.int64(4)), "float32"), B: T.Buffer((rows, T.int64(4)), "float32")):
# CHECK-NEXT: # with T.sblock("root"):
# CHECK-NEXT: for i, j in T.grid(rows, T.int64(4)):
# CHECK: def main(x: R.Tensor((rows, 4), dtype="float32")) -> R.Tensor((rows, 4), dtype="float32"):
# CHECK: y = R.call_tir(cls.negative, (x,), out_ty=R.Tensor((rows, 4), dtype="float32"))
