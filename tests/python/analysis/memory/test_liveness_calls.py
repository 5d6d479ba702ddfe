"""Live ranges across calls. Positions stand beside the statements that take them."""

from tvm.script import ir as I
from tvm.script import tirx as T

from support.liveness_views import ranges
from usmp.analysis.memory.facts import analyze_liveness


def test_a_call_is_numbered_as_if_it_were_inlined():
    @I.ir_module
    class Mod:
        @T.prim_func
        def op(a: T.handle("int8"), b: T.handle("int8")):
            A = T.decl_buffer((4,), "int8", data=a)
            B = T.decl_buffer((4,), "int8", data=b)
            scratch = T.alloc_buffer((4,), "int8")
            scratch[0] = A[0]  # 0
            scratch[1] = A[1]  # 1
            B[0] = scratch[0]  # 2
            B[1] = T.int8(1)  # 3

        @T.prim_func
        def main():
            x = T.alloc_buffer((4,), "int8")
            y = T.alloc_buffer((4,), "int8")
            x[0] = T.int8(1)  # 0
            Mod.op(x.data, y.data)  # 1 to 4
            y[0] = T.int8(1)  # 5

    assert ranges(Mod) == {"x": [(0, 3)], "y": [(3, 6)], "scratch": [(1, 4)]}


