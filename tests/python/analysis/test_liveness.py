import pytest
import tvm
from tvm.script import ir as I
from tvm.script import tirx as T
from usmp.analysis.liveness import analyse_liveness, merge_spans

# Positions are written beside the statements that take them.


def spans(mod):
    """The spans of each allocation, by name."""
    allocations = analyse_liveness("main", mod).allocations
    assert len({stmt.buffer.name for stmt in allocations}) == len(allocations)
    return {stmt.buffer.name: live for stmt, live in allocations.items()}


def unplannable(mod):
    return {stmt.buffer.name for stmt in analyse_liveness("main", mod).unplannable}


def parameters(mod):
    return analyse_liveness("main", mod).parameters


# ---- statements


def test_from_the_first_access_to_the_last():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            a = T.alloc_buffer((4,), "int8")
            b = T.alloc_buffer((4,), "int8")
            a[0] = T.int8(1)  # 0
            a[1] = T.int8(1)  # 1
            b[0] = a[1]  # 2
            b[1] = T.int8(1)  # 3

    assert spans(Mod) == {"a": [(0, 3)], "b": [(2, 4)]}


def test_never_accessed():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            a = T.alloc_buffer((4,), "int8")  # noqa: F841
            T.evaluate(1)

    assert spans(Mod) == {"a": []}


def test_an_index_that_is_loaded():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            a = T.alloc_buffer((4,), "int8")
            index = T.alloc_buffer((4,), "int32")
            index[0] = 1  # 0
            a[0] = T.int8(1)  # 1
            a[index[0]] = T.int8(1)  # 2

    assert spans(Mod) == {"a": [(1, 3)], "index": [(0, 3)]}


def test_branches_follow_each_other():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main(n: T.int32):
            a = T.alloc_buffer((4,), "int8")
            if n > 0:  # 0
                b = T.alloc_buffer((4,), "int8")
                b[0] = T.int8(1)  # 1
                a[0] = b[0]  # 2
            else:
                c = T.alloc_buffer((4,), "int8")
                c[0] = T.int8(1)  # 3
                a[0] = c[0]  # 4

    assert spans(Mod) == {"a": [(2, 5)], "b": [(1, 3)], "c": [(3, 5)]}


def test_branch_without_else():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main(n: T.int32):
            a = T.alloc_buffer((4,), "int8")
            a[0] = T.int8(1)  # 0
            if n > 0:  # 1
                a[1] = T.int8(1)  # 2

    assert spans(Mod) == {"a": [(0, 3)]}


def test_condition_of_a_branch():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            a = T.alloc_buffer((4,), "int8")
            a[0] = T.int8(1)  # 0
            if a[0] > T.int8(0):  # 1
                T.evaluate(1)  # 2

    assert spans(Mod) == {"a": [(0, 2)]}


def test_condition_of_an_assertion():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            a = T.alloc_buffer((4,), "int8")
            a[0] = T.int8(1)  # 0
            assert a[0] > T.int8(0), "positive"  # 1

    assert spans(Mod) == {"a": [(0, 2)]}


def test_attributes_are_transparent():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            a = T.alloc_buffer((4,), "int8")
            with T.attr(0, "pragma_scope", 1):  # 0
                a[0] = T.int8(1)  # 1

    assert spans(Mod) == {"a": [(1, 2)]}


def test_an_early_return_leaves_what_follows_in_place():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main(n: T.int32) -> T.int32:
            a = T.alloc_buffer((4,), "int8")
            a[0] = T.int8(1)  # 0
            if n > 0:  # 1
                return 1  # 2
            a[1] = T.int8(1)  # 3
            return 0  # 4

    assert spans(Mod) == {"a": [(0, 4)]}


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

    assert spans(Mod) == {"a": [(0, 4)], "b": [(0, 5)]}


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

    assert spans(Mod) == {"a": [(1, 3)], "b": [(3, 4)]}


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

    assert spans(Mod) == {"carried": [(0, 4)], "later": [(3, 4)]}


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

    assert spans(Mod) == {"carried": [(1, 4)], "first": [(2, 4)], "later": [(4, 5)]}


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

    assert spans(Mod) == {"carried": [(1, 5)], "count": [(0, 5)], "later": [(3, 4)]}


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

    assert spans(Mod) == {"limit": [(0, 3)], "later": [(2, 3)]}


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

    assert spans(Mod) == {"bound": [(0, 3)], "later": [(2, 3)]}


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

    assert spans(Mod) == {"step": [(0, 3)], "later": [(2, 3)]}


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

    assert spans(Mod) == {"a": [(0, analyse_liveness("main", Mod).length)]}


