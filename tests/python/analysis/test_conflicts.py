"""Which buffers conflict, exactly, and the memory pressure."""

from tvm.script import ir as I
from tvm.script import tirx as T

from support.buffer_views import analyze, conflicts, live

# ---- conflicts


def test_a_chain():
    @I.ir_module
    class Mod:
        @T.prim_func
        def op(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")):
            for i in range(4):
                B[i] = A[i]

        @T.prim_func
        def __tvm_main__(x: T.handle("int8"), y: T.handle("int8")):
            a = T.alloc_buffer((4,), "int8")
            b = T.alloc_buffer((4,), "int8")
            c = T.alloc_buffer((4,), "int8")
            Mod.op(x, a)
            Mod.op(a, b)
            Mod.op(b, c)
            Mod.op(c, y)

    assert conflicts(Mod) == {"a": {"b"}, "b": {"a", "c"}, "c": {"b"}}


def test_one_ends_where_the_other_begins():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            a = T.alloc_buffer((4,), "int8")
            b = T.alloc_buffer((4,), "int8")
            a[0] = T.int8(1)
            b[0] = T.int8(1)

    assert live(Mod) == {"a": [(0, 1)], "b": [(1, 2)]}
    assert conflicts(Mod) == {"a": set(), "b": set()}


def test_read_and_written_by_one_statement():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            a = T.alloc_buffer((4,), "int8")
            b = T.alloc_buffer((4,), "int8")
            b[0] = a[0]

    assert conflicts(Mod) == {"a": {"b"}, "b": {"a"}}


def test_never_accessed():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            a = T.alloc_buffer((4,), "int8")  # noqa: F841
            b = T.alloc_buffer((4,), "int8")
            b[0] = T.int8(1)

    assert live(Mod) == {"a": [], "b": [(0, 1)]}
    assert conflicts(Mod) == {"a": set(), "b": set()}


def test_scratch_of_different_operators():
    @I.ir_module
    class Mod:
        @T.prim_func
        def first(A: T.Buffer((4,), "int8")):
            p = T.alloc_buffer((4,), "int8")
            p[0] = T.int8(1)
            A[0] = p[0]

        @T.prim_func
        def second(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")):
            q = T.alloc_buffer((4,), "int8")
            q[0] = A[0]
            B[0] = q[0]

        @T.prim_func
        def __tvm_main__(y: T.handle("int8")):
            a = T.alloc_buffer((4,), "int8")
            b = T.alloc_buffer((4,), "int8")
            Mod.first(a)
            Mod.second(a, b)
            Mod.second(b, y)

    assert conflicts(Mod) == {
        "a": {"p", "q"},
        "b": {"q"},
        "p": {"a"},
        "q": {"a", "b"},
    }


def test_a_function_called_twice_conflicts_with_what_is_live_at_either_call():
    @I.ir_module
    class Mod:
        @T.prim_func
        def op(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")):
            scratch = T.alloc_buffer((4,), "int8")
            scratch[0] = A[0]
            B[0] = scratch[0]

        @T.prim_func
        def __tvm_main__():
            before = T.alloc_buffer((4,), "int8")
            between = T.alloc_buffer((4,), "int8")
            after = T.alloc_buffer((4,), "int8")
            Mod.op(before, before)  # 0, 1
            between[0] = T.int8(1)  # 2
            Mod.op(after, after)  # 3, 4

    assert live(Mod) == {
        "before": [(0, 2)],
        "between": [(2, 3)],
        "after": [(3, 5)],
        "scratch": [(0, 2), (3, 5)],
    }
    assert conflicts(Mod) == {
        "before": {"scratch"},
        "between": set(),
        "after": {"scratch"},
        "scratch": {"before", "after"},
    }


def test_live_ranges_that_touch_are_one():
    @I.ir_module
    class Mod:
        @T.prim_func
        def op(A: T.Buffer((4,), "int8")):
            scratch = T.alloc_buffer((4,), "int8")
            scratch[0] = A[0]
            scratch[1] = A[1]

        @T.prim_func
        def __tvm_main__():
            a = T.alloc_buffer((4,), "int8")
            Mod.op(a)
            Mod.op(a)

    assert live(Mod) == {"a": [(0, 4)], "scratch": [(0, 4)]}


def test_carried_by_an_inner_loop():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            carried = T.alloc_buffer((4,), "int8")
            for _i in range(4):
                for j in range(4):
                    carried[j] = carried[j] + T.int8(1)
                later = T.alloc_buffer((4,), "int8")
                later[0] = T.int8(1)

    assert conflicts(Mod) == {"carried": {"later"}, "later": {"carried"}}


def test_carried_by_a_while_loop():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__(n: T.int32):
            carried = T.alloc_buffer((4,), "int8")
            while n > 0:
                earlier = T.alloc_buffer((4,), "int8")
                earlier[0] = T.int8(1)
                carried[0] = carried[0] + T.int8(1)
                later = T.alloc_buffer((4,), "int8")
                later[0] = T.int8(1)

    assert conflicts(Mod) == {
        "carried": {"earlier", "later"},
        "earlier": {"carried"},
        "later": {"carried"},
    }


def test_carried_by_calls_in_a_loop_of_main():
    @I.ir_module
    class Mod:
        @T.prim_func
        def op(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")):
            for i in range(4):
                B[i] = A[i]

        @T.prim_func
        def __tvm_main__():
            a = T.alloc_buffer((4,), "int8")
            b = T.alloc_buffer((4,), "int8")
            c = T.alloc_buffer((4,), "int8")
            for _i in range(4):
                Mod.op(a, b)
                Mod.op(b, a)
                Mod.op(c, c)

    assert conflicts(Mod) == {"a": {"b", "c"}, "b": {"a", "c"}, "c": {"a", "b"}}


def test_disjoint_temporaries_of_one_loop_body():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__(x: T.handle("int8")):
            X = T.decl_buffer((4,), "int8", data=x)
            for i in range(4):
                first = T.alloc_buffer((4,), "int8")
                for j in range(4):
                    first[j] = X[j]
                X[i] = first[0]
                second = T.alloc_buffer((4,), "int8")
                for j in range(4):
                    second[j] = X[j]
                X[i] = second[0]

    assert conflicts(Mod) == {"first": set(), "second": set()}


def test_temporaries_of_the_two_branches():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__(n: T.int32):
            both = T.alloc_buffer((4,), "int8")
            if n > 0:
                yes = T.alloc_buffer((4,), "int8")
                yes[0] = T.int8(1)
                both[0] = yes[0]
            else:
                no = T.alloc_buffer((4,), "int8")
                no[0] = T.int8(1)
                both[0] = no[0]

    assert conflicts(Mod) == {"both": {"yes", "no"}, "yes": {"both"}, "no": {"both"}}


def test_an_escaped_pointer_conflicts_with_everything():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__(struct: T.handle):
            before = T.alloc_buffer((4,), "int8")
            kept = T.alloc_buffer((4,), "int8")
            after = T.alloc_buffer((4,), "int8")
            before[0] = T.int8(1)
            T.evaluate(T.tvm_struct_set(struct, 0, 1, kept.data))
            after[0] = T.int8(1)

    assert conflicts(Mod) == {"before": {"kept"}, "kept": {"before", "after"}, "after": {"kept"}}


# ---- memory pressure


def test_memory_pressure_is_the_most_that_is_live_at_once():
    @I.ir_module
    class Mod:
        @T.prim_func
        def op(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")):
            scratch = T.alloc_buffer((1000,), "int8")
            scratch[0] = A[0]
            B[0] = scratch[0]

        @T.prim_func
        def __tvm_main__():
            a = T.alloc_buffer((100,), "int8")
            b = T.alloc_buffer((20,), "int8")
            c = T.alloc_buffer((3,), "int8")
            a[0] = T.int8(1)  # 100
            Mod.op(a, b)  # 100 + 1000, then 1000 + 20
            Mod.op(b, c)  # 20 + 1000, then 1000 + 3

    options = {"workspace-byte-alignment": 1}
    assert analyze(Mod, options).memory_pressure == 1100
    # scratch at 0, a at 1008; or a at 0, scratch at 112
    assert analyze(Mod).memory_pressure == 1108


def test_memory_pressure_of_nothing():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            T.evaluate(1)

    assert analyze(Mod).memory_pressure == 0
