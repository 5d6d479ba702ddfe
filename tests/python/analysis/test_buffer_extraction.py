"""What is known of each buffer, of inputs and outputs, and of constants."""

from tvm.script import ir as I
from tvm.script import tirx as T

from support.buffer_views import DATA, DRAM, SRAM, analyze, buffers, conflicts, live
from usmp.analysis import extract_buffer_info
from usmp.objects import BufferInfoKind


def test_what_is_known_of_a_buffer():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            a = T.alloc_buffer(
                (3, 5), "int16", annotations={"candidate_memory_pools": [DRAM, SRAM]}
            )
            a[0, 0] = T.int16(1)
            a[0, 1] = T.int16(1)

    ((info, stmt),) = extract_buffer_info(Mod["__tvm_main__"], Mod).buffer_info_stmts.items()
    assert info.name_hint == "a"
    assert info.size_bytes == 30
    assert [pool.pool_name for pool in info.pool_candidates] == ["dram", "sram"]
    assert info.alignment == 16
    assert [(span.start, span.stop) for span in info.live_ranges] == [(0, 2)]
    assert info.kind == BufferInfoKind.INTERMEDIATE
    assert list(info.conflicts) == []
    assert stmt.same_as(Mod["__tvm_main__"].body.seq[0])


def test_buffers_are_in_program_order():
    @I.ir_module
    class Mod:
        @T.prim_func
        def op(A: T.Buffer((4,), "int8")):
            f = T.alloc_buffer((4,), "int8")
            f[0] = T.int8(1)
            e = T.alloc_buffer((4,), "int8")
            e[0] = T.int8(1)

        @T.prim_func
        def __tvm_main__():
            d = T.alloc_buffer((4,), "int8")
            c = T.alloc_buffer((4,), "int8")
            Mod.op(c)
            b = T.alloc_buffer((4,), "int8")
            Mod.op(d)
            a = T.alloc_buffer((4,), "int8")
            Mod.op(b)
            Mod.op(a)

    assert list(buffers(Mod)) == ["d", "c", "f", "e", "b", "a"]


# ---- inputs and outputs


def test_inputs_live_from_entry_and_outputs_to_exit():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            x0 = T.alloc_buffer((4,), "int8", annotations={"input_tensor": "first in"})
            x1 = T.alloc_buffer((4,), "int8", annotations={"input_tensor": "second in"})
            y0 = T.alloc_buffer((4,), "int8", annotations={"output_tensor": "first out"})
            y1 = T.alloc_buffer((4,), "int8", annotations={"output_tensor": "second out"})
            y0[0] = x0[0]  # 0
            y1[0] = x1[0]  # 1
            y1[1] = T.int8(1)  # 2

    assert live(Mod) == {
        "first in": [(0, 1)],
        "second in": [(0, 2)],
        "first out": [(0, 3)],
        "second out": [(1, 3)],
    }
    assert conflicts(Mod) == {
        "first in": {"second in", "first out"},
        "second in": {"first in", "first out", "second out"},
        "first out": {"first in", "second in", "second out"},
        "second out": {"second in", "first out"},
    }
    assert {name: info.kind for name, info in buffers(Mod).items()} == {
        "first in": BufferInfoKind.INPUT,
        "second in": BufferInfoKind.INPUT,
        "first out": BufferInfoKind.OUTPUT,
        "second out": BufferInfoKind.OUTPUT,
    }


def test_inputs_that_nothing_reads_and_outputs_that_nothing_writes():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            x = T.alloc_buffer((4,), "int8", annotations={"input_tensor": "x"})  # noqa: F841
            y = T.alloc_buffer((4,), "int8", annotations={"output_tensor": "y"})  # noqa: F841
            a = T.alloc_buffer((4,), "int8")
            a[0] = T.int8(1)  # 0
            a[1] = T.int8(1)  # 1
            a[2] = T.int8(1)  # 2

    assert live(Mod) == {"x": [(0, 1)], "y": [(0, 3)], "a": [(0, 3)]}


def test_a_program_that_does_nothing():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            x = T.alloc_buffer((4,), "int8", annotations={"input_tensor": "x"})  # noqa: F841
            y = T.alloc_buffer((4,), "int8", annotations={"output_tensor": "y"})  # noqa: F841

    assert live(Mod) == {"x": [(0, 1)], "y": [(0, 1)]}
    assert conflicts(Mod) == {"x": {"y"}, "y": {"x"}}


# ---- constants


def test_constants_live_always_and_conflict_with_each_other_only():
    @I.ir_module
    class Mod:
        @T.prim_func
        def op(A: T.Buffer((4,), "int8")):
            inner = T.alloc_buffer((4,), "int8", annotations={"constant_data": DATA})
            A[0] = inner[0]  # 0

        @T.prim_func
        def __tvm_main__():
            outer = T.alloc_buffer((4,), "int8", annotations={"constant_data": DATA})
            unused = T.alloc_buffer((4,), "int8", annotations={"constant_data": DATA})  # noqa: F841
            a = T.alloc_buffer((4,), "int8")
            a[0] = outer[0]  # 0
            a[1] = outer[1]  # 1
            Mod.op(a)  # 2

    assert live(Mod) == {
        "outer": [(0, 3)],
        "unused": [(0, 3)],
        "a": [(0, 3)],
        "inner": [(0, 3)],
    }
    assert conflicts(Mod) == {
        "outer": {"unused", "inner"},
        "unused": {"outer", "inner"},
        "a": set(),
        "inner": {"outer", "unused"},
    }


def test_constants_are_no_memory_pressure():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            constant = T.alloc_buffer((4,), "int8", annotations={"constant_data": DATA})
            a = T.alloc_buffer((7,), "int8")
            a[0] = constant[0]

    assert analyze(Mod).memory_pressure == 7


def test_constants_are_planned_in_parallel_loops_too():
    @I.ir_module
    class Mod:
        @T.prim_func
        def op(A: T.Buffer((4,), "int8")):
            called = T.alloc_buffer((4,), "int8", annotations={"constant_data": DATA})
            A[0] = called[0]

        @T.prim_func
        def __tvm_main__():
            a = T.alloc_buffer((4,), "int8")
            for i in T.parallel(4):
                inside = T.alloc_buffer((4,), "int8", annotations={"constant_data": DATA})
                a[i] = inside[i]
                Mod.op(a)

    assert conflicts(Mod) == {"a": set(), "inside": {"called"}, "called": {"inside"}}
