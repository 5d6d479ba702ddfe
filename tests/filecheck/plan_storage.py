# Tensors have their places in one storage; an output takes that of an input that dies, if the
# operator reads each element before it writes it.
# RUN: usmp-opt %s --passes=PlanStorage | filecheck %s

from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def double(x: T.Buffer((16,), "float32"), y: T.Buffer((16,), "float32")):
        for i in range(16):
            with T.sblock("double"):
                v = T.axis.spatial(16, i)
                y[v] = x[v] + x[v]

    @T.prim_func(private=True, s_tir=True)
    def reverse(x: T.Buffer((16,), "float32"), y: T.Buffer((16,), "float32")):
        for i in T.parallel(16):
            with T.sblock("reverse"):
                v = T.axis.spatial(16, i)
                y[v] = x[15 - v]

    @R.function
    def main(x: R.Tensor((16,), "float32")) -> R.Tensor((16,), "float32"):
        R.func_attr({"relax.force_pure": True})
        cls = Module
        a: R.Tensor((16,), "float32") = R.builtin.alloc_tensor(
            R.shape([16]), R.dtype("float32"), 0, R.str("global")
        )
        _ = cls.double(x, a)
        b: R.Tensor((16,), "float32") = R.builtin.alloc_tensor(
            R.shape([16]), R.dtype("float32"), 0, R.str("global")
        )
        _1 = cls.double(a, b)
        c: R.Tensor((16,), "float32") = R.builtin.alloc_tensor(
            R.shape([16]), R.dtype("float32"), 0, R.str("global")
        )
        _2 = cls.reverse(b, c)
        d: R.Tensor((16,), "float32") = R.builtin.alloc_tensor(
            R.shape([16]), R.dtype("float32"), 0, R.str("global")
        )
        _3 = cls.double(c, d)
        return d


# CHECK: @T.prim_func(private=True, s_tir=True)
# CHECK-NEXT: def double(x: T.Buffer((16,), "float32", elem_offset=x_elem_offset, offset_factor=16), y: T.Buffer((16,), "float32")):
# CHECK-NEXT:     # with T.sblock("root"):
# CHECK-NEXT:     for i in range(16):
# CHECK-NEXT:         with T.sblock("double"):
# CHECK-NEXT:             v = T.axis.spatial(16, i)
# CHECK-NEXT:             T.reads(x[v])
# CHECK-NEXT:             T.writes(y[v])
# CHECK-NEXT:             y[v] = x[v] + x[v]
#
# CHECK: @T.prim_func(private=True, s_tir=True)
# CHECK-NEXT: def double_in_place(y: T.Buffer((16,), "float32")):
# CHECK-NEXT:     # with T.sblock("root"):
# CHECK-NEXT:     for i in range(16):
# CHECK-NEXT:         with T.sblock("double"):
# CHECK-NEXT:             v = T.axis.spatial(16, i)
# CHECK-NEXT:             T.reads(y[v])
# CHECK-NEXT:             T.writes(y[v])
# CHECK-NEXT:             y[v] = y[v] + y[v]
#
# CHECK: @T.prim_func(private=True, s_tir=True)
# CHECK-NEXT: def reverse(x: T.Buffer((16,), "float32"), y: T.Buffer((16,), "float32", elem_offset=y_elem_offset, offset_factor=16)):
# CHECK-NEXT:     # with T.sblock("root"):
# CHECK-NEXT:     for i in T.parallel(16):
# CHECK-NEXT:         with T.sblock("reverse"):
# CHECK-NEXT:             v = T.axis.spatial(16, i)
# CHECK-NEXT:             T.reads(x[15 - v])
# CHECK-NEXT:             T.writes(y[v])
# CHECK-NEXT:             y[v] = x[15 - v]
#
# CHECK: @R.function
# CHECK-NEXT: def main(x: R.Tensor((16,), dtype="float32")) -> R.Tensor((16,), dtype="float32"):
# CHECK-NEXT:     R.func_attr({"relax.force_pure": True, "usmp.storage_plan": {"function": "main", "left_bytes": 0, "needs_less_by_tvm": False, "num_left": 0, "output_bytes": 64, "storages": [{"bytes": 128, "device_index": 0, "is_optimal": True, "lower_bound": 128, "num_in_place": 1, "num_tensors": 3, "scope": "global"}]}})
# CHECK-NEXT:     cls = Module
# CHECK-NEXT:     storage: R.Any = R.memory.alloc_storage(R.shape([128]), 0, R.str("global"), R.dtype("uint8"))
# CHECK-NEXT:     a: R.Tensor((16,), dtype="float32") = R.memory.alloc_tensor(storage, 0, R.shape([16]), R.dtype("float32"), 0)
# CHECK-NEXT:     cls.double(x, a)
# CHECK-NEXT:     b: R.Tensor((16,), dtype="float32") = R.memory.alloc_tensor(storage, 0, R.shape([16]), R.dtype("float32"), 0)
# CHECK-NEXT:     cls.double_in_place(b)
# CHECK-NEXT:     c: R.Tensor((16,), dtype="float32") = R.memory.alloc_tensor(storage, 64, R.shape([16]), R.dtype("float32"), 0)
# CHECK-NEXT:     cls.reverse(b, c)
# CHECK-NEXT:     d: R.Tensor((16,), dtype="float32") = R.builtin.alloc_tensor(R.shape([16]), R.dtype("float32"), 0, R.str("global"))
# CHECK-NEXT:     cls.double(c, d)
# CHECK-NEXT:     return d
