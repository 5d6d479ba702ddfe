"""The C source of a whole module: it compiles without a warning, and computes what TIR says."""

import ctypes
import subprocess

import numpy as np
import pytest
from tvm.ir import IRModule
from tvm.script import ir as I
from tvm.script import tirx as T

from support.compilers import run_compiler
from usmp.codegen.c_types import UnsupportedInC
from usmp.objects import PoolInfoProperties, WorkspaceMemoryPools, WorkspacePoolInfo
from usmp.objects.attributes import WORKSPACE_MEMORY_POOLS_ATTR

pytestmark = pytest.mark.cc

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")


@I.ir_module(s_tir=True)
class Shared:
    """A float tensor takes the bytes of an int32 tensor after its last use."""

    @T.prim_func(private=True)
    def double(a: T.handle("int32"), b: T.handle("int32")):
        A = T.decl_buffer((4,), "int32", data=a)
        B = T.decl_buffer((4,), "int32", data=b)
        for i in range(4):
            B[i] = A[i] * 2

    @T.prim_func(private=True)
    def total(a: T.handle("int32"), b: T.handle("int32")):
        A = T.decl_buffer((4,), "int32", data=a)
        B = T.decl_buffer((1,), "int32", data=b)
        B[0] = A[0] + A[1] + A[2] + A[3]

    @T.prim_func(private=True)
    def halves(a: T.handle("int32"), b: T.handle("float32")):
        A = T.decl_buffer((4,), "int32", data=a)
        B = T.decl_buffer((4,), "float32", data=b)
        for i in range(4):
            B[i] = T.Cast("float32", A[i]) * T.float32(0.5)

    @T.prim_func(private=True)
    def exp(a: T.handle("float32"), b: T.handle("float32")):
        A = T.decl_buffer((4,), "float32", data=a)
        B = T.decl_buffer((1,), "float32", data=b)
        B[0] = T.log(T.exp(A[0] + A[1] + A[2] + A[3]))

    @T.prim_func(private=True)
    def unused(a: T.handle("float32")):
        T.evaluate(0)

    @T.prim_func
    def __tvm_main__(
        x_ptr: T.handle("int32"), integers_ptr: T.handle("int32"), floats_ptr: T.handle("float32")
    ):
        x = T.decl_buffer((4,), "int32", data=x_ptr)
        integers = T.decl_buffer((1,), "int32", data=integers_ptr)
        floats = T.decl_buffer((1,), "float32", data=floats_ptr)
        doubled = T.alloc_buffer((4,), "int32")
        halved = T.alloc_buffer((4,), "float32")
        Shared.double(x.data, doubled.data)
        Shared.total(doubled.data, integers.data)
        Shared.halves(x.data, halved.data)
        Shared.exp(halved.data, floats.data)


SHARED_TENSORS = (
    [("x", [4], "int32")],
    [("integers", [1], "int32"), ("floats", [1], "float32")],
)


@I.ir_module(s_tir=True)
class Reused:
    """Two int32 tensors of the same content, and between them a float tensor in their bytes."""

    @T.prim_func(private=True)
    def ones(a: T.handle("int32")):
        A = T.decl_buffer((4,), "int32", data=a)
        A[0] = 1
        A[1] = 1
        A[2] = 1
        A[3] = 1

    @T.prim_func(private=True)
    def halves(a: T.handle("float32")):
        A = T.decl_buffer((4,), "float32", data=a)
        A[0] = T.float32(0.5)
        A[1] = T.float32(0.5)
        A[2] = T.float32(0.5)
        A[3] = T.float32(0.5)

    @T.prim_func(private=True)
    def pick(index: T.handle("int32"), a: T.handle("int32"), b: T.handle("int16")):
        I = T.decl_buffer((4,), "int32", data=index)  # noqa: E741
        A = T.decl_buffer((4,), "int32", data=a)
        B = T.decl_buffer((1,), "int16", data=b)
        B[0] = T.Cast("int16", A[I[0]])

    @T.prim_func(private=True)
    def pick_float(index: T.handle("int32"), a: T.handle("float32"), b: T.handle("float32")):
        I = T.decl_buffer((4,), "int32", data=index)  # noqa: E741
        A = T.decl_buffer((4,), "float32", data=a)
        B = T.decl_buffer((1,), "float32", data=b)
        B[0] = A[I[0]]

    @T.prim_func
    def __tvm_main__(
        x_ptr: T.handle("int32"), integers_ptr: T.handle("int16"), floats_ptr: T.handle("float32")
    ):
        x = T.decl_buffer((4,), "int32", data=x_ptr)
        integers = T.decl_buffer((1,), "int16", data=integers_ptr)
        floats = T.decl_buffer((1,), "float32", data=floats_ptr)
        before = T.alloc_buffer((4,), "int32")
        between = T.alloc_buffer((4,), "float32")
        after = T.alloc_buffer((4,), "int32")
        Reused.ones(before.data)
        Reused.pick(x.data, before.data, integers.data)
        Reused.halves(between.data)
        Reused.pick_float(x.data, between.data, floats.data)
        Reused.ones(after.data)
        Reused.pick(x.data, after.data, integers.data)