# ---- calls


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

    assert spans(Mod) == {"x": [(0, 3)], "y": [(3, 6)], "scratch": [(1, 4)]}


def test_buffer_parameters():
    @I.ir_module
    class Mod:
        @T.prim_func
        def op(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")):
            A[0] = T.int8(1)  # 0
            B[0] = T.int8(1)  # 1

        @T.prim_func
        def main():
            x = T.alloc_buffer((4,), "int8")
            y = T.alloc_buffer((4,), "int8")
            Mod.op(x, y)

    assert spans(Mod) == {"x": [(0, 1)], "y": [(1, 2)]}


def test_a_parameter_that_the_callee_ignores_is_not_accessed():
    @I.ir_module
    class Mod:
        @T.prim_func
        def op(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")):
            A[0] = T.int8(1)

        @T.prim_func
        def main():
            x = T.alloc_buffer((4,), "int8")
            y = T.alloc_buffer((4,), "int8")
            Mod.op(x, y)

    assert spans(Mod) == {"x": [(0, 1)], "y": []}


def test_one_buffer_passed_twice():
    @I.ir_module
    class Mod:
        @T.prim_func
        def op(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")):
            A[0] = T.int8(1)  # 0
            T.evaluate(1)  # 1
            B[0] = T.int8(1)  # 2

        @T.prim_func
        def main():
            x = T.alloc_buffer((4,), "int8")
            Mod.op(x, x)

    assert spans(Mod) == {"x": [(0, 3)]}


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

    assert spans(Mod) == {"x": [(4, 6)], "shallow": [(1, 6)], "deep": [(3, 5)]}


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

    assert spans(Mod) == {"x": [(1, 3)], "y": [(4, 5)], "scratch": [(0, 2), (3, 5)]}


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

    assert spans(Mod) == {"carried": [(0, 4)], "later": [(3, 4)], "scratch": [(1, 3)]}


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

    assert spans(Mod) == {"carried": [(0, 3)], "later": [(2, 3)]}


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

    assert spans(Mod) == {"x": [(0, 4)], "later": [(3, 4)]}


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

    assert spans(Mod) == {"x": [], "y": [(0, 1)]}


@pytest.mark.parametrize("call", [T.call_extern, T.call_pure_extern])
def test_an_extern_call_that_names_a_prim_func_is_followed(call):
    @I.ir_module
    class Mod:
        @T.prim_func
        def op(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")):
            A[0] = T.int8(1)  # 0
            B[0] = T.int8(1)  # 1

        @T.prim_func
        def main():
            x = T.alloc_buffer((4,), "int8")
            y = T.alloc_buffer((4,), "int8")
            T.evaluate(call("int32", "op", x.data, y.data))

    assert spans(Mod) == {"x": [(0, 1)], "y": [(1, 2)]}


def test_a_packed_call_that_names_a_prim_func_is_followed():
    @I.ir_module
    class Mod:
        @T.prim_func
        def op(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")):
            A[0] = T.int8(1)  # 0
            B[0] = T.int8(1)  # 1

        @T.prim_func
        def main(handle: T.handle):
            x = T.alloc_buffer((4,), "int8")
            y = T.alloc_buffer((4,), "int8")
            T.evaluate(T.tvm_call_cpacked("op", x.data, y.data, handle))

    assert spans(Mod) == {"x": [(0, 1)], "y": [(1, 2)]}
    assert parameters(Mod) == {0: (0, 2)}


def test_a_name_means_a_global_symbol_before_a_global_var():
    @I.ir_module
    class Mod:
        @T.prim_func
        def op(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")):
            T.func_attr({"global_symbol": "kernel"})
            A[0] = T.int8(1)

        @T.prim_func
        def kernel(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")):
            T.func_attr({"global_symbol": "other"})
            B[0] = T.int8(1)

        @T.prim_func
        def main():
            x = T.alloc_buffer((4,), "int8")
            y = T.alloc_buffer((4,), "int8")
            T.evaluate(T.call_extern("int32", "kernel", x.data, y.data))

    assert spans(Mod) == {"x": [(0, 1)], "y": []}


def test_an_unknown_extern_call_accesses_its_arguments_once():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            x = T.alloc_buffer((4,), "int8")
            y = T.alloc_buffer((4,), "int8")
            T.evaluate(T.call_extern("int32", "unknown", x.data))  # 0
            T.evaluate(T.call_extern("int32", "unknown", x.data, y.data))  # 1
            T.evaluate(T.call_extern("int32", "unknown", y.data))  # 2

    assert spans(Mod) == {"x": [(0, 2)], "y": [(1, 3)]}


# ---- calls inside larger expressions: C leaves the order of evaluation open


def test_what_stands_beside_a_call_lives_through_it():
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
            y[0] = T.int8(1)  # 0
            z[0] = y[0] + Mod.op(x)  # 1, call 2 and 3, 4

    assert spans(Mod) == {"x": [(1, 5)], "y": [(0, 5)], "z": [(1, 5)], "scratch": [(2, 4)]}


def test_two_calls_in_one_expression():
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
            T.evaluate(Mod.op(x) + Mod.op(y))  # 0, calls 1 to 4, 5

    assert spans(Mod) == {"x": [(0, 6)], "y": [(0, 6)], "scratch": [(1, 3), (3, 5)]}


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

    assert spans(Mod) == {"x": [(0, 1)], "y": [(1, 2)]}


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

    assert spans(Mod) == {"x": [(2, 3)], "y": [(0, 2)]}


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

    assert spans(Mod) == {"x": [(5, 6)], "y": [(0, 5)], "z": [(1, 5)], "scratch": [(2, 4)]}


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

    length = analyse_liveness("main", Mod).length
    assert spans(Mod)["x"] == [(0, length)]


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


# ---- several iterations at once


@pytest.mark.parametrize("loop", [T.parallel, T.vectorized])
def test_iterations_that_run_at_once_each_hold_a_buffer(loop):
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
    assert spans(Mod)["outside"] == [(0, 3)]


@pytest.mark.parametrize("loop", [T.serial, T.unroll])
def test_iterations_that_run_in_turn_hold_one_buffer(loop):
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            for i in loop(4):
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


# ---- errors


def test_recursion_is_refused():
    @I.ir_module
    class Mod:
        @T.prim_func
        def even(n: T.int32):
            Mod.odd(n - 1)

        @T.prim_func
        def odd(n: T.int32):
            Mod.even(n - 1)

        @T.prim_func
        def main():
            Mod.even(4)

    with pytest.raises(ValueError) as error:
        analyse_liveness("main", Mod)
    assert str(error.value) == "recursion cannot be planned statically: even -> odd -> even"


def test_blocks_are_refused():
    @I.ir_module
    class Mod:
        @T.prim_func(s_tir=True)
        def main(A: T.Buffer((4,), "int8")):
            with T.sblock("block"):
                A[0] = T.int8(1)

    with pytest.raises(ValueError, match=r"^main: SBlockRealize found; lower the PrimFunc to flat"):
        analyse_liveness("main", Mod)


@pytest.mark.parametrize(
    ("given", "merged"),
    [
        ([], []),
        ([(4, 6), (0, 2)], [(0, 2), (4, 6)]),
        ([(0, 2), (2, 4)], [(0, 4)]),
        ([(0, 6), (2, 4), (5, 7)], [(0, 7)]),
    ],
)
def test_merge_spans(given, merged):
    assert merge_spans(given) == merged


def test_ir_is_not_changed():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main(n: T.int32):
            a = T.alloc_buffer((4,), "int8")
            a[0] = T.int8(1)

    before = tvm.ir.load_json(tvm.ir.save_json(Mod))
    analyse_liveness("main", Mod)
    tvm.ir.assert_structural_equal(Mod, before)
