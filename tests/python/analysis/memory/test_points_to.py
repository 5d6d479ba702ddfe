"""Where variables point to: into which memory, and to which byte of it."""

import pytest
from tvm import tirx
from tvm.ir import PointerType, PrimType
from tvm.script import tirx as T

from usmp.analysis.memory.points_to import points_to


def byte_offsets(func):
    """By name of the variable and of the memory, how far in that it points; None if not known."""
    found = points_to(func)
    return {
        var.name: {place.memory.name: place.byte_offset for place in places}
        for var, places in found.addresses.items()
        if places
    }


def test_views_and_pointers():
    @T.prim_func(s_tir=True)
    def func(a: T.handle("int32"), n: T.int32):
        A = T.decl_buffer((8,), "int32", data=a)
        B = T.alloc_buffer((4, 4), "int16")
        row = T.decl_buffer((4,), "int16", data=T.address_of(B[2, 0]))
        same = T.decl_buffer((4,), "int16", data=row.data)
        p: T.let = T.address_of(A[3])
        view = T.decl_buffer((4,), "uint8", data=p)
        somewhere = T.decl_buffer((4,), "int32", data=T.address_of(A[n]))
        number: T.let = n + 1
        view[0] = T.Cast("uint8", same[0]) + T.Cast("uint8", somewhere[number])

    assert byte_offsets(func) == {
        "a": {"a": 0},
        "n": {"n": 0},
        "A": {"a": 0},
        "B": {"B": 0},
        "row": {"B": 16},
        "same": {"B": 16},
        "p": {"a": 12},
        "view": {"a": 12},
        "somewhere": {"a": None},
        "number": {"n": None},
    }


POINTER = PointerType(PrimType("int8"))


def bound(var, value):
    return tirx.Bind(var, value)


def chosen(a, b):
    return tirx.Select(tirx.const(1, "bool"), a, b)


@pytest.mark.parametrize("is_looped", [False, True])
def test_what_is_declared_again_points_to_all_that_any_declaration_says(is_looped):
    """Also what was made from it before, since the text may run again."""
    a, b = tirx.Var("a", POINTER), tirx.Var("b", POINTER)
    p, q = tirx.Var("p", POINTER), tirx.Var("q", POINTER)
    i = tirx.Var("i", "int32")
    text = tirx.SeqStmt([bound(p, a), bound(q, p), bound(p, b)])
    body = tirx.For(i, 0, 4, tirx.ForKind.SERIAL, text) if is_looped else text
    everywhere = {"a": None, "b": None}
    assert byte_offsets(tirx.PrimFunc([a, b], body)) == {
        "a": {"a": 0},
        "b": {"b": 0},
        "p": everywhere,
        "q": everywhere,
    }


def test_what_is_declared_twice_alike_is_known():
    a, p = tirx.Var("a", POINTER), tirx.Var("p", POINTER)
    func = tirx.PrimFunc([a], tirx.SeqStmt([bound(p, a), bound(p, a)]))
    assert byte_offsets(func) == {"a": {"a": 0}, "p": {"a": 0}}


def test_an_address_as_a_number():
    a, n, q = tirx.Var("a", POINTER), tirx.Var("n", "uint64"), tirx.Var("q", POINTER)
    number = tirx.call_intrin("uint64", "tirx.reinterpret", a) + tirx.const(1, "uint64")
    pointer = tirx.call_intrin(POINTER, "tirx.reinterpret", n)
    func = tirx.PrimFunc([a], tirx.SeqStmt([bound(n, number), bound(q, pointer)]))
    assert byte_offsets(func) == {"a": {"a": 0}, "n": {"a": None}, "q": {"a": None}}


def test_a_pointer_that_is_used_before_its_text():
    a, b = tirx.Var("a", POINTER), tirx.Var("b", POINTER)
    p, q = tirx.Var("p", POINTER), tirx.Var("q", POINTER)
    func = tirx.PrimFunc([a, b], tirx.SeqStmt([bound(q, p), bound(p, b)]))
    assert byte_offsets(func) == {
        "a": {"a": 0},
        "b": {"b": 0},
        "q": {"b": None},
        "p": {"b": 0},
    }


def test_a_number_points_nowhere():
    n = tirx.Var("n", "int32")
    func = tirx.PrimFunc([], tirx.SeqStmt([bound(n, tirx.const(1, "int32")), bound(n, n + 1)]))
    assert byte_offsets(func) == {}
