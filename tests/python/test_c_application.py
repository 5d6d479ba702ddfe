"""What an application does with the emitted C: builds it strictly, links it, calls it."""

from __future__ import annotations

import subprocess
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from tvm.ir.transform import PassContext
from tvm.target import Target

import usmp
from support.c_program import SANITIZERS, build_program
from support.compilers import require, run_compiler
from support.relax_models import PARAMS, Attention, X, attention
from usmp import (
    ConstantMemoryPools,
    ConstantPoolInfo,
    PoolInfoProperties,
    WorkspaceMemoryPools,
    WorkspacePoolInfo,
)
from usmp.codegen.c.literals import element_literals
from usmp.runtime.write_files import write_files

STRICT = ["-Wall", "-Wextra", "-Werror", "-pedantic"]
SRAM = {"workspace_memory_pools": WorkspaceMemoryPools([WorkspacePoolInfo("sram", [Target("c")])])}
DTCM = WorkspacePoolInfo("dtcm", [Target("c")], PoolInfoProperties(size_hint_bytes=256))
POOLS = {
    "internal": {},
    "shared": SRAM,
    "external": SRAM
    | {"constant_memory_pools": ConstantMemoryPools([ConstantPoolInfo("flash", [Target("c")])])},
    "two": {
        "workspace_memory_pools": WorkspaceMemoryPools(
            [DTCM, WorkspacePoolInfo("sram", [Target("c")])]
        )
    },
}


@cache
def build(
    name: str, pools: str = "internal", scale: float = 1, io: bool = False
) -> usmp.AOTExecutorFactoryModule:
    params = {key: (scale * value).astype(np.float32) for key, value in PARAMS.items()}
    with PassContext(config={"tir.usmp.use_workspace_io": io}):
        return usmp.build(Attention, params=params, module_name=name, **POOLS[pools])


def program_output(folder: Path, main: str, *models: usmp.AOTExecutorFactoryModule) -> np.ndarray:
    """The floats that `main`, linked with the models, prints for the input `X`."""
    files = {name: content for model in models for name, content in model.files().items()}
    main = f"#include <stdio.h>\n#include <string.h>\n{main}"
    build_program(files, main, folder, SANITIZERS)
    return np.frombuffer(output_of(folder), np.float32)


def written(folder: Path, model: usmp.AOTExecutorFactoryModule) -> Path:
    """The folder, after the files of the model were written there."""
    write_files(model.files(), folder)
    return folder


def output_of(folder: Path) -> bytes:
    """What the program prints for the input `X`."""
    command = [folder / "program"]
    return subprocess.run(command, input=X.tobytes(), stdout=subprocess.PIPE, check=True).stdout


@pytest.mark.slow
@pytest.mark.cc
def test_two_models_in_one_program(tmp_path):
    main = """
#include "tvmgen_first.h"
#include "tvmgen_second.h"
int main(void) {
  static float x[16], y[2][64];
  struct tvmgen_first_inputs first_inputs = {x};
  struct tvmgen_first_outputs first_outputs = {y[0]};
  struct tvmgen_second_inputs second_inputs = {x};
  struct tvmgen_second_outputs second_outputs = {y[1]};
  if (fread(x, sizeof(x), 1, stdin) != 1) return 1;
  if (tvmgen_first_run(&first_inputs, &first_outputs) != 0) return 2;
  if (tvmgen_second_run(&second_inputs, &second_outputs) != 0) return 3;
  return fwrite(y, sizeof(y), 1, stdout) != 1;
}
"""
    output = program_output(tmp_path, main, build("first"), build("second", scale=2))
    np.testing.assert_allclose(output[:64], attention().ravel(), rtol=1e-5)
    np.testing.assert_allclose(output[64:], attention(scale=2).ravel(), rtol=1e-5)


@pytest.mark.slow
@pytest.mark.cc
def test_inputs_and_outputs_in_the_workspace(tmp_path):
    """Nothing is passed: the places of map_inputs and map_outputs stay the same."""
    main = """
#include "tvmgen_net.h"
int main(void) {
  struct tvmgen_net_inputs inputs = tvmgen_net_map_inputs();
  struct tvmgen_net_outputs outputs = tvmgen_net_map_outputs();
  if (fread(inputs.x, TVMGEN_NET_X_SIZE, 1, stdin) != 1) return 1;
  if (tvmgen_net_run() != 0) return 2;
  return fwrite(outputs.output, TVMGEN_NET_OUTPUT_SIZE, 1, stdout) != 1;
}
"""
    output = program_output(tmp_path, main, build("net", io=True))
    np.testing.assert_allclose(output, attention().ravel(), rtol=1e-5)


