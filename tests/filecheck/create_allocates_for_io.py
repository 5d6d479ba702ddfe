# Inputs and outputs become allocations, which the planner places as all others.
# RUN: usmp-opt %s --passes=CreateAllocatesForIO | filecheck %s

from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func
    def increment(p: T.handle("int8"), q: T.handle("int8")):
        T.func_attr({"target": T.target("c")})
        a = T.decl_buffer((4,), "int8", data=p)
        b = T.decl_buffer((4,), "int8", data=q)
        for i in range(4):
            b[i] = a[i] + T.int8(1)

    @T.prim_func
    def __tvm_main__(x: T.handle("int8"), y: T.handle("int8")):
        T.func_attr({"target": T.target("c")})
        a = T.decl_buffer((4,), "int8", data=x)
        b = T.decl_buffer((4,), "int8", data=y)
        Module.increment(a.data, b.data)


# CHECK: @T.prim_func
# CHECK-NEXT: def __tvm_main__():
# CHECK-NEXT:     T.func_attr({"input_tensors": [metadata["usmp.TensorInfo"][0]], "output_tensors": [metadata["usmp.TensorInfo"][1]], "target": T.target({{.*}}"kind": "c"{{.*}})})
# CHECK-NEXT:     x = T.alloc_buffer((4,), "int8", annotations={"input_tensor": "x"})
# CHECK-NEXT:     y = T.alloc_buffer((4,), "int8", annotations={"output_tensor": "y"})
# CHECK-NEXT:     a = T.decl_buffer((4,), "int8", data=x.data)
# CHECK-NEXT:     b = T.decl_buffer((4,), "int8", data=y.data)
# CHECK-NEXT:     Module.increment(a.data, b.data)
#
# CHECK: @T.prim_func
# CHECK-NEXT: def increment(p: T.handle("int8", "global"), q: T.handle("int8", "global")):
# CHECK-NEXT:     T.func_attr({"target": T.target({{.*}}"kind": "c"{{.*}})})
# CHECK-NEXT:     a = T.decl_buffer((4,), "int8", data=p)
# CHECK-NEXT:     b = T.decl_buffer((4,), "int8", data=q)
# CHECK-NEXT:     for i in range(4):
# CHECK-NEXT:         b[i] = a[i] + T.int8(1)
