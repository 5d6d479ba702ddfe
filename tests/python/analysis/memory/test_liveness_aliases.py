"""Views, bound pointers, pointers that are kept. Positions stand beside the statements."""

from tvm.script import ir as I
from tvm.script import tirx as T

from support.liveness_views import spans
from usmp.analysis.memory.facts import analyze_liveness

# ---- aliases


def test_declared_view():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            a = T.alloc_buffer((4,), "int8")
            view = T.decl_buffer((1,), "int32", data=a.data)
            T.evaluate(1)  # 0
            view[0] = 1  # 1

    assert spans(Mod) == {"a": [(1, 2)]}


def test_view_at_an_offset():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            a = T.alloc_buffer((4,), "int8")
            view = T.decl_buffer((2,), "int8", data=T.address_of(a[2]))
            T.evaluate(1)  # 0
            view[0] = T.int8(1)  # 1

    assert spans(Mod) == {"a": [(1, 2)]}


def test_view_of_a_view():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            a = T.alloc_buffer((4,), "int8")
            first = T.decl_buffer((2,), "int8", data=T.address_of(a[2]))
            second = T.decl_buffer((1,), "int8", data=T.address_of(first[1]))
            T.evaluate(1)  # 0
            second[0] = T.int8(1)  # 1

    assert spans(Mod) == {"a": [(1, 2)]}


def test_bound_pointer():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            a = T.alloc_buffer((4,), "int8")
            p: T.let[T.handle("int8")] = a.data
            q: T.let[T.handle("int8")] = p
            T.evaluate(1)  # 0
            T.evaluate(T.call_extern("int32", "unknown", q))  # 1

    assert spans(Mod) == {"a": [(1, 2)]}


def test_bound_pointer_passed_to_a_prim_func():
    @I.ir_module
    class Mod:
        @T.prim_func
        def op(a: T.handle("int8")):
            p: T.let[T.handle("int8")] = a
            A = T.decl_buffer((4,), "int8", data=p)
            T.evaluate(1)  # 0
            A[0] = T.int8(1)  # 1

        @T.prim_func
        def main():
            x = T.alloc_buffer((4,), "int8")
            p: T.let[T.handle("int8")] = T.address_of(x[1])
            Mod.op(p)

    assert spans(Mod) == {"x": [(1, 2)]}


def test_access_pointer():
    @I.ir_module
    class Mod:
        @T.prim_func
        def op(A: T.Buffer((4,), "int8")):
            T.evaluate(1)  # 0
            A[0] = T.int8(1)  # 1

        @T.prim_func
        def main():
            x = T.alloc_buffer((4,), "int8")
            Mod.op(T.tvm_access_ptr(T.type_annotation("int8"), x.data, 0, 4, 3))

    assert spans(Mod) == {"x": [(1, 2)]}


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

    assert spans(Mod) == {"x": [(2, 3)], "index": [(0, 2)]}


def test_a_pointer_that_a_function_returns_may_point_to_its_arguments():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            a = T.alloc_buffer((4,), "int8")
            p: T.let[T.handle("int8")] = T.call_extern(T.handle("int8").ty, "align", a.data)  # 0
            T.evaluate(1)  # 1
            T.evaluate(T.call_extern("int32", "unknown", p))  # 2

    assert spans(Mod) == {"a": [(0, 3)]}


def test_a_pointer_as_an_integer_is_an_alias():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            a = T.alloc_buffer((4,), "int8")
            i: T.let[T.int64] = T.reinterpret("int64", a.data)  # 0
            j: T.let[T.int64] = i + T.int64(2)  # 1
            T.evaluate(1)  # 2
            T.evaluate(T.call_extern("int32", "unknown", j))  # 3

    assert spans(Mod) == {"a": [(0, 4)]}


def test_a_status_is_not_an_alias():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main() -> T.int32:
            a = T.alloc_buffer((4,), "int8")
            status: T.let[T.int32] = T.call_extern("int32", "unknown", a.data)  # 0
            T.evaluate(1)  # 1
            return status  # 2

    assert spans(Mod) == {"a": [(0, 1)]}


# ---- escapes: a pointer that is kept makes its buffer live always