DRIVER = """
#include <stdio.h>
#include "tvmgen_default.h"

int main(int argc, char** argv) {
  int32_t x[4] = {argc, 2, 3, 4};
  int32_t integers[1] = {0};
  float floats[1] = {0};
  struct tvmgen_default_inputs inputs = {x};
  struct tvmgen_default_outputs outputs = {integers, floats};
  (void)argv;
  if (tvmgen_default_run(&inputs, &outputs) != 0) return 1;
  printf("%d %.9g\\n", (int)integers[0], (double)floats[0]);
  return 0;
}
"""


def run_program(tmp_path, header, source, flags, compiler="gcc", driver=DRIVER):
    """Build a program of source and driver; what it prints."""
    (tmp_path / "tvmgen_default.h").write_text(header)
    (tmp_path / "source.c").write_text(source)
    (tmp_path / "driver.c").write_text(driver)
    command = [compiler, *STRICT, *flags, "source.c", "driver.c", "-o", "program", "-lm"]
    run_compiler(command, cwd=tmp_path)
    done = subprocess.run([tmp_path / "program"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


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


REUSED_TENSORS = (
    [("x", [4], "int32")],
    [("integers", [1], "int16"), ("floats", [1], "float32")],
)


@pytest.mark.parametrize("flags", [["-O0"], ["-O2"], ["-O3"]], ids=" ".join)
def test_bytes_that_change_their_type(flags, compiler, emit, tmp_path):
    header, source = emit(Shared, *SHARED_TENSORS)
    assert run_program(tmp_path, header, source, flags, compiler) == "20 5\n"


def test_bytes_that_change_their_type_twice(compiler, emit, tmp_path):
    header, source = emit(Reused, *REUSED_TENSORS)
    driver = DRIVER.replace("int32_t integers", "int16_t integers")
    assert run_program(tmp_path, header, source, ["-O3"], compiler, driver) == "1 0.5\n"


@pytest.mark.parametrize(
    "flags",
    [["-O3", "-flto"], ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]],
    ids=" ".join,
)
@pytest.mark.parametrize(
    ("mod", "tensors", "output"),
    [(Shared, SHARED_TENSORS, "20 5\n"), (Reused, REUSED_TENSORS, "1 0.5\n")],
    ids=["shared", "reused"],
)
def test_whole_program_optimization_and_sanitizers(mod, tensors, output, flags, emit, tmp_path):
    header, source = emit(mod, *tensors)
    driver = DRIVER.replace("int32_t integers", f"{tensors[1][0][2]}_t integers")
    assert run_program(tmp_path, header, source, flags, driver=driver) == output


def test_memory_of_changing_type_is_accessed_only_through_types_that_may_alias(emit):
    _, source = emit(Shared, *SHARED_TENSORS)
    assert "#define TVMGEN_MAY_ALIAS __attribute__((__may_alias__))" in source
    functions = source[source.index("static void") : source.index("int32_t tvmgen_default_run")]
    assert "float*" not in functions
    assert "int32_t*" not in functions


def external(kind, name, size_bytes=1 << 20):
    return kind(name, ["c"], pool_info_properties=PoolInfoProperties(size_bytes))


POOLS_DRIVER = DRIVER.replace(
    "  (void)argv;",
    "  static uint8_t memory[64] __attribute__((__aligned__(16)));\n"
    "  struct tvmgen_default_workspace_pools pools = {memory};\n  (void)argv;",
).replace("&outputs)", "&outputs, &pools)")


@pytest.mark.parametrize("name", ["sram", "inputs", "outputs", "workspace_pools", "exp", "int"])
def test_an_external_pool_may_have_any_name(name, emit, tmp_path):
    pools = WorkspaceMemoryPools([external(WorkspacePoolInfo, name)])
    text = emit(Shared, *SHARED_TENSORS, attrs={WORKSPACE_MEMORY_POOLS_ATTR: pools})
    assert run_program(tmp_path, *text, ["-O2"], driver=POOLS_DRIVER) == "20 5\n"


@pytest.mark.parametrize(
    "name", ["inputs", "outputs", "workspace_pools", "exp", "run", "double", "map_inputs"]
)
def test_an_internal_pool_may_have_any_name(name, emit, tmp_path):
    properties = PoolInfoProperties(is_internal=True)
    pools = WorkspaceMemoryPools([WorkspacePoolInfo(name, ["c"], properties)])
    text = emit(Shared, *SHARED_TENSORS, attrs={WORKSPACE_MEMORY_POOLS_ATTR: pools})
    assert run_program(tmp_path, *text, ["-O2"]) == "20 5\n"


WORKSPACE_IO = {"tir.usmp.use_workspace_io": True}
IN_PLACE_DRIVER = """
#include <stdio.h>
#include "tvmgen_default.h"

int main(void) {
  struct tvmgen_default_inputs inputs = tvmgen_default_map_inputs();
  struct tvmgen_default_outputs outputs = tvmgen_default_map_outputs();
  int i;
  for (i = 0; i < 4; ++i) ((int32_t*)inputs.x)[i] = i + 1;
  if (tvmgen_default_run() != 0) return 1;
  printf("%d %.9g\\n", (int)*(int32_t*)outputs.integers, (double)*(float*)outputs.floats);
  return 0;
}
"""


def test_inputs_and_outputs_in_the_workspace(emit, tmp_path):
    text = emit(Shared, *SHARED_TENSORS, config=WORKSPACE_IO)
    assert run_program(tmp_path, *text, ["-O1"], driver=IN_PLACE_DRIVER) == "20 5\n"


def test_an_input_and_an_output_of_one_name_in_the_workspace(emit, tmp_path):
    tensors = ([("x", [4], "int32")], [("x", [1], "int32"), ("floats", [1], "float32")])
    text = emit(Shared, *tensors, config=WORKSPACE_IO)
    # Their macros differ in value, so the output has another name in C.
    driver = IN_PLACE_DRIVER.replace("outputs.integers", "outputs.x_1")
    assert run_program(tmp_path, *text, ["-O1"], driver=driver) == "20 5\n"


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
    header, source = emit(Shared, *SHARED_TENSORS, config=WORKSPACE_IO)
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


def test_two_modules_share_a_program(emit, tmp_path):
    header, source = emit(Shared, *SHARED_TENSORS)
    (tmp_path / "tvmgen_other.h").write_text(header.replace("_default", "_other"))
    other = emit(Shared, *SHARED_TENSORS, module_name="other")
    (tmp_path / "tvmgen_other.h").write_text(other[0])
    (tmp_path / "other.c").write_text(other[1])
    assert run_program(tmp_path, header, source, ["-O1", "other.c"]) == "20 5\n"


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


def test_a_primfunc_that_is_called_by_its_name(emit, tmp_path):
    @I.ir_module(s_tir=True)
    class Module:
        @T.prim_func(private=True)
        def g(a: T.handle("int32"), b: T.handle("int32"), c: T.handle("float32")):
            A = T.decl_buffer((4,), "int32", data=a)
            B = T.decl_buffer((1,), "int32", data=b)
            C = T.decl_buffer((1,), "float32", data=c)
            B[0] = A[0] + 19
            C[0] = T.float32(5)

        @T.prim_func
        def __tvm_main__(
            x_ptr: T.handle("int32"), i_ptr: T.handle("int32"), f_ptr: T.handle("float32")
        ):
            x = T.decl_buffer((4,), "int32", data=x_ptr)
            i = T.decl_buffer((1,), "int32", data=i_ptr)
            f = T.decl_buffer((1,), "float32", data=f_ptr)
            w = T.alloc_buffer((1,), "int32")
            T.evaluate(T.call_extern("int32", "g", x.data, w.data, f.data))
            i[0] = w[0]

    text = emit(Module, *SHARED_TENSORS)
    assert "  tvmgen_default_g(x_ptr, w, f_ptr);" in text[1]
    assert run_program(tmp_path, *text, ["-O2"]) == "20 5\n"


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
