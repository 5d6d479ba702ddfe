# Each allocation may lie in any pool that its functions may access, the most wanted first.
# RUN: usmp-opt %s --passes=AssignPoolInfo --usmp-workspace-pools=fast,slow | filecheck %s

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
        c = T.alloc_buffer((4,), "int8")
        Module.increment(x, c.data)
        Module.increment(c.data, y)


# CHECK: I.module_attrs({"workspace_memory_pools": metadata["usmp.WorkspaceMemoryPools"][0]})
#
# CHECK: @T.prim_func
# CHECK-NEXT: def __tvm_main__(x: T.handle("int8", "global"), y: T.handle("int8", "global")):
# CHECK-NEXT:     T.func_attr({"target": T.target({{.*}}"kind": "c"{{.*}})})
# CHECK-NEXT:     c = T.alloc_buffer((4,), "int8", annotations={"candidate_memory_pools": [metadata["usmp.WorkspacePoolInfo"][0], metadata["usmp.WorkspacePoolInfo"][1]]})
# CHECK-NEXT:     Module.increment(x, c.data)
# CHECK-NEXT:     Module.increment(c.data, y)
#
# CHECK: @T.prim_func
# CHECK-NEXT: def increment(p: T.handle("int8", "global"), q: T.handle("int8", "global")):
# CHECK-NEXT:     T.func_attr({"target": T.target({{.*}}"kind": "c"{{.*}})})
# CHECK-NEXT:     a = T.decl_buffer((4,), "int8", data=p)
# CHECK-NEXT:     b = T.decl_buffer((4,), "int8", data=q)
# CHECK-NEXT:     for i in range(4):
# CHECK-NEXT:         b[i] = a[i] + T.int8(1)
