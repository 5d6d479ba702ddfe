"""Which PrimFunc reads and writes what."""

import pytest
from tvm.script import ir as I
from tvm.script import tirx as T

from usmp.analysis.memory.access import Access
from usmp.analysis.memory.facts import analyze_liveness

READ, WRITE, UNKNOWN = Access.READ, Access.WRITE, Access.UNKNOWN


def uses(mod):
    """What each PrimFunc does to each allocation, by name."""
    found = analyze_liveness("main", mod).allocation_use
    return {stmt.buffer.name: use.by_function for stmt, use in found.items()}


def test_loads_and_stores():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            read = T.alloc_buffer((4,), "int8")
            written = T.alloc_buffer((4,), "int8")
            both = T.alloc_buffer((4,), "int8")
            index = T.alloc_buffer((4,), "int32")
            none = T.alloc_buffer((4,), "int8")  # noqa: F841
            written[index[0]] = read[index[1]]
            both[0] = both[1] + T.int8(1)

    assert uses(Mod) == {
        "read": {"main": READ},
        "written": {"main": WRITE},
        "both": {"main": READ | WRITE},
        "index": {"main": READ},
        "none": {},
    }


@pytest.mark.parametrize(
    ("mask", "access"), [(1, READ), (2, WRITE), (3, UNKNOWN)], ids=["r", "w", "rw"]
)
def test_an_access_pointer_says_what_is_done(mask, access):
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            a = T.alloc_buffer((4,), "int8")
            index = T.alloc_buffer((1,), "int32")
            T.evaluate(
                T.call_extern(
                    "int32",
                    "f",
                    T.tvm_access_ptr(T.type_annotation("int8"), a.data, index[0], 4, mask),
                )
            )

    assert uses(Mod) == {"a": {"main": access}, "index": {"main": READ}}


@pytest.mark.parametrize("form", ["data", "address", "bound", "view"])
def test_an_address_that_is_given_away(form):
    @I.ir_module
    class Mod:
        @T.prim_func
        def data():
            a = T.alloc_buffer((4,), "int8")
            T.evaluate(T.call_extern("int32", "f", a.data))

        @T.prim_func
        def address():
            a = T.alloc_buffer((4,), "int8")
            T.evaluate(T.call_extern("int32", "f", T.address_of(a[1])))

        @T.prim_func
        def bound():
            a = T.alloc_buffer((4,), "int8")
            p: T.let[T.handle("int8")] = a.data
            T.evaluate(T.call_extern("int32", "f", p))

        @T.prim_func
        def view():
            a = T.alloc_buffer((4,), "int8")
            v = T.decl_buffer((2,), "int8", data=T.address_of(a[2]))
            T.evaluate(T.call_extern("int32", "f", v.data))

    (use,) = analyze_liveness(form, Mod).allocation_use.values()
    assert UNKNOWN in use.access
    assert use.access.may_write


def test_what_a_callee_does():
    @I.ir_module
    class Mod:
        @T.prim_func
        def inner(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")):
            B[0] = A[0]

        @T.prim_func
        def outer(a: T.handle("int8"), b: T.handle("int8"), c: T.handle("int8")):
            T.evaluate(T.call_extern("int32", "inner", a, b))

        @T.prim_func
        def main():
            x = T.alloc_buffer((4,), "int8")
            y = T.alloc_buffer((4,), "int8")
            ignored = T.alloc_buffer((4,), "int8")
            Mod.outer(x.data, y.data, ignored.data)
            y[0] = x[0]

    assert uses(Mod) == {
        "x": {"inner": READ, "main": READ},
        "y": {"inner": WRITE, "main": WRITE},
        "ignored": {},
    }


def test_what_a_callee_keeps():
    @I.ir_module
    class Mod:
        @T.prim_func
        def keep(struct: T.handle, a: T.handle("int8")):
            T.evaluate(T.tvm_struct_set(struct, 0, 1, a))

        @T.prim_func
        def main(struct: T.handle):
            x = T.alloc_buffer((4,), "int8")
            Mod.keep(struct, x.data)

    assert UNKNOWN in uses(Mod)["x"]["keep"]
