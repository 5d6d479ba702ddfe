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


def test_what_loops_carry_branches_and_a_pointer_that_is_kept():
    @I.ir_module
    class Mod:
        @T.prim_func
        def op(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")):
            for i in range(4):
                B[i] = A[i]

        @T.prim_func
        def __tvm_main__(struct: T.handle, n: T.int32):
            kept = T.alloc_buffer((4,), "int8")
            carried = T.alloc_buffer((4,), "int8")
            both = T.alloc_buffer((4,), "int8")
            for _i in range(4):
                Mod.op(carried, carried)
                first = T.alloc_buffer((4,), "int8")
                first[0] = T.int8(1)
                second = T.alloc_buffer((4,), "int8")
                second[0] = T.int8(1)
            if n > 0:
                yes = T.alloc_buffer((4,), "int8")
                yes[0] = T.int8(1)
                both[0] = yes[0]
            else:
                no = T.alloc_buffer((4,), "int8")
                no[0] = T.int8(1)
                both[0] = no[0]
            T.evaluate(T.tvm_struct_set(struct, 0, 1, kept.data))

    others = {
        **{"carried": {"first", "second"}, "first": {"carried"}, "second": {"carried"}},
        **{"both": {"yes", "no"}, "yes": {"both"}, "no": {"both"}},
    }
    assert conflicts(Mod) == {
        "kept": set(others),
        **{name: {*found, "kept"} for name, found in others.items()},
    }


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
