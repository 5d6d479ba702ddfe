"""Views, bound pointers, pointers that are kept. Positions stand beside the statements."""

from tvm.script import ir as I
from tvm.script import tirx as T

from support.liveness_views import ranges
from usmp.analysis.memory.facts import analyze_liveness

# ---- aliases


def test_views_and_bound_pointers():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            viewed = T.alloc_buffer((4,), "int8")
            view = T.decl_buffer((1,), "int32", data=viewed.data)
            offset = T.alloc_buffer((4,), "int8")
            from_two = T.decl_buffer((2,), "int8", data=T.address_of(offset[2]))
            nested = T.alloc_buffer((4,), "int8")
            first = T.decl_buffer((2,), "int8", data=T.address_of(nested[2]))
            second = T.decl_buffer((1,), "int8", data=T.address_of(first[1]))
            bound = T.alloc_buffer((4,), "int8")
            p: T.let[T.handle("int8")] = bound.data
            q: T.let[T.handle("int8")] = p
            T.evaluate(1)  # 0
            view[0] = 1  # 1
            from_two[0] = T.int8(1)  # 2
            second[0] = T.int8(1)  # 3
            T.evaluate(T.call_extern("int32", "unknown", q))  # 4

    assert ranges(Mod) == {
        "viewed": [(1, 2)],
        "offset": [(2, 3)],
        "nested": [(3, 4)],
        "bound": [(4, 5)],
    }


def test_pointers_passed_to_a_prim_func():
    @I.ir_module
    class Mod:
        @T.prim_func
        def of_pointer(a: T.handle("int8")):
            p: T.let[T.handle("int8")] = a
            A = T.decl_buffer((4,), "int8", data=p)
            T.evaluate(1)  # 0
            A[0] = T.int8(1)  # 1

        @T.prim_func
        def of_buffer(A: T.Buffer((4,), "int8")):
            T.evaluate(1)  # 0
            A[0] = T.int8(1)  # 1

        @T.prim_func
        def main():
            bound = T.alloc_buffer((4,), "int8")
            accessed = T.alloc_buffer((4,), "int8")
            p: T.let[T.handle("int8")] = T.address_of(bound[1])
            Mod.of_pointer(p)
            Mod.of_buffer(T.tvm_access_ptr(T.type_annotation("int8"), accessed.data, 0, 4, 3))

    assert ranges(Mod) == {"bound": [(1, 2)], "accessed": [(3, 4)]}


def test_an_address_whose_index_is_loaded():
    @I.ir_module
    class Mod:
        @T.prim_func
        def op(A: T.Buffer((4,), "int8")):
            A[0] = T.int8(1)

        @T.prim_func
        def main():
            x = T.alloc_buffer((4,), "int8")
            index = T.alloc_buffer((1,), "int32")
            index[0] = 1  # 0
            Mod.op(T.address_of(x[index[0]]))  # 1, call 2

    assert ranges(Mod) == {"x": [(2, 3)], "index": [(0, 2)]}


def test_results_of_functions_and_integers_may_point_to_a_buffer_but_a_status_does_not():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main() -> T.int32:
            a = T.alloc_buffer((4,), "int8")
            b = T.alloc_buffer((4,), "int8")
            c = T.alloc_buffer((4,), "int8")
            p: T.let[T.handle("int8")] = T.call_extern(T.handle("int8").ty, "align", a.data)  # 0
            i: T.let[T.int64] = T.reinterpret("int64", b.data)  # 1
            j: T.let[T.int64] = i + T.int64(2)  # 2
            status: T.let[T.int32] = T.call_extern("int32", "unknown", c.data)  # 3
            T.evaluate(1)  # 4
            T.evaluate(T.call_extern("int32", "unknown", p))  # 5
            T.evaluate(T.call_extern("int32", "unknown", j))  # 6
            return status  # 7

    assert ranges(Mod) == {"a": [(0, 6)], "b": [(1, 7)], "c": [(3, 4)]}


# ---- escapes: a pointer that is kept makes its buffer live always


