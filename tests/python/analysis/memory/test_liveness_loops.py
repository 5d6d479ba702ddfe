"""Live ranges in loops. Positions stand beside the statements that take them."""

import pytest
from tvm.script import ir as I
from tvm.script import tirx as T

from support.liveness_views import ranges, unplannable
from usmp.analysis.memory.facts import analyze_liveness

# ---- loops


def test_accessed_in_a_loop_lives_through_the_loop():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main(n: T.int32):
            a = T.alloc_buffer((4,), "int8")
            b = T.alloc_buffer((4,), "int8")
            for i in range(4):  # 0
                b[0] = T.int8(1)  # 1
                a[i] = T.int8(1)  # 2
                T.evaluate(n)  # 3
            b[1] = T.int8(1)  # 4

    assert ranges(Mod) == {"a": [(0, 4)], "b": [(0, 5)]}


def test_allocated_in_a_loop_lives_in_one_iteration():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            for i in range(4):  # 0
                a = T.alloc_buffer((4,), "int8")
                b = T.alloc_buffer((4,), "int8")
                a[i] = T.int8(1)  # 1
                a[i] = T.int8(2)  # 2
                b[i] = T.int8(1)  # 3

    assert ranges(Mod) == {"a": [(1, 3)], "b": [(3, 4)]}


def test_an_inner_loop_carries_values_through_the_outer_loop():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            carried = T.alloc_buffer((4,), "int8")
            for _i in range(4):  # 0
                for j in range(4):  # 1
                    carried[j] = carried[j] + T.int8(1)  # 2
                later = T.alloc_buffer((4,), "int8")
                later[0] = T.int8(1)  # 3

    assert ranges(Mod) == {"carried": [(0, 4)], "later": [(3, 4)]}


def test_allocated_in_the_outer_loop_is_carried_by_the_inner_loop_only():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            for _i in range(4):  # 0
                carried = T.alloc_buffer((4,), "int8")
                for j in range(4):  # 1
                    first = T.alloc_buffer((4,), "int8")
                    first[0] = T.int8(1)  # 2
                    carried[j] = first[0]  # 3
                later = T.alloc_buffer((4,), "int8")
                later[0] = T.int8(1)  # 4

    assert ranges(Mod) == {"carried": [(1, 4)], "first": [(2, 4)], "later": [(4, 5)]}


def test_a_while_loop_carries_values():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            carried = T.alloc_buffer((4,), "int8")
            count = T.alloc_buffer((1,), "int32")
            count[0] = 0  # 0
            while count[0] < 4:  # 1
                carried[0] = carried[0] + T.int8(1)  # 2
                later = T.alloc_buffer((4,), "int8")
                later[0] = T.int8(1)  # 3
                count[0] = count[0] + 1  # 4

    assert ranges(Mod) == {"carried": [(1, 5)], "count": [(0, 5)], "later": [(3, 4)]}


def test_the_condition_of_a_while_loop_is_evaluated_after_the_body_too():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main(n: T.int32):
            limit = T.alloc_buffer((1,), "int32")
            limit[0] = 4  # 0
            while n < limit[0]:  # 1
                later = T.alloc_buffer((4,), "int8")
                later[0] = T.int8(1)  # 2

    assert ranges(Mod) == {"limit": [(0, 3)], "later": [(2, 3)]}


def test_loop_bounds_are_evaluated_before_every_iteration():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            bound = T.alloc_buffer((1,), "int32")
            bound[0] = 4  # 0
            for _i in range(bound[0]):  # 1
                later = T.alloc_buffer((4,), "int8")
                later[0] = T.int8(1)  # 2

    assert ranges(Mod) == {"bound": [(0, 3)], "later": [(2, 3)]}


def test_a_loop_step_is_evaluated_before_every_iteration():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            step = T.alloc_buffer((1,), "int32")
            step[0] = 2  # 0
            for _i in T.serial(0, 8, step=step[0]):  # 1
                later = T.alloc_buffer((4,), "int8")
                later[0] = T.int8(1)  # 2

    assert ranges(Mod) == {"step": [(0, 3)], "later": [(2, 3)]}


