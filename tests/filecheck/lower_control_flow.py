# A loop runs its body three times: the sum is carried, and each iteration reads one row.
# RUN: usmp-opt %s --passes=LowerControlFlow | filecheck %s

from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


def body():
    @I.ir_module
    class Body:
        @T.prim_func(private=True)
        def add(a_ptr: T.handle("float32"), b_ptr: T.handle("float32"), c_ptr: T.handle("float32")):
            a = T.decl_buffer((2,), "float32", data=a_ptr)
            b = T.decl_buffer((2,), "float32", data=b_ptr)
            c = T.decl_buffer((2,), "float32", data=c_ptr)
            for i in range(2):
                c[i] = a[i] + b[i]

        @R.function
        def main(total: R.Tensor((2,), "float32"), row: R.Tensor((2,), "float32")):
            cls = Body
            with R.dataflow():
                after = R.call_tir(cls.add, (total, row), out_ty=R.Tensor((2,), "float32"))
                R.output(after)
            return (after,)

    return Body


LOOP = {"bodies": [body()], "trips": 3, "carried": 1, "scanned": 1, "counts": 0}


@I.ir_module
class Module:
    @T.prim_func(private=True)
    def loop(x0: T.handle("float32"), x1: T.handle("float32")):
        T.func_attr({"control_flow": LOOP})
        T.evaluate(0)

    @R.function
    def main(total: R.Tensor((2,), "float32"), rows: R.Tensor((3, 2), "float32")):
        cls = Module
        with R.dataflow():
            y = R.call_tir_inplace(
                cls.loop, (total, rows), inplace_indices=[0], out_ty=R.Tensor((2,), "float32")
            )
            R.output(y)
        return y


# CHECK: def add(
# CHECK: def loop(x0: T.handle("float32", "global"), x1: T.handle("float32", "global")):
# CHECK-NEXT: x1_rows = T.decl_buffer((6,), data=x1)
# CHECK-NEXT: for iteration in range(3):
# CHECK-NEXT: row = T.decl_buffer((2,), data=T.address_of(x1_rows[iteration * 2]))
# CHECK-NEXT: total = T.decl_buffer((2,), data=x0)
# CHECK-NEXT: add = T.alloc_buffer((2,))
# CHECK-NEXT: Module.add(total.data, row.data, add.data)
# CHECK-NEXT: Module.usmp_copy_0(add.data, total.data)
# CHECK: def main(
# CHECK-NOT: def __tvm_main__
