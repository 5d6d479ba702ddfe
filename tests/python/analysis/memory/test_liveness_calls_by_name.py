"""A call by name may be of a PrimFunc of the module, or of anything else."""

import pytest
from tvm.script import ir as I
from tvm.script import tirx as T

from support.liveness_views import parameters, spans


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


@pytest.mark.parametrize("call", [T.tvm_call_cpacked, T.tvm_call_packed])
def test_a_packed_call_that_names_a_prim_func_is_followed(call):
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
            T.evaluate(call("op", x.data, y.data, handle))

    assert spans(Mod) == {"x": [(0, 1)], "y": [(1, 2)]}
    assert parameters(Mod) == {0: (0, 2)}


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

    assert spans(Mod) == {"x": [(0, 1)], "y": [(0, 1)]}


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
