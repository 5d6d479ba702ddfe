# A window over three rows reads what is made row by row: of the tensor between, three rows are kept.
# RUN: usmp-opt %s --passes=StreamOperators | filecheck %s

from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func
    def twice(p: T.handle("int8"), q: T.handle("int8")):
        a = T.decl_buffer((160,), "int8", data=p)
        b = T.decl_buffer((160,), "int8", data=q)
        for y in range(10):
            for x in range(16):
                b[y * 16 + x] = a[y * 16 + x] * T.int8(2)

    @T.prim_func
    def window(p: T.handle("int8"), q: T.handle("int8")):
        a = T.decl_buffer((160,), "int8", data=p)
        b = T.decl_buffer((128,), "int8", data=q)
        for y in range(8):
            for x in range(16):
                b[y * 16 + x] = a[y * 16 + x] + a[y * 16 + x + 32]

    @T.prim_func
    def __tvm_main__(x: T.handle("int8"), y: T.handle("int8")):
        between = T.alloc_buffer((160,), "int8")
        Module.twice(x, between.data)
        Module.window(between.data, y)


# CHECK: I.module_attrs({"usmp.search": [{"alternatives": [{"peak_bytes": 160, "value": "one operator after the other", "why": "larger"}], "details": {"least_live_bytes": 32, "unstreamed_peak_bytes": 160}, "entry": "", "peak_bytes": 48, "stage": "segments", "taken": "twice to window (2, by rows)"}]})
#
# CHECK: @T.prim_func
# CHECK-NEXT: def __tvm_main__(x: T.handle("int8", "global"), y: T.handle("int8", "global")):
# CHECK-NEXT:     Module.twice_to_window(x, y)
#
# CHECK: @T.prim_func(private=True)
# CHECK-NEXT: def twice_to_window(p: T.handle("int8", "global"), q: T.handle("int8", "global")):
# CHECK-NEXT:     T.func_attr({"segment": {"by": "rows", "moved_bytes": 224, "operators": ["twice", "window"], "ring_size_bytes": 48, "tensor_size_bytes": 160}})
# CHECK-NEXT:     between_ring = T.alloc_buffer((48,), "int8", annotations={"alignment": 4})
# CHECK-NEXT:     a = T.decl_buffer((160,), "int8", data=p)
# CHECK-NEXT:     b = T.decl_buffer((128,), "int8", data=q)
# CHECK-NEXT:     for tick in range(10):
# CHECK-NEXT:         run: T.let[T.int32] = tick
# CHECK-NEXT:         if run >= 3:
# CHECK-NEXT:             T.attr("tvmgen_copy_words", "usmp.tensor_intrin", T.call_pure_extern("int32", "tvmgen_copy_words", between_ring[0], between_ring[16], 32))
# CHECK-NEXT:             for i in range(32):
# CHECK-NEXT:                 between_ring[i] = between_ring[i + 16]
# CHECK-NEXT:         front: T.let[T.int32] = T.max(run - 2, 0) * 16
# CHECK-NEXT:         y: T.let[T.int32] = run
# CHECK-NEXT:         for x in range(16):
# CHECK-NEXT:             between_ring[y * 16 + x - front] = a[y * 16 + x] * T.int8(2)
# CHECK-NEXT:         if tick >= 2:
# CHECK-NEXT:             run_1: T.let[T.int32] = tick - 2
# CHECK-NEXT:             front_1: T.let[T.int32] = T.max(tick - 2, 0) * 16
# CHECK-NEXT:             y_1: T.let[T.int32] = run_1
# CHECK-NEXT:             for x in range(16):
# CHECK-NEXT:                 b[y_1 * 16 + x] = between_ring[y_1 * 16 + x - front_1] + between_ring[y_1 * 16 + x + 32 - front_1]
