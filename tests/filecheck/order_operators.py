# A branch is computed to its end before the other begins: two wide tensors are never live at once.
# RUN: usmp-opt %s --passes=OrderOperators | filecheck %s

from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func
    def widen(p: T.handle("int8"), q: T.handle("int8")):
        a = T.decl_buffer((16,), "int8", data=p)
        b = T.decl_buffer((64,), "int8", data=q)
        for i in range(64):
            b[i] = a[i // 4]

    @T.prim_func
    def narrow(p: T.handle("int8"), q: T.handle("int8")):
        a = T.decl_buffer((64,), "int8", data=p)
        b = T.decl_buffer((16,), "int8", data=q)
        for i in range(16):
            b[i] = a[i * 4]

    @T.prim_func
    def add(p: T.handle("int8"), q: T.handle("int8"), r: T.handle("int8")):
        a = T.decl_buffer((16,), "int8", data=p)
        b = T.decl_buffer((16,), "int8", data=q)
        c = T.decl_buffer((16,), "int8", data=r)
        for i in range(16):
            c[i] = a[i] + b[i]

    @T.prim_func
    def __tvm_main__(x: T.handle("int8"), y: T.handle("int8")):
        wide_1 = T.alloc_buffer((64,), "int8")
        wide_2 = T.alloc_buffer((64,), "int8")
        narrow_1 = T.alloc_buffer((16,), "int8")
        narrow_2 = T.alloc_buffer((16,), "int8")
        Module.widen(x, wide_1.data)
        Module.widen(x, wide_2.data)
        Module.narrow(wide_1.data, narrow_1.data)
        Module.narrow(wide_2.data, narrow_2.data)
        Module.add(narrow_1.data, narrow_2.data, y)


# CHECK: I.module_attrs({"usmp.search": [{"alternatives": [{"peak_bytes": 128, "value": "as imported", "why": "larger"}], "details": {"importer_live_bytes": 128, "least_live_bytes": 80, "live_bytes": 80}, "entry": "", "peak_bytes": 80, "stage": "order", "taken": "fewest live bytes"}]})
#
# CHECK: @T.prim_func
# CHECK-NEXT: def __tvm_main__(x: T.handle("int8", "global"), y: T.handle("int8", "global")):
# CHECK-NEXT:     wide_1 = T.alloc_buffer((64,), "int8")
# CHECK-NEXT:     wide_2 = T.alloc_buffer((64,), "int8")
# CHECK-NEXT:     narrow_1 = T.alloc_buffer((16,), "int8")
# CHECK-NEXT:     narrow_2 = T.alloc_buffer((16,), "int8")
# CHECK-NEXT:     Module.widen(x, wide_1.data)
# CHECK-NEXT:     Module.narrow(wide_1.data, narrow_1.data)
# CHECK-NEXT:     Module.widen(x, wide_2.data)
# CHECK-NEXT:     Module.narrow(wide_2.data, narrow_2.data)
# CHECK-NEXT:     Module.add(narrow_1.data, narrow_2.data, y)
#
# CHECK: @T.prim_func
# CHECK-NEXT: def add(p: T.handle("int8", "global"), q: T.handle("int8", "global"), r: T.handle("int8", "global")):
# CHECK-NEXT:     a = T.decl_buffer((16,), "int8", data=p)
# CHECK-NEXT:     b = T.decl_buffer((16,), "int8", data=q)
# CHECK-NEXT:     c = T.decl_buffer((16,), "int8", data=r)
# CHECK-NEXT:     for i in range(16):
# CHECK-NEXT:         c[i] = a[i] + b[i]
#
# CHECK: @T.prim_func
# CHECK-NEXT: def narrow(p: T.handle("int8", "global"), q: T.handle("int8", "global")):
# CHECK-NEXT:     a = T.decl_buffer((64,), "int8", data=p)
# CHECK-NEXT:     b = T.decl_buffer((16,), "int8", data=q)
# CHECK-NEXT:     for i in range(16):
# CHECK-NEXT:         b[i] = a[i * 4]
#
# CHECK: @T.prim_func
# CHECK-NEXT: def widen(p: T.handle("int8", "global"), q: T.handle("int8", "global")):
# CHECK-NEXT:     a = T.decl_buffer((16,), "int8", data=p)
# CHECK-NEXT:     b = T.decl_buffer((64,), "int8", data=q)
# CHECK-NEXT:     for i in range(64):
# CHECK-NEXT:         b[i] = a[i // 4]
