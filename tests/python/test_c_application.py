"""What an application does with the emitted C: builds it strictly, links it, calls it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from tvm.ir.transform import PassContext
from tvm.target import Target

import usmp
from compilers import require
from relax_models import PARAMS, Attention, X, attention
from usmp import ConstantMemoryPools, ConstantPoolInfo, WorkspaceMemoryPools, WorkspacePoolInfo

STRICT = ["-Wall", "-Wextra", "-Werror", "-pedantic"]
SANITIZERS = ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
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
        for name, content in model.files().items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    (folder / "main.c").write_text("#include <stdio.h>\n#include <string.h>\n" + main)
    sources = [*folder.glob("codegen/host/src/*.c"), folder / "main.c"]
    command = ["gcc", "-std=c99", *STRICT, *SANITIZERS, f"-I{folder}/codegen/host/include"]
    subprocess.run([*command, *sources, "-lm", "-o", folder / "program"], check=True)
    done = subprocess.run([folder / "program"], input=X.tobytes(), capture_output=True, check=True)
    return np.frombuffer(done.stdout, np.float32)


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
  pools.flash = (void*)flash;
  %s
  if (fread(inputs.x, TVMGEN_NET_X_SIZE, 1, stdin) != 1) return 1;
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


@pytest.mark.parametrize(
    ("io", "declare", "assign", "passed"),
    [(False, OWN, "", "&inputs, &outputs, &pools"), (True, DECLARED, MAPPED, "&pools")],
    ids=["own-io", "workspace-io"],
)
def test_pools_of_the_application(tmp_path, io, declare, assign, passed):
    main = EXTERNAL_MAIN % (declare, assign, passed)
    output = program_output(tmp_path, main, build("net", io=io, **EXTERNAL))
    np.testing.assert_allclose(output, attention().ravel(), rtol=1e-5)


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


def test_a_cpp_application_links_with_the_c(tmp_path):
    for name, content in build("net").files().items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    include = f"-I{tmp_path}/codegen/host/include"
    source, objects = tmp_path / "codegen/host/src/net_lib0.c", tmp_path / "net.o"
    (tmp_path / "main.cc").write_text(
        '#include "tvmgen_net.h"\nint main() { return tvmgen_net_run == nullptr; }\n'
    )
    subprocess.run(["gcc", "-std=c99", include, "-c", source, "-o", objects], check=True)
    command = ["g++", "-std=c++11", "-Wall", "-Wextra", "-pedantic", include]
    program = tmp_path / "program"
    subprocess.run([*command, tmp_path / "main.cc", objects, "-lm", "-o", program], check=True)
    subprocess.run([program], check=True)