def test_break_and_continue_do_not_shorten_a_loop():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main(n: T.int32):
            a = T.alloc_buffer((4,), "int8")
            for i in range(4):  # 0
                if i < n:  # 1
                    T.continue_loop()
                a[0] = T.int8(1)
                T.break_loop()
                T.evaluate(n)

    assert ranges(Mod) == {"a": [(0, analyze_liveness("main", Mod).length)]}


# ---- several iterations at once


@pytest.mark.parametrize("loop", [T.parallel, T.vectorized, T.unroll])
def test_iterations_that_run_at_once_each_hold_a_buffer(loop):
    """Unrolled iterations may be interleaved by whatever unrolls them."""

    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            outside = T.alloc_buffer((4,), "int8")
            for i in loop(4):  # 0
                inside = T.alloc_buffer((4,), "int8")
                inside[0] = T.int8(1)  # 1
                outside[i] = inside[0]  # 2

    assert unplannable(Mod) == {"inside"}
    assert ranges(Mod)["outside"] == [(0, 3)]


def test_iterations_that_run_in_turn_hold_one_buffer():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            for i in range(4):
                inside = T.alloc_buffer((4,), "int8")
                inside[i] = T.int8(1)

    assert unplannable(Mod) == set()


def test_threads():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            for i in T.thread_binding(4, thread="threadIdx.x"):
                bound = T.alloc_buffer((4,), "int8")
                bound[i] = T.int8(1)
            launched = T.launch_thread("blockIdx.x", 4)
            inside = T.alloc_buffer((4,), "int8")
            inside[launched] = T.int8(1)

    assert unplannable(Mod) == {"bound", "inside"}


def test_a_region_that_every_worker_runs():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            with T.attr(T.int32(0), "pragma_parallel_launch_point", 1):
                inside = T.alloc_buffer((4,), "int8")
                for i in T.parallel(4):
                    inside[i] = T.int8(1)

    assert unplannable(Mod) == {"inside"}


def test_a_serial_loop_inside_a_parallel_loop():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            for _i in T.parallel(4):
                for j in range(4):
                    inside = T.alloc_buffer((4,), "int8")
                    inside[j] = T.int8(1)

    assert unplannable(Mod) == {"inside"}


def test_calls_in_a_parallel_loop():
    @I.ir_module
    class Mod:
        @T.prim_func
        def inner(A: T.Buffer((4,), "int8")):
            deep = T.alloc_buffer((4,), "int8")
            deep[0] = T.int8(1)
            A[0] = deep[0]

        @T.prim_func
        def outer(A: T.Buffer((4,), "int8")):
            shallow = T.alloc_buffer((4,), "int8")
            Mod.inner(shallow)
            A[0] = shallow[0]

        @T.prim_func
        def main():
            x = T.alloc_buffer((4,), "int8")
            for _i in T.parallel(4):
                Mod.outer(x)

    assert unplannable(Mod) == {"deep", "shallow"}


def test_a_parallel_loop_in_the_callee():
    @I.ir_module
    class Mod:
        @T.prim_func
        def op(A: T.Buffer((4,), "int8")):
            for i in T.parallel(4):
                inside = T.alloc_buffer((4,), "int8")
                inside[0] = T.int8(1)
                A[i] = inside[0]

        @T.prim_func
        def main():
            x = T.alloc_buffer((4,), "int8")
            Mod.op(x)

    assert unplannable(Mod) == {"inside"}


def test_called_in_turn_and_at_once():
    @I.ir_module
    class Mod:
        @T.prim_func
        def op(A: T.Buffer((4,), "int8")):
            scratch = T.alloc_buffer((4,), "int8")
            scratch[0] = T.int8(1)
            A[0] = scratch[0]

        @T.prim_func
        def main():
            x = T.alloc_buffer((4,), "int8")
            Mod.op(x)
            for _i in T.parallel(4):
                Mod.op(x)

    assert unplannable(Mod) == {"scratch"}
