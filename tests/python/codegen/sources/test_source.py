"""The C source of a whole module, as text and as the compiler takes it."""

import ctypes
import subprocess

import numpy as np
import pytest
from tvm.ir import IRModule
from tvm.script import ir as I
from tvm.script import tirx as T

from support.shared_bytes import SHARED_TENSORS, Shared
from usmp.codegen.c.types import UnsupportedInC

pytestmark = pytest.mark.cc


def test_operators_come_before_those_that_call_them_and_only_if_used(emit):
    _, source = emit(Shared, *SHARED_TENSORS)
    starts = ("static void", "static TVMGEN_NOINLINE void")
    heads = [line.split("(")[0] for line in source.split("\n") if line.startswith(starts)]
    operators = ("double", "total", "halves", "exp")
    assert heads == [
        *(f"static TVMGEN_NOINLINE void tvmgen_default_{name}" for name in operators),
        "static void tvmgen_default___tvm_main__",
    ]


def test_the_main_function_and_the_entry_point(emit):
    _, source = emit(Shared, *SHARED_TENSORS)
    assert source[source.index("static void tvmgen_default___tvm_main__") :] == (
        "static void tvmgen_default___tvm_main__(\n"
        "    const int32_alias* x_ptr,\n"
        "    int32_alias* integers_ptr,\n"
        "    float_alias* floats_ptr,\n"
        "    uint8_t* global_workspace_0_var) {\n"
        "  int32_alias* doubled = (int32_alias*)(void*)(global_workspace_0_var);\n"
        "  float_alias* halved = (float_alias*)(void*)(global_workspace_0_var);\n"
        "  tvmgen_default_double(x_ptr, doubled);\n"
        "  tvmgen_default_total(doubled, integers_ptr);\n"
        "  tvmgen_default_halves(x_ptr, halved);\n"
        "  tvmgen_default_exp(halved, floats_ptr);\n"
        "}\n"
        "\n"
        "static uint8_t tvmgen_default_global_workspace[16] TVMGEN_ALIGNED(16);\n"
        "\n"
        "TVMGEN_STATIC_ASSERT(sizeof(tvmgen_default_global_workspace) == 16, "
        "tvmgen_default_global_workspace_has_size);\n"
        "#if defined(__GNUC__) || defined(__clang__)\n"
        "TVMGEN_STATIC_ASSERT(__extension__ __alignof__(tvmgen_default_global_workspace) >= 16, "
        "tvmgen_default_global_workspace_is_aligned);\n"
        "#endif\n"
        "\n"
        "int32_t tvmgen_default_run(struct tvmgen_default_inputs* inputs, "
        "struct tvmgen_default_outputs* outputs) {\n"
        "  tvmgen_default___tvm_main__(\n"
        "      (const int32_alias*)inputs->x,\n"
        "      (int32_alias*)outputs->integers,\n"
        "      (float_alias*)outputs->floats,\n"
        "      (uint8_t*)tvmgen_default_global_workspace);\n"
        "  return 0;\n"
        "}\n"
    )


def test_memory_of_changing_type_is_accessed_only_through_types_that_may_alias(emit):
    _, source = emit(Shared, *SHARED_TENSORS)
    assert "#define TVMGEN_MAY_ALIAS __attribute__((__may_alias__))" in source
    functions = source[source.index("static void") : source.index("int32_t tvmgen_default_run")]
    assert "float*" not in functions
    assert "int32_t*" not in functions


@pytest.mark.parametrize("name", ["a/b:0", "int", "double", "été", "inputs", "exp", "0"])
def test_a_tensor_may_have_any_name(name, emit, compile_c):
    header, source = emit(Shared, [(name, [4], "int32")], SHARED_TENSORS[1])
    library = compile_c(source, files={"tvmgen_default.h": header})
    arrays = [np.array([1, 2, 3, 4], "int32"), np.zeros(1, "int32"), np.zeros(1, "float32")]
    inputs, outputs = (
        (ctypes.c_void_p * len(part))(*(array.ctypes.data for array in part))
        for part in (arrays[:1], arrays[1:])
    )
    assert library.tvmgen_default_run(inputs, outputs) == 0
    assert [array.tolist() for array in arrays[1:]] == [[20], [5.0]]


