# Before the first call and after each, bytes that no live buffer has are overwritten.
# RUN: usmp-opt %s --passes=UnifiedStaticMemoryPlanner,PoisonDeadBytes | filecheck %s

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
        d = T.alloc_buffer((4,), "int8")
        Module.increment(x, c.data)
        Module.increment(c.data, d.data)
        Module.increment(d.data, y)


# CHECK: I.module_attrs({"io_tensor_pool_allocations": {}, "memory_plan": metadata["usmp.MemoryPlan"][0], "pool_args": [metadata["usmp.AllocatedPoolInfo"][0]]})
#
# CHECK: @T.prim_func
# CHECK-NEXT: def __tvm_main__(x: T.handle("int8", "global"), y: T.handle("int8", "global"), global_workspace_0_var: T.handle("uint8", "global")):
# CHECK-NEXT:     T.func_attr({"pool_args": [metadata["usmp.AllocatedPoolInfo"][0]], "target": T.target({{.*}}"kind": "c"{{.*}})})
# CHECK-NEXT:     global_workspace_0_buffer_var = T.decl_buffer((4,), "uint8", data=global_workspace_0_var, align=16)
# CHECK-NEXT:     c = T.decl_buffer((4,), "int8", data=T.address_of(global_workspace_0_buffer_var[0]))
# CHECK-NEXT:     d = T.decl_buffer((4,), "int8", data=T.address_of(global_workspace_0_buffer_var[0]))
# CHECK-NEXT:     for poisoned in range(4):
# CHECK-NEXT:         global_workspace_0_buffer_var[poisoned] = T.uint8(165)
# CHECK-NEXT:     Module.increment(x, c.data)
# CHECK-NEXT:     Module.increment(c.data, d.data)
# CHECK-NEXT:     Module.increment(d.data, y)
# CHECK-NEXT:     for poisoned in range(4):
# CHECK-NEXT:         global_workspace_0_buffer_var[poisoned] = T.uint8(165)
#
# CHECK: @T.prim_func
# CHECK-NEXT: def increment(p: T.handle("int8", "global"), q: T.handle("int8", "global")):
# CHECK-NEXT:     T.func_attr({"pool_args": [], "target": T.target({{.*}}"kind": "c"{{.*}})})
# CHECK-NEXT:     a = T.decl_buffer((4,), "int8", data=p)
# CHECK-NEXT:     b = T.decl_buffer((4,), "int8", data=q)
# CHECK-NEXT:     for i in range(4):
# CHECK-NEXT:         b[i] = a[i] + T.int8(1)
