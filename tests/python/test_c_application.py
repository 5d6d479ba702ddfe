"""What an application does with the emitted C: builds it strictly, links it, calls it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from tvm.ir.transform import PassContext
from tvm.target import Target

import usmp
from support.c_program import SANITIZERS
from support.compilers import require
from support.relax_models import PARAMS, Attention, X, attention
from usmp import (
    ConstantMemoryPools,
    ConstantPoolInfo,
    PoolInfoProperties,
    WorkspaceMemoryPools,
    WorkspacePoolInfo,
)
from usmp.codegen.c_literals import element_literals
from usmp.runtime.write_files import write_files

STRICT = ["-Wall", "-Wextra", "-Werror", "-pedantic"]
EXTERNAL = {
    "workspace_memory_pools": WorkspaceMemoryPools([WorkspacePoolInfo("sram", [Target("c")])]),
    "constant_memory_pools": ConstantMemoryPools([ConstantPoolInfo("flash", [Target("c")])]),
}


def build(name: str, scale: float = 1, io: bool = False, **pools) -> usmp.AOTExecutorFactoryModule:
    params = {key: (scale * value).astype(np.float32) for key, value in PARAMS.items()}
    with PassContext(config={"tir.usmp.use_workspace_io": io}):
        return usmp.build(Attention, params=params, module_name=name, **pools)


def program_output(folder: Path, main: str, *models: usmp.AOTExecutorFactoryModule) -> np.ndarray:
    """The floats that `main`, linked with the models, prints for the input `X`."""
    for model in models:
        written(folder, model)
    (folder / "main.c").write_text("#include <stdio.h>\n#include <string.h>\n" + main)
    sources = [*folder.glob("codegen/host/src/*.c"), folder / "main.c"]
    command = ["gcc", "-std=c99", *STRICT, *SANITIZERS, f"-I{folder}/codegen/host/include"]
    subprocess.run([*command, *sources, "-lm", "-o", folder / "program"], check=True)
    return np.frombuffer(output_of(folder), np.float32)


def written(folder: Path, model: usmp.AOTExecutorFactoryModule) -> Path:
    """The folder, after the files of the model were written there."""
    write_files(model.files(), folder)
    return folder


def output_of(folder: Path) -> bytes:
    """What the program prints for the input `X`."""
    command = [folder / "program"]
    return subprocess.run(command, input=X.tobytes(), stdout=subprocess.PIPE, check=True).stdout


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
    output = program_output(tmp_path, main, build("first"), build("second", 2.0))
    np.testing.assert_allclose(output[:64], attention().ravel(), rtol=1e-5)
    np.testing.assert_allclose(output[64:], attention(scale=2).ravel(), rtol=1e-5)


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
    output = program_output(tmp_path, main, build("net", io=io, **EXTERNAL))
    np.testing.assert_allclose(output, attention().ravel(), rtol=1e-5)


@pytest.mark.cc
@pytest.mark.parametrize("io", [False, True], ids=["own-io", "workspace-io"])
@pytest.mark.parametrize("pools", [{}, EXTERNAL], ids=["internal", "external"])
@pytest.mark.parametrize(
    "compiler",
    [["g++", "-std=c++11"], ["gcc", "-std=c99"], ["gcc", "-std=c11"], ["clang", "-std=c99"]],
    ids="".join,
)
def test_header_compiles_alone(tmp_path, compiler, pools, io):
    require(compiler[0])
    suffix = ".cc" if compiler[0] == "g++" else ".c"
    (tmp_path / "tvmgen_net.h").write_text(build("net", io=io, **pools).header)
    source = tmp_path / f"application{suffix}"
    source.write_text('#include "tvmgen_net.h"\n#include "tvmgen_net.h"\nint used;\n')
    subprocess.run([*compiler, *STRICT, "-c", source, "-o", tmp_path / "a.o"], check=True)


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
    folder = written(tmp_path, build("net", **EXTERNAL))
    main = "main.cc" if compiler[0] == "g++" else "main.c"
    (folder / main).write_text(IN_READ_ONLY_MEMORY % ", ".join(element_literals(X, "float32")))
    strict = [*STRICT, "-Wcast-qual", f"-I{folder}/codegen/host/include"]
    source = folder / "codegen/host/src/net_lib0.c"
    subprocess.run(
        ["gcc", "-std=c99", *strict, "-c", source, "-o", "net.o"], cwd=folder, check=True
    )
    command = [*compiler, *strict, *SANITIZERS, main, "net.o", "-lm", "-o", "program"]
    subprocess.run(command, cwd=folder, check=True)
    output = np.frombuffer(output_of(folder), np.float32)
    np.testing.assert_allclose(output, attention().ravel(), rtol=1e-5)


def symbols_of(folder, compiler, optimization):
    """Name -> the letter of `nm`, of the object file of a model."""
    include, source = f"-I{folder}/codegen/host/include", folder / "codegen/host/src/net_lib0.c"
    command = [*compiler, "-std=c99", *STRICT, optimization, include, "-c", source]
    subprocess.run([*command, "-o", folder / "net.o"], check=True)
    listed = subprocess.run(["nm", folder / "net.o"], capture_output=True, text=True, check=True)
    words = [line.split()[-2:] for line in listed.stdout.splitlines()]
    return {name: letter for letter, name in words if not name.startswith((".", "$"))}


@pytest.mark.board
@pytest.mark.parametrize("compiler", ["gcc", "clang", "arm-none-eabi-gcc"])
@pytest.mark.parametrize("optimization", ["-O0", "-Os"])
@pytest.mark.parametrize(
    ("io", "pools", "entry_points", "memory"),
    [
        (False, {}, {"run"}, {"global_workspace"}),
        (True, {}, {"run", "map_inputs", "map_outputs"}, {"global_workspace"}),
        (True, EXTERNAL, {"run", "map_inputs", "map_outputs"}, set()),
    ],
    ids=["internal", "workspace-io", "external"],
)
def test_nothing_is_global_but_the_entry_points(
    tmp_path, compiler, optimization, io, pools, entry_points, memory
):
    """And nothing can be written but the internal workspace."""
    require(compiler)
    symbols = symbols_of(written(tmp_path, build("net", io=io, **pools)), [compiler], optimization)
    defined = {name: letter for name, letter in symbols.items() if letter != "U"}
    external = {name for name, letter in defined.items() if letter.isupper()}
    assert external == {f"tvmgen_net_{name}" for name in entry_points}
    written_to = {name for name, letter in defined.items() if letter.upper() in "BDCGS"}
    assert written_to == {f"tvmgen_net_{name}" for name in memory}


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
TWO_POOLS = {
    "workspace_memory_pools": WorkspaceMemoryPools(
        [
            WorkspacePoolInfo("dtcm", [Target("c")], PoolInfoProperties(size_hint_bytes=256)),
            WorkspacePoolInfo("sram", [Target("c")]),
        ]
    )
}


@pytest.mark.cc
@pytest.mark.parametrize(
    ("main", "io", "pools"),
    [(USE_CASE_1, False, {}), (USE_CASE_3, False, EXTERNAL), (USE_CASE_4, True, TWO_POOLS)],
    ids=["U1", "U3", "U4"],
)
def test_applications_written_for_tvm_0_18(tmp_path, main, io, pools):
    output = program_output(tmp_path, main, build("detection", io=io, **pools))
    np.testing.assert_allclose(output, attention().ravel(), rtol=1e-5)


@pytest.mark.cc
def test_two_models_share_a_workspace(tmp_path):
    """Use case U2; the assertions are ours."""
    sram = {"workspace_memory_pools": EXTERNAL["workspace_memory_pools"]}
    output = program_output(
        tmp_path, USE_CASE_2, build("first", **sram), build("second", 2.0, **sram)
    )
    np.testing.assert_allclose(output[:64], attention().ravel(), rtol=1e-5)
    np.testing.assert_allclose(output[64:], attention(scale=2).ravel(), rtol=1e-5)
