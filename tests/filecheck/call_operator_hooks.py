# Before and after each call of an operator, the application is called with its number.
# RUN: usmp-opt %s --passes=UnifiedStaticMemoryPlanner,CallOperatorHooks{symbol_prefix=tvmgen_net} | filecheck %s

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


# CHECK: I.module_attrs({"io_tensor_pool_allocations": {}, "memory_plan": metadata["usmp.MemoryPlan"][0], "operator_hooks": ["tvmgen_net_operator_begin", "tvmgen_net_operator_end"], "pool_args": [metadata["usmp.AllocatedPoolInfo"][0]]})
#
# CHECK: @T.prim_func
# CHECK-NEXT: def __tvm_main__(x: T.handle("int8", "global"), y: T.handle("int8", "global"), global_workspace_0_var: T.handle("uint8", "global")):
# CHECK: d = T.decl_buffer((4,), "int8", data=T.address_of(global_workspace_0_buffer_var[0]))
# CHECK-NEXT:     T.call_extern("void", "tvmgen_net_operator_begin", 0)
# CHECK-NEXT:     Module.increment(x, c.data)
# CHECK-NEXT:     T.call_extern("void", "tvmgen_net_operator_end", 0)
# CHECK-NEXT:     T.call_extern("void", "tvmgen_net_operator_begin", 1)
# CHECK-NEXT:     Module.increment(c.data, d.data)
# CHECK-NEXT:     T.call_extern("void", "tvmgen_net_operator_end", 1)
# CHECK-NEXT:     T.call_extern("void", "tvmgen_net_operator_begin", 2)
# CHECK-NEXT:     Module.increment(d.data, y)
# CHECK-NEXT:     T.call_extern("void", "tvmgen_net_operator_end", 2)
