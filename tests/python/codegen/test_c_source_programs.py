"""Programs of C source: they compile without a warning, and compute what TIR says."""

import subprocess

import pytest
from tvm.script import ir as I
from tvm.script import tirx as T

from support.compilers import run_compiler
from support.shared_bytes import REUSED_TENSORS, SHARED_TENSORS, Reused, Shared
from usmp.objects import PoolInfoProperties, WorkspaceMemoryPools, WorkspacePoolInfo
from usmp.objects.attributes.module_attributes import WORKSPACE_MEMORY_POOLS_ATTR

pytestmark = pytest.mark.cc

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")

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


POOLS_DRIVER = DRIVER.replace(
    "  (void)argv;",
    "  static uint8_t memory[64] __attribute__((__aligned__(16)));\n"
    "  struct tvmgen_default_workspace_pools pools = {memory};\n  (void)argv;",
).replace("&outputs)", "&outputs, &pools)")


@pytest.mark.parametrize("name", ["sram", "inputs", "outputs", "workspace_pools", "exp", "int"])
def test_an_external_pool_may_have_any_name(name, emit, tmp_path):
    pools = WorkspaceMemoryPools([WorkspacePoolInfo(name, ["c"], PoolInfoProperties(1 << 20))])
    text = emit(Shared, *SHARED_TENSORS, attrs={WORKSPACE_MEMORY_POOLS_ATTR.name: pools})
    assert run_program(tmp_path, *text, ["-O2"], driver=POOLS_DRIVER) == "20 5\n"


@pytest.mark.parametrize(
    "name", ["inputs", "outputs", "workspace_pools", "exp", "run", "double", "map_inputs"]
)
def test_an_internal_pool_may_have_any_name(name, emit, tmp_path):
    properties = PoolInfoProperties(is_internal=True)
    pools = WorkspaceMemoryPools([WorkspacePoolInfo(name, ["c"], properties)])
    text = emit(Shared, *SHARED_TENSORS, attrs={WORKSPACE_MEMORY_POOLS_ATTR.name: pools})
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


def test_two_modules_share_a_program(emit, tmp_path):
    header, source = emit(Shared, *SHARED_TENSORS)
    (tmp_path / "tvmgen_other.h").write_text(header.replace("_default", "_other"))
    other = emit(Shared, *SHARED_TENSORS, module_name="other")
    (tmp_path / "tvmgen_other.h").write_text(other[0])
    (tmp_path / "other.c").write_text(other[1])
    assert run_program(tmp_path, header, source, ["-O1", "other.c"]) == "20 5\n"


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
