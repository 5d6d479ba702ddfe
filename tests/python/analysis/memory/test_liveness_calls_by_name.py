"""A call by name may be of a PrimFunc of the module, or of anything else."""

from tvm.script import ir as I
from tvm.script import tirx as T

from support.liveness_views import parameters, ranges


def test_calls_that_name_a_prim_func_are_followed():
    @I.ir_module
    class Mod:
        @T.prim_func
        def op(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")):
            A[0] = T.int8(1)  # 0
            B[0] = T.int8(1)  # 1

        @T.prim_func
        def main(handle: T.handle):
            a = T.alloc_buffer((4,), "int8")
            b = T.alloc_buffer((4,), "int8")
            c = T.alloc_buffer((4,), "int8")
            d = T.alloc_buffer((4,), "int8")
            e = T.alloc_buffer((4,), "int8")
            f = T.alloc_buffer((4,), "int8")
            g = T.alloc_buffer((4,), "int8")
            h = T.alloc_buffer((4,), "int8")
            T.evaluate(T.call_extern("int32", "op", a.data, b.data))  # 0, 1
            T.evaluate(T.call_pure_extern("int32", "op", c.data, d.data))  # 2, 3
            T.evaluate(T.tvm_call_cpacked("op", e.data, f.data, handle))  # 4, 5
            T.evaluate(T.tvm_call_packed("op", g.data, h.data, handle))  # 6, 7

    assert ranges(Mod) == {name: [(at, at + 1)] for at, name in enumerate("abcdefgh")}
    assert parameters(Mod) == {0: (4, 8)}


def test_a_function_of_the_c_library_is_no_prim_func_of_the_same_name():
    @I.ir_module
    class Mod:
        @T.prim_func
        def exp(A: T.Buffer((4,), "float64"), B: T.Buffer((4,), "float64")):
            B[0] = T.call_pure_extern("float64", "exp", A[0])

        @T.prim_func
        def main():
            x = T.alloc_buffer((4,), "float64")
            y = T.alloc_buffer((4,), "float64")
            Mod.exp(x, y)

    assert ranges(Mod) == {"x": [(0, 1)], "y": [(0, 1)]}


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

    assert ranges(Mod) == {"x": [(0, 1)], "y": []}


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

    assert ranges(Mod) == {"x": [(0, 2)], "y": [(1, 3)]}