def test_only_the_entry_points_are_external(emit, compile_c):
    header, source = emit(Shared, *SHARED_TENSORS, config={"tir.usmp.use_workspace_io": True})
    library = compile_c(source, files={"tvmgen_default.h": header})
    names = subprocess.run(
        ["nm", "-D", "--defined-only", library._name], capture_output=True, text=True, check=True
    ).stdout.split()[2::3]
    assert [name for name in names if "tvmgen" in name] == [
        "tvmgen_default_map_inputs",
        "tvmgen_default_map_outputs",
        "tvmgen_default_run",
    ]


def test_the_source_compiles_as_any_later_standard(emit, compile_c):
    header, source = emit(Shared, *SHARED_TENSORS)
    for standard in ("gnu99", "c11", "gnu11", "gnu17"):
        compile_c(source, f"-std={standard}", "-O1", files={"tvmgen_default.h": header})


def test_an_input_that_a_function_of_the_user_may_write_is_not_constant(emit):
    @I.ir_module(s_tir=True)
    class Module:
        @T.prim_func
        def __tvm_main__(
            x_ptr: T.handle("int32"), k_ptr: T.handle("int32"), y_ptr: T.handle("int32")
        ):
            x = T.decl_buffer((4,), "int32", data=x_ptr)
            k = T.decl_buffer((4,), "int32", data=k_ptr)
            y = T.decl_buffer((4,), "int32", data=y_ptr)
            T.evaluate(T.call_extern("int32", "of_the_user", x.data, y.data))
            for i in range(4):
                y[i] = y[i] + k[i]

    inputs = [("x", [4], "int32"), ("k", [4], "int32")]
    header, source = emit(Module, inputs, [("y", [4], "int32")])
    assert "  void* x;  /* int32[4] */\n  const void* k;  /* int32[4] */\n" in header
    assert "(int32_alias*)inputs->x,\n      (const int32_alias*)inputs->k,\n" in source


def test_what_c_lacks_is_reported_with_the_name_of_the_operator(emit):
    half = Shared.functions[Shared.get_global_var("halves")]

    @T.prim_func(private=True)
    def halves(a: T.handle("int32"), b: T.handle("float32")):
        A = T.decl_buffer((4,), "int32", data=a)
        B = T.decl_buffer((4,), "float32", data=b)
        B[0] = T.Cast("float32", T.clz(A[0]))

    functions = {v: halves if f.same_as(half) else f for v, f in Shared.functions.items()}
    with pytest.raises(UnsupportedInC, match=r"^halves: operator prim\.clz has no C99 form"):
        emit(IRModule(functions), *SHARED_TENSORS)


def test_functions_with_bodies_for_cores_come_after_the_macros_that_choose(emit, compile_c):
    @I.ir_module(s_tir=True)
    class Rescaled:
        @T.prim_func
        def __tvm_main__(x_ptr: T.handle("int32"), y_ptr: T.handle("int32")):
            x = T.decl_buffer((4,), "int32", data=x_ptr)
            y = T.decl_buffer((4,), "int32", data=y_ptr)
            for i in range(4):
                y[i] = T.call_pure_extern(
                    "int32", "tvmgen_rescale_record", x[i], 1 << 30, i + 1, -255
                )

    tensors = ([("x", [4], "int32")], [("y", [4], "int32")])
    header, source = emit(Rescaled, *tensors)
    heads = [
        "#define TVMGEN_INLINE ",
        "TVMGEN_INLINE int32_t tvmgen_rescale_record(",
        "__tvm_main__(",
    ]
    assert sorted(source.index(head) for head in heads) == [source.index(h) for h in heads]
    assert "TVMGEN_INLINE" not in emit(Shared, *SHARED_TENSORS)[1]
    compile_c(source, files={"tvmgen_default.h": header})