def test_stored_in_a_struct():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main(struct: T.handle):
            a = T.alloc_buffer((4,), "int8")
            T.evaluate(1)  # 0
            T.evaluate(T.tvm_struct_set(struct, 0, 1, a.data))  # 1
            T.evaluate(1)  # 2

    assert spans(Mod) == {"a": [(0, 3)]}


def test_stored_in_memory():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            a = T.alloc_buffer((4,), "int8")
            addresses = T.alloc_buffer((1,), "int64")
            T.evaluate(1)  # 0
            addresses[0] = T.reinterpret("int64", a.data)  # 1
            T.evaluate(1)  # 2

    assert spans(Mod) == {"a": [(0, 3)], "addresses": [(1, 2)]}


def test_stored_in_memory_by_way_of_a_variable():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            a = T.alloc_buffer((4,), "int8")
            addresses = T.alloc_buffer((1,), "int64")
            i: T.let[T.int64] = T.reinterpret("int64", a.data)  # 0
            addresses[0] = i + T.int64(1)  # 1
            T.evaluate(1)  # 2

    assert spans(Mod) == {"a": [(0, 3)], "addresses": [(1, 2)]}


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

    assert spans(Mod) == {"a": [(0, 2)], "b": [(1, 3)]}


def test_kept_by_the_callee():
    @I.ir_module
    class Mod:
        @T.prim_func
        def keep(struct: T.handle, a: T.handle("int8"), b: T.handle("int8")):
            T.evaluate(T.tvm_struct_set(struct, 0, 1, a))

        @T.prim_func
        def outer(struct: T.handle, a: T.handle("int8"), b: T.handle("int8")):
            Mod.keep(struct, a, b)

        @T.prim_func
        def main(struct: T.handle):
            x = T.alloc_buffer((4,), "int8")
            y = T.alloc_buffer((4,), "int8")
            T.evaluate(1)  # 0
            Mod.outer(struct, x.data, y.data)  # 1
            T.evaluate(1)  # 2

    assert spans(Mod) == {"x": [(0, 3)], "y": []}


def test_returned_by_the_callee():
    @I.ir_module
    class Mod:
        @T.prim_func
        def same(a: T.handle("int8")) -> T.handle("int8"):
            return a

        @T.prim_func
        def main():
            x = T.alloc_buffer((4,), "int8")
            p: T.let[T.handle("int8")] = Mod.same(x.data)  # 0
            T.evaluate(1)  # 1
            T.evaluate(T.call_extern("int32", "unknown", p))  # 2

    assert spans(Mod) == {"x": [(0, 3)]}


def test_a_transfer_that_ends_later():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            a = T.alloc_buffer((4,), "int8")
            b = T.alloc_buffer((4,), "int8")
            T.evaluate(1)  # 0
            T.evaluate(T.call_intrin("int32", "tirx.dma_copy", 0, a.data, b.data, 4, False))  # 1
            T.evaluate(1)  # 2

    assert spans(Mod) == {"a": [(0, 3)], "b": [(0, 3)]}


# ---- layouts that are loaded


def test_a_view_whose_offset_is_loaded():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            index = T.alloc_buffer((1,), "int32")
            index[0] = 1  # 0
            a = T.alloc_buffer((16,), "int8")
            view = T.decl_buffer((8,), "int8", data=a.data, elem_offset=index[0])  # 1
            T.evaluate(1)  # 2
            view[0] = T.int8(1)  # 3
            T.evaluate(a[0])  # 4

    assert spans(Mod) == {"index": [(0, 4)], "a": [(3, 5)]}


def test_a_view_of_a_view_whose_offset_is_loaded():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            index = T.alloc_buffer((1,), "int32")
            index[0] = 1  # 0
            a = T.alloc_buffer((16,), "int8")
            first = T.decl_buffer((8,), "int8", data=a.data, elem_offset=index[0])  # 1
            second = T.decl_buffer((4,), "int8", data=first.data)  # 2
            T.evaluate(second[0])  # 3

    assert spans(Mod) == {"index": [(0, 4)], "a": [(3, 4)]}


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
    assert spans(Mod) == {"a": [(0, end)], "b": [(0, end)]}
