# The module says what RAM it would need with inputs and outputs in the workspace: four bytes,
# which they share.
# RUN: usmp-opt %s --passes=CompareWorkspaceIO | filecheck %s

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


# CHECK: I.module_attrs({"ram_with_workspace_io": 4})
#
# CHECK: @T.prim_func
# CHECK-NEXT: def __tvm_main__(x: T.handle("int8", "global"), y: T.handle("int8", "global")):
# CHECK-NEXT:     T.func_attr({"target": T.target({{.*}}"kind": "c"{{.*}})})
# CHECK-NEXT:     a = T.decl_buffer((4,), "int8", data=x)
# CHECK-NEXT:     b = T.decl_buffer((4,), "int8", data=y)
# CHECK-NEXT:     Module.increment(a.data, b.data)
#
# CHECK: @T.prim_func
# CHECK-NEXT: def increment(p: T.handle("int8", "global"), q: T.handle("int8", "global")):
# CHECK-NEXT:     T.func_attr({"target": T.target({{.*}}"kind": "c"{{.*}})})
# CHECK-NEXT:     a = T.decl_buffer((4,), "int8", data=p)
# CHECK-NEXT:     b = T.decl_buffer((4,), "int8", data=q)
# CHECK-NEXT:     for i in range(4):
# CHECK-NEXT:         b[i] = a[i] + T.int8(1)
