"""Modules whose tensors of different types use the same bytes one after the other."""

from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module(s_tir=True)
class Shared:
    """A float tensor takes the bytes of an int32 tensor after its last use."""

    @T.prim_func(private=True)
    def double(a: T.handle("int32"), b: T.handle("int32")):
        A = T.decl_buffer((4,), "int32", data=a)
        B = T.decl_buffer((4,), "int32", data=b)
        for i in range(4):
            B[i] = A[i] * 2

    @T.prim_func(private=True)
    def total(a: T.handle("int32"), b: T.handle("int32")):
        A = T.decl_buffer((4,), "int32", data=a)
        B = T.decl_buffer((1,), "int32", data=b)
        B[0] = A[0] + A[1] + A[2] + A[3]

    @T.prim_func(private=True)
    def halves(a: T.handle("int32"), b: T.handle("float32")):
        A = T.decl_buffer((4,), "int32", data=a)
        B = T.decl_buffer((4,), "float32", data=b)
        for i in range(4):
            B[i] = T.Cast("float32", A[i]) * T.float32(0.5)

    @T.prim_func(private=True)
    def exp(a: T.handle("float32"), b: T.handle("float32")):
        A = T.decl_buffer((4,), "float32", data=a)
        B = T.decl_buffer((1,), "float32", data=b)
        B[0] = T.log(T.exp(A[0] + A[1] + A[2] + A[3]))

    @T.prim_func(private=True)
    def unused(a: T.handle("float32")):
        T.evaluate(0)

    @T.prim_func
    def __tvm_main__(
        x_ptr: T.handle("int32"), integers_ptr: T.handle("int32"), floats_ptr: T.handle("float32")
    ):
        x = T.decl_buffer((4,), "int32", data=x_ptr)
        integers = T.decl_buffer((1,), "int32", data=integers_ptr)
        floats = T.decl_buffer((1,), "float32", data=floats_ptr)
        doubled = T.alloc_buffer((4,), "int32")
        halved = T.alloc_buffer((4,), "float32")
        Shared.double(x.data, doubled.data)
        Shared.total(doubled.data, integers.data)
        Shared.halves(x.data, halved.data)
        Shared.exp(halved.data, floats.data)


SHARED_TENSORS = (
    [("x", [4], "int32")],
    [("integers", [1], "int32"), ("floats", [1], "float32")],
)


@I.ir_module(s_tir=True)
class Reused:
    """Two int32 tensors of the same content, and between them a float tensor in their bytes."""

    @T.prim_func(private=True)
    def ones(a: T.handle("int32")):
        A = T.decl_buffer((4,), "int32", data=a)
        A[0] = 1
        A[1] = 1
        A[2] = 1
        A[3] = 1

    @T.prim_func(private=True)
    def halves(a: T.handle("float32")):
        A = T.decl_buffer((4,), "float32", data=a)
        A[0] = T.float32(0.5)
        A[1] = T.float32(0.5)
        A[2] = T.float32(0.5)
        A[3] = T.float32(0.5)

    @T.prim_func(private=True)
    def pick(index: T.handle("int32"), a: T.handle("int32"), b: T.handle("int16")):
        I = T.decl_buffer((4,), "int32", data=index)  # noqa: E741
        A = T.decl_buffer((4,), "int32", data=a)
        B = T.decl_buffer((1,), "int16", data=b)
        B[0] = T.Cast("int16", A[I[0]])

    @T.prim_func(private=True)
    def pick_float(index: T.handle("int32"), a: T.handle("float32"), b: T.handle("float32")):
        I = T.decl_buffer((4,), "int32", data=index)  # noqa: E741
        A = T.decl_buffer((4,), "float32", data=a)
        B = T.decl_buffer((1,), "float32", data=b)
        B[0] = A[I[0]]

    @T.prim_func
    def __tvm_main__(
        x_ptr: T.handle("int32"), integers_ptr: T.handle("int16"), floats_ptr: T.handle("float32")
    ):
        x = T.decl_buffer((4,), "int32", data=x_ptr)
        integers = T.decl_buffer((1,), "int16", data=integers_ptr)
        floats = T.decl_buffer((1,), "float32", data=floats_ptr)
        before = T.alloc_buffer((4,), "int32")
        between = T.alloc_buffer((4,), "float32")
        after = T.alloc_buffer((4,), "int32")
        Reused.ones(before.data)
        Reused.pick(x.data, before.data, integers.data)
        Reused.halves(between.data)
        Reused.pick_float(x.data, between.data, floats.data)
        Reused.ones(after.data)
        Reused.pick(x.data, after.data, integers.data)


REUSED_TENSORS = (
    [("x", [4], "int32")],
    [("integers", [1], "int16"), ("floats", [1], "float32")],
)