def test_parameters_are_accessed_where_the_callee_does():
    @I.ir_module
    class Mod:
        @T.prim_func
        def op(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8"), C: T.Buffer((4,), "int8")):
            A[0] = T.int8(1)  # 0
            T.evaluate(1)  # 1
            B[0] = T.int8(1)  # 2

        @T.prim_func
        def main():
            x = T.alloc_buffer((4,), "int8")
            y = T.alloc_buffer((4,), "int8")
            ignored = T.alloc_buffer((4,), "int8")
            twice = T.alloc_buffer((4,), "int8")
            Mod.op(x, y, ignored)  # 0 to 2
            Mod.op(twice, twice, ignored)  # 3 to 5

    assert ranges(Mod) == {"x": [(0, 1)], "y": [(2, 3)], "ignored": [], "twice": [(3, 6)]}


def test_nested_calls():
    @I.ir_module
    class Mod:
        @T.prim_func
        def inner(A: T.Buffer((4,), "int8")):
            deep = T.alloc_buffer((4,), "int8")
            T.evaluate(1)  # 0
            deep[0] = T.int8(1)  # 1
            A[0] = deep[0]  # 2

        @T.prim_func
        def outer(A: T.Buffer((4,), "int8")):
            shallow = T.alloc_buffer((4,), "int8")
            shallow[0] = T.int8(1)  # 0
            Mod.inner(A)  # 1 to 3
            A[1] = shallow[0]  # 4

        @T.prim_func
        def main():
            x = T.alloc_buffer((4,), "int8")
            T.evaluate(1)  # 0
            Mod.outer(x)  # 1 to 5

    assert ranges(Mod) == {"x": [(4, 6)], "shallow": [(1, 6)], "deep": [(3, 5)]}


def test_a_function_called_twice_has_its_allocations_live_twice():
    @I.ir_module
    class Mod:
        @T.prim_func
        def op(A: T.Buffer((4,), "int8")):
            scratch = T.alloc_buffer((4,), "int8")
            scratch[0] = T.int8(1)  # 0
            A[0] = scratch[0]  # 1

        @T.prim_func
        def main():
            x = T.alloc_buffer((4,), "int8")
            y = T.alloc_buffer((4,), "int8")
            Mod.op(x)  # 0, 1
            x[0] = T.int8(1)  # 2
            Mod.op(y)  # 3, 4

    assert ranges(Mod) == {"x": [(1, 3)], "y": [(4, 5)], "scratch": [(0, 2), (3, 5)]}


def test_a_call_in_a_loop_carries_its_arguments():
    @I.ir_module
    class Mod:
        @T.prim_func
        def op(A: T.Buffer((4,), "int8")):
            scratch = T.alloc_buffer((4,), "int8")
            scratch[0] = T.int8(1)  # 0
            A[0] = scratch[0]  # 1

        @T.prim_func
        def main():
            carried = T.alloc_buffer((4,), "int8")
            for _i in range(4):  # 0
                Mod.op(carried)  # 1, 2
                later = T.alloc_buffer((4,), "int8")
                later[0] = T.int8(1)  # 3

    assert ranges(Mod) == {"carried": [(0, 4)], "later": [(3, 4)], "scratch": [(1, 3)]}


def test_a_call_in_a_while_loop_carries_its_arguments():
    @I.ir_module
    class Mod:
        @T.prim_func
        def op(A: T.Buffer((4,), "int8")):
            A[0] = T.int8(1)

        @T.prim_func
        def main(n: T.int32):
            carried = T.alloc_buffer((4,), "int8")
            while n > 0:  # 0
                Mod.op(carried)  # 1
                later = T.alloc_buffer((4,), "int8")
                later[0] = T.int8(1)  # 2

    assert ranges(Mod) == {"carried": [(0, 3)], "later": [(2, 3)]}


def test_a_loop_in_the_callee_carries_its_parameters():
    @I.ir_module
    class Mod:
        @T.prim_func
        def op(A: T.Buffer((4,), "int8")):
            for _i in range(4):  # 0
                for j in range(4):  # 1
                    A[j] = A[j] + T.int8(1)  # 2
                later = T.alloc_buffer((4,), "int8")
                later[0] = T.int8(1)  # 3

        @T.prim_func
        def main():
            x = T.alloc_buffer((4,), "int8")
            Mod.op(x)

    assert ranges(Mod) == {"x": [(0, 4)], "later": [(3, 4)]}


def test_a_call_of_a_function_that_does_nothing():
    @I.ir_module
    class Mod:
        @T.prim_func
        def op(A: T.Buffer((4,), "int8")):
            B = T.decl_buffer((4,), "int8", data=A.data)  # noqa: F841

        @T.prim_func
        def main(handle: T.handle):
            x = T.alloc_buffer((4,), "int8")
            y = T.alloc_buffer((4,), "int8")
            T.evaluate(T.tvm_call_cpacked("op", x.data, y.data))  # 0

    assert ranges(Mod) == {"x": [], "y": [(0, 1)]}


def test_what_stands_beside_calls_lives_through_them():
    @I.ir_module
    class Mod:
        @T.prim_func
        def op(A: T.Buffer((4,), "int8")) -> T.int8:
            scratch = T.alloc_buffer((4,), "int8")
            scratch[0] = A[0]  # 0
            return scratch[0]  # 1

        @T.prim_func
        def main():
            x = T.alloc_buffer((4,), "int8")
            y = T.alloc_buffer((4,), "int8")
            z = T.alloc_buffer((4,), "int8")
            u = T.alloc_buffer((4,), "int8")
            v = T.alloc_buffer((4,), "int8")
            y[0] = T.int8(1)  # 0
            z[0] = y[0] + Mod.op(x)  # 1, call 2 and 3, 4
            T.evaluate(Mod.op(u) + Mod.op(v))  # 5, calls 6 to 9, 10

    assert ranges(Mod) == {
        **{"x": [(1, 5)], "y": [(0, 5)], "z": [(1, 5)], "u": [(5, 11)], "v": [(5, 11)]},
        "scratch": [(2, 4), (6, 8), (8, 10)],
    }


def test_a_call_whose_result_is_only_converted_stands_alone():
    @I.ir_module
    class Mod:
        @T.prim_func
        def op(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")) -> T.int8:
            A[0] = T.int8(1)  # 0
            return B[0]  # 1

        @T.prim_func
        def main():
            x = T.alloc_buffer((4,), "int8")
            y = T.alloc_buffer((4,), "int8")
            if T.cast(Mod.op(x, y), "int32") > 0:
                T.evaluate(1)

    assert ranges(Mod) == {"x": [(0, 1)], "y": [(1, 2)]}


def test_arguments_are_evaluated_before_the_call():
    @I.ir_module
    class Mod:
        @T.prim_func
        def op(A: T.Buffer((4,), "int8"), n: T.int8):
            A[0] = n

        @T.prim_func
        def main():
            x = T.alloc_buffer((4,), "int8")
            y = T.alloc_buffer((4,), "int8")
            y[0] = T.int8(1)  # 0
            Mod.op(x, y[0])  # 1, call 2

    assert ranges(Mod) == {"x": [(2, 3)], "y": [(0, 2)]}


def test_a_value_loaded_beside_a_call_in_an_argument_lives_through_that_call():
    @I.ir_module
    class Mod:
        @T.prim_func
        def value(A: T.Buffer((4,), "int8")) -> T.int8:
            scratch = T.alloc_buffer((4,), "int8")
            scratch[0] = A[0]  # 0
            return scratch[0]  # 1

        @T.prim_func
        def op(A: T.Buffer((4,), "int8"), m: T.int8, n: T.int8):
            A[0] = m + n

        @T.prim_func
        def main():
            x = T.alloc_buffer((4,), "int8")
            y = T.alloc_buffer((4,), "int8")
            z = T.alloc_buffer((4,), "int8")
            y[0] = T.int8(1)  # 0
            Mod.op(x, y[0], Mod.value(z))  # 1, call of value 2 and 3, 4, call of op 5

    assert ranges(Mod) == {"x": [(5, 6)], "y": [(0, 5)], "z": [(1, 5)], "scratch": [(2, 4)]}


def test_a_value_loaded_in_an_argument_lives_through_a_call_beside_it():
    @I.ir_module
    class Mod:
        @T.prim_func
        def value(n: T.int8) -> T.int8:
            scratch = T.alloc_buffer((4,), "int8")
            scratch[0] = n  # 0
            return scratch[0]  # 1

        @T.prim_func
        def main():
            x = T.alloc_buffer((4,), "int8")
            x[0] = T.int8(1)  # 0
            T.evaluate(Mod.value(T.int8(1)) + Mod.value(x[0]))

    length = analyze_liveness("main", Mod).length
    assert ranges(Mod)["x"] == [(0, length)]