EXTERNAL_MAIN = """
#include "tvmgen_net.h"
static uint8_t sram[TVMGEN_NET_SRAM_WORKSPACE_POOL_SIZE] __attribute__((aligned(16)));
static const uint8_t flash[TVMGEN_NET_FLASH_CONSTANT_POOL_SIZE] __attribute__((aligned(16))) = {
  TVMGEN_NET_FLASH_CONSTANT_POOL_DATA
};
int main(void) {
  struct tvmgen_net_workspace_pools pools;
  %s
  pools.sram = sram;
  pools.flash = flash;
  %s
  if (fread(%s, TVMGEN_NET_X_SIZE, 1, stdin) != 1) return 1;
  if (tvmgen_net_run(%s) != 0) return 2;
  return fwrite(outputs.output, TVMGEN_NET_OUTPUT_SIZE, 1, stdout) != 1;
}
"""
OWN = """static float x[16], y[64];
  struct tvmgen_net_inputs inputs = {x};
  struct tvmgen_net_outputs outputs = {y};"""
DECLARED = "struct tvmgen_net_inputs inputs; struct tvmgen_net_outputs outputs;"
MAPPED = """inputs = tvmgen_net_map_inputs(&pools);
  outputs = tvmgen_net_map_outputs(&pools);"""


@pytest.mark.cc
@pytest.mark.parametrize(
    ("io", "declare", "assign", "place", "passed"),
    [
        (False, OWN, "", "x", "&inputs, &outputs, &pools"),
        (True, DECLARED, MAPPED, "inputs.x", "&pools"),
    ],
    ids=["own-io", "workspace-io"],
)
def test_pools_of_the_application(tmp_path, io, declare, assign, place, passed):
    main = EXTERNAL_MAIN % (declare, assign, place, passed)
    output = program_output(tmp_path, main, build("net", "external", io=io))
    np.testing.assert_allclose(output, attention().ravel(), rtol=1e-5)


@pytest.mark.cc
@pytest.mark.parametrize(
    "compiler",
    [["g++", "-std=c++11"], ["gcc", "-std=c99"], ["gcc", "-std=c11"], ["clang", "-std=c99"]],
    ids="".join,
)
def test_header_compiles_alone(tmp_path, compiler):
    require(compiler[0])
    suffix = ".cc" if compiler[0] == "g++" else ".c"
    source = tmp_path / f"application{suffix}"
    source.write_text('#include "tvmgen_net.h"\n#include "tvmgen_net.h"\nint used;\n')
    for pools, io in product(("internal", "external"), (False, True)):
        (tmp_path / "tvmgen_net.h").write_text(build("net", pools, io=io).header)
        run_compiler([*compiler, *STRICT, "-c", source, "-o", tmp_path / "a.o"])


IN_READ_ONLY_MEMORY = """
#include <stdio.h>
#include "tvmgen_net.h"
static const float x[] = {%s};
static float y[64];
TVMGEN_NET_SRAM_WORKSPACE_POOL_ATTRIBUTES static uint8_t
    sram[TVMGEN_NET_SRAM_WORKSPACE_POOL_SIZE];
TVMGEN_NET_SRAM_WORKSPACE_POOL_ASSERT(sram);
TVMGEN_NET_FLASH_CONSTANT_POOL_ATTRIBUTES static const uint8_t flash[] = {
    TVMGEN_NET_FLASH_CONSTANT_POOL_DATA};
TVMGEN_NET_FLASH_CONSTANT_POOL_ASSERT(flash);
int main(void) {
  struct tvmgen_net_inputs inputs = {x};
  struct tvmgen_net_outputs outputs = {y};
  struct tvmgen_net_workspace_pools pools = {flash, sram};
  if (tvmgen_net_run(&inputs, &outputs, &pools) != 0) return 2;
  return fwrite(y, sizeof(y), 1, stdout) != 1;
}
"""


