import numpy as np
import pytest
import tvm
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T
from usmp.analysis import extract_buffer_info
from usmp.objects import BufferInfoKind, ConstantPoolInfo, Executor, WorkspacePoolInfo
from usmp.objects.attributes import EXECUTOR_ATTR
from usmp.transform import AssignPoolInfo

TARGET = tvm.target.Target("c")
DATA = tvm.runtime.tensor(np.arange(4, dtype="int8"))
SRAM = WorkspacePoolInfo("sram", [TARGET])
DRAM = WorkspacePoolInfo("dram", [TARGET])
FLASH = ConstantPoolInfo("flash", [TARGET])


def analyse(mod, options=None):
    if options:
        mod = mod.with_attr(EXECUTOR_ATTR, Executor("aot", options))
    mod = AssignPoolInfo()(tirx.transform.BindTarget(TARGET)(mod))
    return extract_buffer_info(mod["__tvm_main__"], mod)


def buffers(mod, options=None):
    found = {info.name_hint: info for info in analyse(mod, options).buffer_info_stmts}
    assert len(found) == len(analyse(mod, options).buffer_info_stmts)
    return found


def conflicts(mod):
    return {
        name: {other.name_hint for other in info.conflicts} for name, info in buffers(mod).items()
    }


def live(mod):
    return {
        name: [(span.start, span.stop) for span in info.live_ranges]
        for name, info in buffers(mod).items()
    }


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

    assert analyse(Mod).memory_pressure == 7


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


# ---- what is planned


def test_only_static_global_memory_is_planned():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__(n: T.int32):
            dynamic = T.alloc_buffer((n,), "int8")
            register = T.alloc_buffer((4,), "int8", scope="local")
            shared = T.alloc_buffer((4,), "int8", scope="shared")
            workspace = T.alloc_buffer((4,), "int8", scope="global.workspace")
            plain = T.alloc_buffer((4,), "int8")
            dynamic[0] = T.int8(1)
            register[0] = T.int8(1)
            shared[0] = T.int8(1)
            workspace[0] = T.int8(1)
            plain[0] = T.int8(1)

    assert set(buffers(Mod)) == {"workspace", "plain"}


def test_what_parallel_iterations_hold_is_not_planned():
    @I.ir_module
    class Mod:
        @T.prim_func
        def op(A: T.Buffer((4,), "int8")):
            called = T.alloc_buffer((4,), "int8")
            called[0] = T.int8(1)
            A[0] = called[0]

        @T.prim_func
        def __tvm_main__():
            outside = T.alloc_buffer((4,), "int8")
            for i in T.parallel(4):
                inside = T.alloc_buffer((4,), "int8")
                inside[0] = T.int8(1)
                for j in range(4):
                    deeper = T.alloc_buffer((4,), "int8")
                    deeper[j] = inside[0]
                    outside[i] = deeper[j]
                Mod.op(outside)

    assert set(buffers(Mod)) == {"outside"}


def test_functions_that_main_does_not_reach_are_not_planned():
    @I.ir_module
    class Mod:
        @T.prim_func
        def unreached():
            a = T.alloc_buffer((4,), "int8")
            a[0] = T.int8(1)

        @T.prim_func
        def __tvm_main__():
            b = T.alloc_buffer((4,), "int8")
            b[0] = T.int8(1)

    assert set(buffers(Mod)) == {"b"}


def test_sizes():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            empty = T.alloc_buffer((0, 4), "int8")  # noqa: F841
            flags = T.alloc_buffer((5,), "bool")  # noqa: F841
            wide = T.alloc_buffer((3, 5), "float64")  # noqa: F841
            lanes = T.alloc_buffer((3,), "int8x4")  # noqa: F841
            strided = T.alloc_buffer((3, 4), "int16", strides=[10, 2])  # noqa: F841
            T.evaluate(1)

    assert {name: info.size_bytes for name, info in buffers(Mod).items()} == {
        "empty": 0,
        "flags": 5,
        "wide": 120,
        "lanes": 12,
        "strided": (2 * 10 + 3 * 2 + 1) * 2,
    }


def test_alignments():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            byte = T.alloc_buffer((4,), "int8")  # noqa: F841
            double = T.alloc_buffer((4,), "float64")  # noqa: F841
            constant = T.alloc_buffer((4,), "int8", annotations={"constant_data": DATA})  # noqa: F841
            T.evaluate(1)

    def alignments(options):
        return {name: info.alignment for name, info in buffers(Mod, options).items()}

    assert alignments(None) == {"byte": 16, "double": 16, "constant": 16}
    options = {"workspace-byte-alignment": 4, "constant-byte-alignment": 2}
    assert alignments(options) == {"byte": 4, "double": 8, "constant": 2}


def test_names_are_unique():
    first, second, third, taken = (
        tirx.decl_buffer((4,), "int8", name) for name in ("a", "a", "a", "a_1")
    )
    stores = [tirx.BufferStore(b, tirx.const(1, "int8"), [0]) for b in (first, second, third)]
    body = [*(tirx.AllocBuffer(b) for b in (first, taken, second, third)), *stores]
    func = tirx.PrimFunc([], tirx.SeqStmt(body))
    infos = analyse(tvm.IRModule({"__tvm_main__": func})).buffer_info_stmts
    assert [info.name_hint for info in infos] == ["a", "a_1", "a_2", "a_3"]


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

    assert analyse(Mod).memory_pressure == 1100


def test_memory_pressure_of_nothing():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            T.evaluate(1)

    assert analyse(Mod).memory_pressure == 0


# ---- errors


def test_missing_candidate_pools():
    @I.ir_module
    class Mod:
        @T.prim_func
        def op():
            scratch = T.alloc_buffer((4,), "int8")
            scratch[0] = T.int8(1)

        @T.prim_func
        def __tvm_main__():
            Mod.op()

    with pytest.raises(ValueError, match=r"^op: buffer scratch has no candidate pools; apply "):
        extract_buffer_info(Mod["__tvm_main__"], Mod)


def test_a_constant_in_a_workspace_pool():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            a = T.alloc_buffer(
                (4,),
                "int8",
                annotations={"candidate_memory_pools": [FLASH, SRAM], "constant_data": DATA},
            )
            T.evaluate(a[0])

    with pytest.raises(ValueError) as error:
        extract_buffer_info(Mod["__tvm_main__"], Mod)
    assert str(error.value) == (
        "__tvm_main__: buffer a is a constant, so it cannot be placed in the workspace pool sram"
    )


def test_a_variable_in_a_constant_pool():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            a = T.alloc_buffer((4,), "int8", annotations={"candidate_memory_pools": [FLASH]})
            a[0] = T.int8(1)

    with pytest.raises(ValueError) as error:
        extract_buffer_info(Mod["__tvm_main__"], Mod)
    assert str(error.value) == (
        "__tvm_main__: buffer a is not a constant, "
        "so it cannot be placed in the constant pool flash"
    )


def test_a_main_function_of_another_module():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            T.evaluate(1)

    with pytest.raises(ValueError, match=r"^main_func is not a function of the module$"):
        extract_buffer_info(tirx.PrimFunc([], tirx.Evaluate(1)), Mod)


def test_recursion():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            Mod.__tvm_main__()

    with pytest.raises(ValueError, match=r"^recursion cannot be planned statically: "):
        extract_buffer_info(Mod["__tvm_main__"], Mod)
