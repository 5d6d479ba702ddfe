# A function takes the pools that it and its callees use, and calls pass them on.
# RUN: usmp-opt %s --passes=UnifiedStaticMemoryPlanner --print-after=ConvertPoolAllocationsToOffsets -o /dev/null 2>&1 | filecheck %s

from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func
    def increment(p: T.handle("int8"), q: T.handle("int8")):
        T.func_attr({"target": T.target("c")})
        a = T.decl_buffer((4,), "int8", data=p)
        b = T.decl_buffer((4,), "int8", data=q)
        scratch = T.alloc_buffer((4,), "int8")
        for i in range(4):
            scratch[i] = a[i]
        for i in range(4):
            b[i] = scratch[i] + T.int8(1)

    @T.prim_func
    def __tvm_main__(x: T.handle("int8"), y: T.handle("int8")):
        T.func_attr({"target": T.target("c")})
        c = T.alloc_buffer((4,), "int8")
        Module.increment(x, c.data)
        Module.increment(c.data, y)


# CHECK: # IR after usmp.ConvertPoolAllocationsToOffsets
# CHECK: I.module_attrs({"io_tensor_pool_allocations": {}, "pool_args": [metadata["usmp.AllocatedPoolInfo"][0]]})
#
# CHECK: @T.prim_func
# CHECK-NEXT: def __tvm_main__(x: T.handle("int8", "global"), y: T.handle("int8", "global"), global_workspace_0_var: T.handle("uint8", "global")):
# CHECK-NEXT:     T.func_attr({"pool_args": [metadata["usmp.AllocatedPoolInfo"][0]], "target": T.target({{.*}}"kind": "c"{{.*}})})
# CHECK-NEXT:     global_workspace_0_buffer_var = T.decl_buffer((20,), "uint8", data=global_workspace_0_var, align=16)
# CHECK-NEXT:     c = T.decl_buffer((4,), "int8", data=T.address_of(global_workspace_0_buffer_var[0]))
# CHECK-NEXT:     Module.increment(x, c.data, global_workspace_0_var)
# CHECK-NEXT:     Module.increment(c.data, y, global_workspace_0_var)
#
# CHECK: @T.prim_func
# CHECK-NEXT: def increment(p: T.handle("int8", "global"), q: T.handle("int8", "global"), global_workspace_0_var: T.handle("uint8", "global")):
# CHECK-NEXT:     T.func_attr({"pool_args": [metadata["usmp.AllocatedPoolInfo"][0]], "target": T.target({{.*}}"kind": "c"{{.*}})})
# CHECK-NEXT:     global_workspace_0_buffer_var = T.decl_buffer((20,), "uint8", data=global_workspace_0_var, align=16)
# CHECK-NEXT:     a = T.decl_buffer((4,), "int8", data=p)
# CHECK-NEXT:     b = T.decl_buffer((4,), "int8", data=q)
# CHECK-NEXT:     scratch = T.decl_buffer((4,), "int8", data=T.address_of(global_workspace_0_buffer_var[16]))
# CHECK-NEXT:     for i in range(4):
# CHECK-NEXT:         scratch[i] = a[i]
# CHECK-NEXT:     for i in range(4):
# CHECK-NEXT:         b[i] = scratch[i] + T.int8(1)