@pytest.mark.cc
@pytest.mark.parametrize(
    "compiler", [["gcc", "-std=c99"], ["g++", "-std=c++11"], ["g++", "-std=c++17"]], ids="".join
)
def test_inputs_and_constants_in_read_only_memory(tmp_path, compiler):
    """The application casts nothing."""
    require(compiler[0])
    folder = written(tmp_path, build("net", "external"))
    main = "main.cc" if compiler[0] == "g++" else "main.c"
    (folder / main).write_text(IN_READ_ONLY_MEMORY % ", ".join(element_literals(X, "float32")))
    strict = [*STRICT, "-Wcast-qual", f"-I{folder}/codegen/host/include"]
    source = folder / "codegen/host/src/net_lib0.c"
    run_compiler(["gcc", "-std=c99", *strict, "-c", source, "-o", "net.o"], cwd=folder)
    command = [*compiler, *strict, *SANITIZERS, main, "net.o", "-lm", "-o", "program"]
    run_compiler(command, cwd=folder)
    output = np.frombuffer(output_of(folder), np.float32)
    np.testing.assert_allclose(output, attention().ravel(), rtol=1e-5)


def symbols_of(folder, compiler, optimization):
    """Name -> the letter of `nm`, of the object file of a model."""
    include, source = f"-I{folder}/codegen/host/include", folder / "codegen/host/src/net_lib0.c"
    command = [compiler, "-std=c99", *STRICT, optimization, include, "-c", source]
    run_compiler([*command, "-o", folder / "net.o"])
    listed = subprocess.run(["nm", folder / "net.o"], capture_output=True, text=True, check=True)
    words = [line.split()[-2:] for line in listed.stdout.splitlines()]
    return {name: letter for letter, name in words if not name.startswith((".", "$"))}


@pytest.mark.board
@pytest.mark.parametrize("compiler", ["gcc", "clang", "arm-none-eabi-gcc"])
@pytest.mark.parametrize(
    ("io", "pools", "entry_points", "memory"),
    [
        (False, "internal", {"run"}, {"global_workspace"}),
        (True, "internal", {"run", "map_inputs", "map_outputs"}, {"global_workspace"}),
        (True, "external", {"run", "map_inputs", "map_outputs"}, set()),
    ],
    ids=["internal", "workspace-io", "external"],
)
def test_nothing_is_global_but_the_entry_points(
    tmp_path, compiler, io, pools, entry_points, memory
):
    """And nothing can be written but the internal workspace."""
    require(compiler)
    folder = written(tmp_path, build("net", pools, io=io))
    for optimization in ("-O0", "-Os"):
        symbols = symbols_of(folder, compiler, optimization)
        defined = {name: letter for name, letter in symbols.items() if letter != "U"}
        external = {name for name, letter in defined.items() if letter.isupper()}
        assert external == {f"tvmgen_net_{name}" for name in entry_points}, optimization
        written_to = {name for name, letter in defined.items() if letter.upper() in "BDCGS"}
        assert written_to == {f"tvmgen_net_{name}" for name in memory}, optimization


# ---- written against the header of TVM 0.18

