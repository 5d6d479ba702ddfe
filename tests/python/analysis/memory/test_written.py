"""Which parameters does a PrimFunc write?"""

import pytest
from tvm import tirx
from tvm.ir import IRModule, PointerType, PrimType
from tvm.script import ir as I
from tvm.script import tirx as T

from usmp.analysis.memory.facts import module_facts


@I.ir_module(s_tir=True)
class Module:
    @T.prim_func(private=True)
    def stores(a: T.handle("int32"), b: T.handle("int32"), n: T.int32):
        A = T.decl_buffer((8,), "int32", data=a)
        B = T.decl_buffer((8,), "int32", data=b)
        B[n] = A[n]

    @T.prim_func(private=True)
    def through_a_view(a: T.handle("uint8"), b: T.handle("uint8")):
        A = T.decl_buffer((32,), "uint8", data=a)
        B = T.decl_buffer((32,), "uint8", data=b)
        view = T.decl_buffer((4,), "int32", data=T.address_of(A[16]))
        second = T.decl_buffer((4,), "float32", data=view.data)
        second[0] = T.Cast("float32", B[0])

    @T.prim_func(private=True)
    def through_a_pointer(a: T.handle("int32"), b: T.handle("int32")):
        A = T.decl_buffer((8,), "int32", data=a)
        p: T.let = T.address_of(A[2])
        view = T.decl_buffer((4,), "int32", data=p)
        view[0] = 1

    @T.prim_func(private=True)
    def calls(a: T.handle("int32"), b: T.handle("int32"), c: T.handle("int32")):
        C = T.decl_buffer((8,), "int32", data=c)
        Module.stores(a, b, 0)
        Module.stores(b, T.address_of(C[4]), 0)

    @T.prim_func(private=True)
    def calls_an_extern(a: T.handle("int32"), b: T.handle("int32")):
        A = T.decl_buffer((8,), "int32", data=a)
        B = T.decl_buffer((8,), "int32", data=b)
        T.evaluate(T.call_extern("int32", "fill", A.data, B[0]))

    @T.prim_func(private=True)
    def reads(a: T.handle("int32")):
        A = T.decl_buffer((8,), "int32", data=a)
        x = T.alloc_buffer((1,), "int32", scope="local")
        x[0] = A[0]


@pytest.mark.parametrize(
    ("name", "indices"),
    [
        ("stores", {1}),
        ("through_a_view", {0}),
        ("through_a_pointer", {0}),
        ("calls", {1, 2}),
        ("calls_an_extern", {0}),
        ("reads", set()),
    ],
)
def test_written_parameters(name, indices):
    assert module_facts(Module).of(name).written_parameters == indices


POINTER = PointerType(PrimType("int32"))


def access_pointer(data):
    """It says that it is for reading."""
    kind = tirx.type_annotation("int32")
    return tirx.call_intrin(POINTER, "tirx.tvm_access_ptr", kind, data, 2, 4, 1)


def bytes_further_on(data):
    return tirx.call_intrin(POINTER, "tirx.handle_add_byte_offset", data, 8)


def module_with(pointer, use):
    """A PrimFunc with a view of its first parameter, of which `use` makes a statement."""
    data, out = tirx.Var("data", POINTER), tirx.decl_buffer((4,), "int32", "out")
    view = tirx.decl_buffer((4,), "int32", "view")
    body = tirx.SeqStmt([tirx.DeclBuffer(view, data=pointer(data)), use(view, out)])
    return IRModule({"f": tirx.PrimFunc([data, out], body)})


@pytest.mark.parametrize("pointer", [access_pointer, bytes_further_on])
def test_a_view_at_a_computed_pointer(pointer):
    stores = module_with(pointer, lambda view, out: tirx.BufferStore(view, out[0], [0]))
    loads = module_with(pointer, lambda view, out: tirx.BufferStore(out, view[0], [0]))
    assert module_facts(stores).of("f").written_parameters == {0}
    assert module_facts(loads).of("f").written_parameters == {1}