def test_pointers_that_are_stored_or_transferred_to_and_from():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main(struct: T.handle):
            in_struct = T.alloc_buffer((4,), "int8")
            in_memory = T.alloc_buffer((4,), "int8")
            by_variable = T.alloc_buffer((4,), "int8")
            source = T.alloc_buffer((4,), "int8")
            target = T.alloc_buffer((4,), "int8")
            addresses = T.alloc_buffer((2,), "int64")
            T.evaluate(1)  # 0
            T.evaluate(T.tvm_struct_set(struct, 0, 1, in_struct.data))  # 1
            addresses[0] = T.reinterpret("int64", in_memory.data)  # 2
            i: T.let[T.int64] = T.reinterpret("int64", by_variable.data)  # 3
            addresses[1] = i + T.int64(1)  # 4
            # A transfer ends later.
            T.evaluate(
                T.call_intrin("int32", "tirx.dma_copy", 0, source.data, target.data, 4, False)  # 5
            )
            T.evaluate(1)  # 6

    always = ("in_struct", "in_memory", "by_variable", "source", "target")
    assert ranges(Mod) == {**{name: [(0, 7)] for name in always}, "addresses": [(2, 5)]}


def test_a_value_stored_is_not_a_pointer_stored():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            a = T.alloc_buffer((4,), "int32")
            b = T.alloc_buffer((4,), "int32")
            a[0] = 1  # 0
            b[0] = a[0] + T.call_extern("int32", "dot", a.data)  # 1
            b[1] = 1  # 2

    assert ranges(Mod) == {"a": [(0, 2)], "b": [(1, 3)]}


def test_kept_or_returned_by_the_callee():
    @I.ir_module
    class Mod:
        @T.prim_func
        def keep(struct: T.handle, a: T.handle("int8"), b: T.handle("int8")):
            T.evaluate(T.tvm_struct_set(struct, 0, 1, a))

        @T.prim_func
        def outer(struct: T.handle, a: T.handle("int8"), b: T.handle("int8")):
            Mod.keep(struct, a, b)

        @T.prim_func
        def same(a: T.handle("int8")) -> T.handle("int8"):
            return a

        @T.prim_func
        def main(struct: T.handle):
            kept = T.alloc_buffer((4,), "int8")
            ignored = T.alloc_buffer((4,), "int8")
            returned = T.alloc_buffer((4,), "int8")
            T.evaluate(1)  # 0
            Mod.outer(struct, kept.data, ignored.data)  # 1
            p: T.let[T.handle("int8")] = Mod.same(returned.data)  # 2
            T.evaluate(1)  # 3
            T.evaluate(T.call_extern("int32", "unknown", p))  # 4

    assert ranges(Mod) == {"kept": [(0, 5)], "ignored": [], "returned": [(0, 5)]}


# ---- layouts that are loaded


def test_views_whose_offsets_are_loaded():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            index = T.alloc_buffer((1,), "int32")
            other = T.alloc_buffer((1,), "int32")
            a = T.alloc_buffer((16,), "int8")
            b = T.alloc_buffer((16,), "int8")
            index[0] = 1  # 0
            other[0] = 1  # 1
            view = T.decl_buffer((8,), "int8", data=a.data, elem_offset=index[0])  # 2
            first = T.decl_buffer((8,), "int8", data=b.data, elem_offset=other[0])  # 3
            second = T.decl_buffer((4,), "int8", data=first.data)  # 4
            T.evaluate(1)  # 5
            view[0] = T.int8(1)  # 6
            T.evaluate(a[0])  # 7
            T.evaluate(second[0])  # 8

    assert ranges(Mod) == {
        "index": [(0, 7)],
        "other": [(1, 9)],
        "a": [(6, 8)],
        "b": [(8, 9)],
    }


# ---- statements that go on after the next has begun


def test_what_an_asynchronous_scope_touches_lives_always():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            a = T.alloc_buffer((4,), "int8")
            b = T.alloc_buffer((4,), "int8")
            T.evaluate(1)  # 0
            with T.attr(T.int32(0), "async_scope", 1):  # 1: the value of the attribute
                b[0] = a[0]  # 2
            T.evaluate(1)  # 3

    end = analyze_liveness("main", Mod).length
    assert ranges(Mod) == {"a": [(0, end)], "b": [(0, end)]}


def test_what_a_callee_allocates_in_an_asynchronous_scope_is_not_planned():
    @I.ir_module
    class Mod:
        @T.prim_func(private=True)
        def f():
            a = T.alloc_buffer((4,), "int8")
            a[0] = T.int8(1)

        @T.prim_func
        def main():
            Mod.f()
            with T.attr(T.int32(0), "async_scope", 1):
                Mod.f()

    liveness = analyze_liveness("main", Mod)
    assert [stmt.buffer.name for stmt in liveness.unplannable] == ["a"]
