# Tensors between operators become allocations, and operators calls in their order.
# RUN: usmp-opt %s --passes=LowerMain{target=c} | filecheck %s

from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func
    def increment(p: T.handle("int8"), q: T.handle("int8")):
        a = T.decl_buffer((4,), "int8", data=p)
        b = T.decl_buffer((4,), "int8", data=q)
        for i in range(4):
            b[i] = a[i] + T.int8(1)

    @R.function
    def main(x: R.Tensor((4,), "int8")) -> R.Tensor((4,), "int8"):
        with R.dataflow():
            a = R.call_tir(Module.increment, (x,), out_ty=R.Tensor((4,), "int8"))
            y = R.call_tir(Module.increment, (a,), out_ty=R.Tensor((4,), "int8"))
            R.output(y)
        return y


# CHECK: @T.prim_func(private=True)
# CHECK-NEXT: def __tvm_main__(x_ptr: T.handle("int8", "global"), output_ptr: T.handle("int8", "global")):
# CHECK-NEXT:     T.func_attr({"input_tensors": [metadata["usmp.TensorInfo"][0]], "output_tensors": [metadata["usmp.TensorInfo"][1]], "target": T.target({{.*}}"kind": "c"{{.*}})})
# CHECK-NEXT:     x = T.decl_buffer((4,), "int8", data=x_ptr)
# CHECK-NEXT:     output = T.decl_buffer((4,), "int8", data=output_ptr)
# CHECK-NEXT:     increment = T.alloc_buffer((4,), "int8")
# CHECK-NEXT:     Module.increment(x.data, increment.data)
# CHECK-NEXT:     Module.increment(increment.data, output.data)
#
# CHECK: @T.prim_func
# CHECK-NEXT: def increment(p: T.handle("int8", "global"), q: T.handle("int8", "global")):
# CHECK-NEXT:     T.func_attr({"target": T.target({{.*}}"kind": "c"{{.*}})})
# CHECK-NEXT:     a = T.decl_buffer((4,), "int8", data=p)
# CHECK-NEXT:     b = T.decl_buffer((4,), "int8", data=q)
# CHECK-NEXT:     for i in range(4):
# CHECK-NEXT:         b[i] = a[i] + T.int8(1)
