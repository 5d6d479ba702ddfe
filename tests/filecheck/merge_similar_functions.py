# Two operators that differ in their extents only become calls of one function.
# RUN: usmp-opt %s --passes=MergeSimilarFunctions | filecheck %s

from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func(private=True)
    def large(p: T.handle("int8"), q: T.handle("int8")):
        a = T.decl_buffer((64,), "int8", data=p)
        b = T.decl_buffer((64,), "int8", data=q)
        for i in range(60):
            b[i] = a[i] + a[i + 1] + a[i + 2] + a[i + 3] + a[i + 4]
        for i in range(60):
            b[i] = b[i] - a[i + 1] - a[i + 2] - a[i + 3] - a[i + 4]

    @T.prim_func(private=True)
    def small(p: T.handle("int8"), q: T.handle("int8")):
        a = T.decl_buffer((32,), "int8", data=p)
        b = T.decl_buffer((32,), "int8", data=q)
        for i in range(28):
            b[i] = a[i] + a[i + 1] + a[i + 2] + a[i + 3] + a[i + 4]
        for i in range(28):
            b[i] = b[i] - a[i + 1] - a[i + 2] - a[i + 3] - a[i + 4]

    @T.prim_func
    def __tvm_main__(x: T.handle("int8"), y: T.handle("int8")):
        Module.large(x, y)
        Module.small(y, x)


# CHECK: I.module_attrs({"code": "small"})
# CHECK: def __tvm_main__(
# CHECK-NEXT:     Module.large(x, y)
# CHECK-NEXT:     Module.small(y, x)
# CHECK: def large(p: T.handle("int8", "global"), q: T.handle("int8", "global")):
# CHECK-NEXT:     T.func_attr({"shared_function": "large_shared"})
# CHECK-NEXT:     Module.large_shared(p, q, 60)
# CHECK: def large_shared(p: T.handle("int8", "global"), q: T.handle("int8", "global"), constant: T.int32):
# CHECK-NEXT:     T.func_attr({"merged_functions": ["large", "small"]})
# CHECK: for i in range(constant):
# CHECK-NEXT:         b[i] = a[i] + a[i + 1] + a[i + 2] + a[i + 3] + a[i + 4]
# CHECK: def small(p: T.handle("int8", "global"), q: T.handle("int8", "global")):
# CHECK-NEXT:     T.func_attr({"shared_function": "large_shared"})
# CHECK-NEXT:     Module.large_shared(p, q, 28)
