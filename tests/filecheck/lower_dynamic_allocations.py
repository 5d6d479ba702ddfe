# A buffer without a bound is a block of an arena; an operator that has one returns a status.
# RUN: usmp-opt %s --passes=LowerDynamicAllocations | filecheck %s

from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func
    def copy(p: T.handle("int8"), q: T.handle("int8"), n: T.int32):
        a = T.decl_buffer((n,), "int8", data=p)
        b = T.decl_buffer((n,), "int8", data=q)
        scratch = T.alloc_buffer((n,), "int8")
        for i in range(n):
            scratch[i] = a[i]
        for i in range(n):
            b[i] = scratch[i]

    @T.prim_func
    def __tvm_main__(x: T.handle("int8"), y: T.handle("int8"), n: T.int32):
        Module.copy(x, y, n)


# CHECK: I.module_attrs({"dynamic_allocations": [metadata["usmp.DynamicAllocation"][0]], "dynamic_allocator": "arena"})
#
# CHECK: @T.prim_func
# CHECK-NEXT: def __tvm_main__(x: T.handle("int8", "global"), y: T.handle("int8", "global"), n: T.int32, arena: T.handle) -> T.int32:
# CHECK-NEXT:     T.func_attr({"takes_arena": True})
# CHECK-NEXT:     status: T.let[T.int32] = Module.copy(x, y, n, arena)
# CHECK-NEXT:     if status != 0:
# CHECK-NEXT:         return status
# CHECK-NEXT:     return 0
#
# CHECK: @T.prim_func
# CHECK-NEXT: def copy(p: T.handle("int8", "global"), q: T.handle("int8", "global"), n: T.int32, arena: T.handle) -> T.int32:
# CHECK-NEXT:     T.func_attr({"takes_arena": True})
# CHECK-NEXT:     a = T.decl_buffer((n,), "int8", data=p)
# CHECK-NEXT:     b = T.decl_buffer((n,), "int8", data=q)
# CHECK-NEXT:     scratch_bytes: T.let[T.int64] = T.Cast("int64", n)
# CHECK-NEXT:     scratch_block: T.let[T.handle] = T.call_extern(T.handle().ty, "usmp_arena_allocate", arena, scratch_bytes, 16)
# CHECK-NEXT:     if T.isnullptr(scratch_block):
# CHECK-NEXT:         return -3
# CHECK-NEXT:     scratch = T.decl_buffer((n,), "int8", data=scratch_block)
# CHECK-NEXT:     for i in range(n):
# CHECK-NEXT:         scratch[i] = a[i]
# CHECK-NEXT:     for i in range(n):
# CHECK-NEXT:         b[i] = scratch[i]
# CHECK-NEXT:     T.call_extern("int32", "usmp_arena_release", arena, scratch_block)
# CHECK-NEXT:     return 0