USE_CASE_1 = """
#include <stdio.h>
#include <tvmgen_detection.h>
static float input[TVMGEN_DETECTION_X_SIZE / sizeof(float)];
static float output[TVMGEN_DETECTION_OUTPUT_SIZE / sizeof(float)];
int main(int argc, char** argv) {
  struct tvmgen_detection_outputs detection_outputs = {
      .output = output,
  };
  struct tvmgen_detection_inputs detection_inputs = {
      .x = input,
  };
  (void)argc; (void)argv;
  if (fread(input, sizeof(input), 1, stdin) != 1) return 1;
  if (tvmgen_detection_run(&detection_inputs, &detection_outputs) == -1) return -1;
  return fwrite(output, sizeof(output), 1, stdout) != 1;
}
"""
USE_CASE_2 = """
#include <stdio.h>
#include <tvmgen_first.h>
#include <tvmgen_second.h>
#define MAX(A, B) ((A > B) ? A : B)
__attribute__((section(".data.tvm"), aligned(16)))
static uint8_t sram[MAX(TVMGEN_FIRST_SRAM_WORKSPACE_POOL_SIZE,
                        TVMGEN_SECOND_SRAM_WORKSPACE_POOL_SIZE)];
TVMGEN_FIRST_SRAM_WORKSPACE_POOL_ASSERT(sram);
TVMGEN_SECOND_SRAM_WORKSPACE_POOL_ASSERT(sram);
static float x[16], y[2][64];
int main(void) {
  struct tvmgen_first_workspace_pools first_pools = {.sram = sram};
  struct tvmgen_second_workspace_pools second_pools = {.sram = sram};
  struct tvmgen_first_inputs first_inputs = {.x = x};
  struct tvmgen_first_outputs first_outputs = {.output = y[0]};
  struct tvmgen_second_inputs second_inputs = {.x = x};
  struct tvmgen_second_outputs second_outputs = {.output = y[1]};
  if (fread(x, sizeof(x), 1, stdin) != 1) return 1;
  if (tvmgen_first_run(&first_inputs, &first_outputs, &first_pools) == -1) return 2;
  if (tvmgen_second_run(&second_inputs, &second_outputs, &second_pools) == -1) return 3;
  return fwrite(y, sizeof(y), 1, stdout) != 1;
}
"""
USE_CASE_3 = """
#include <stdio.h>
#include <tvmgen_detection.h>
static float input[TVMGEN_DETECTION_X_SIZE / sizeof(float)];
static float output[TVMGEN_DETECTION_OUTPUT_SIZE / sizeof(float)];
int main(void) {
  __attribute__((section(".data.tvm"), aligned(16)))
  static uint8_t sram[TVMGEN_DETECTION_SRAM_WORKSPACE_POOL_SIZE];
  __attribute__((section(".data.tvm"), aligned(16)))
  static uint8_t flash[TVMGEN_DETECTION_FLASH_CONSTANT_POOL_SIZE] = {
      TVMGEN_DETECTION_FLASH_CONSTANT_POOL_DATA
  };
  struct tvmgen_detection_workspace_pools tvmgen_detection_workspace_pools = {
      .sram = sram,
      .flash = flash,
  };
  struct tvmgen_detection_inputs tvmgen_detection_inputs = {.x = input};
  struct tvmgen_detection_outputs tvmgen_detection_outputs = {.output = output};
  if (fread(input, sizeof(input), 1, stdin) != 1) return 1;
  if (tvmgen_detection_run(&tvmgen_detection_inputs, &tvmgen_detection_outputs,
                           &tvmgen_detection_workspace_pools) == -1) {
    return -1;
  }
  return fwrite(output, sizeof(output), 1, stdout) != 1;
}
"""
USE_CASE_4 = """
#include <stdio.h>
#include <string.h>
#include <tvmgen_detection.h>
static float input[TVMGEN_DETECTION_X_SIZE / sizeof(float)];
int main(void) {
  __attribute__((section(".data.tvm"), aligned(16)))
  static uint8_t dtcm[TVMGEN_DETECTION_DTCM_WORKSPACE_POOL_SIZE];
  __attribute__((section(".data.tvm"), aligned(16)))
  static uint8_t sram[TVMGEN_DETECTION_SRAM_WORKSPACE_POOL_SIZE];
  struct tvmgen_detection_workspace_pools tvmgen_detection_workspace_pools = {
      .dtcm = dtcm,
      .sram = sram,
  };
  if (fread(input, sizeof(input), 1, stdin) != 1) return 1;
  struct tvmgen_detection_inputs tvmgen_detection_inputs =
      tvmgen_detection_map_inputs(&tvmgen_detection_workspace_pools);
  memcpy(tvmgen_detection_inputs.x, input, sizeof(input));
  struct tvmgen_detection_outputs tvmgen_detection_outputs =
      tvmgen_detection_map_outputs(&tvmgen_detection_workspace_pools);
  if (tvmgen_detection_run(&tvmgen_detection_workspace_pools) == -1) return -1;
  return fwrite(tvmgen_detection_outputs.output, TVMGEN_DETECTION_OUTPUT_SIZE, 1, stdout) != 1;
}
"""


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.parametrize(
    ("main", "io", "pools"),
    [(USE_CASE_1, False, "internal"), (USE_CASE_3, False, "external"), (USE_CASE_4, True, "two")],
    ids=["U1", "U3", "U4"],
)
def test_applications_written_for_tvm_0_18(tmp_path, main, io, pools):
    output = program_output(tmp_path, main, build("detection", pools, io=io))
    np.testing.assert_allclose(output, attention().ravel(), rtol=1e-5)


@pytest.mark.slow
@pytest.mark.cc
def test_two_models_share_a_workspace(tmp_path):
    """Use case U2; the assertions are ours."""
    models = build("first", "shared"), build("second", "shared", scale=2)
    output = program_output(tmp_path, USE_CASE_2, *models)
    np.testing.assert_allclose(output[:64], attention().ravel(), rtol=1e-5)
    np.testing.assert_allclose(output[64:], attention(scale=2).ravel(), rtol=1e-5)
