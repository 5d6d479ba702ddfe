"""Pools at known and odd addresses in C: what runs touch there, and what they refuse."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pytest

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
from usmp.device.memory_source import print_memory
from usmp.runtime.write_files import write_files

pytestmark = pytest.mark.cc

ODD = 0x2000_0003
"""The address of a memory whose first page is mapped where no program of this host is."""

NEIGHBORS = """
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "tvmgen_m.h"

#define PAGES 65536
#define SIZE TVMGEN_M_SRAM_WORKSPACE_POOL_SIZE
#define OFFSET TVMGEN_M_SRAM_WORKSPACE_POOL_OFFSET

int main(int argc, char** argv) {{
  uint8_t* const page = mmap((void*)0x20000000, PAGES, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  uint8_t* const memory = page + (argc > 1 ? atoi(argv[1]) : 0);
  float x[TVMGEN_M_X_SIZE / sizeof(float)], y[{outputs}];
  struct tvmgen_m_inputs inputs = {{.x = x}};
  struct tvmgen_m_outputs outputs = {{.{output} = y}};
  struct tvmgen_m_workspace_pools pools = {{.sram = memory}};
  if (page == MAP_FAILED || fread(x, sizeof x, 1, stdin) != 1) return 1;
  for (int fill = 0; fill < 2; ++fill) {{
    memset(page, fill ? 0xa5 : 0x5a, PAGES);
    const int32_t status = tvmgen_m_run(&inputs, &outputs, &pools);
    if (status != 0) return status == TVMGEN_M_ERROR_POOL ? 3 : 2;
    for (int i = 0; i < PAGES; ++i) {{
      const int is_own = page + i >= memory + OFFSET && page + i < memory + SIZE;
      if (!is_own && page[i] != (fill ? 0xa5 : 0x5a)) return 4;
    }}
  }}
  return fwrite(y, sizeof y, 1, stdout) != 1;
}}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """Makes a program that runs the model in a memory whose neighbors it compares; one for all
    places of the memory, which is its argument."""
    return cache(lambda **properties: compiled(tmp_path_factory.mktemp("program"), **properties))


def compiled(folder: Path, **properties) -> Path:
    sram = WorkspacePoolInfo("sram", ["c"], PoolInfoProperties(**properties))
    model = usmp.build(
        Attention,
        params=PARAMS,
        module_name="m",
        workspace_memory_pools=WorkspaceMemoryPools([sram]),
    )
    (output,) = model.interface.outputs
    main = NEIGHBORS.format(output=output.c_name, outputs=attention().size)
    return build_program(model.files(), main, folder, SANITIZERS)


def run(path: Path, moved: int) -> subprocess.CompletedProcess:
    """Run it in a memory so many bytes behind the address `ODD`."""
    return subprocess.run(
        [path, str(3 + moved)], input=X.tobytes(), stdout=subprocess.PIPE, check=False
    )


@pytest.mark.parametrize(
    "properties",
    [
        {"address": ODD, "pool_offset": 2, "alignment": 32},
        {"address": ODD, "pool_offset": 13},
        {"address": ODD - 3, "pool_offset": 100, "alignment": 64},
        {"pool_offset": 7, "alignment": 128},
    ],
    ids=str,
)
def test_runs_touch_nothing_of_their_neighbors(program, properties):
    done = run(program(**properties), 0 if properties.get("address") == ODD else -3)
    assert done.returncode == 0
    np.testing.assert_allclose(
        np.frombuffer(done.stdout, np.float32), attention().ravel(), rtol=1e-5
    )


@pytest.mark.parametrize(
    ("moved", "properties"),
    [
        # Another address, although it is aligned alike.
        (64, {"address": ODD, "pool_offset": 13}),
        (1, {"address": ODD, "pool_offset": 13}),
        (-1, {"pool_offset": 7, "alignment": 128}),
    ],
)
def test_a_run_refuses_a_pool_that_is_elsewhere(program, moved, properties):
    assert run(program(**properties), moved).returncode == 3


OWN_CONSTANTS = """
#include <stdio.h>
#include <string.h>
#include "tvmgen_m_device.h"

#define OFFSET TVMGEN_M_FLASH_CONSTANT_POOL_OFFSET
#define SIZE TVMGEN_M_FLASH_CONSTANT_POOL_SIZE

/* The whole memory, as an application may define it. */
static const uint8_t whole[SIZE] __attribute__((aligned(64))) = {{
    [OFFSET] = TVMGEN_M_FLASH_CONSTANT_POOL_DATA}};

int main(void) {{
  struct tvmgen_m_workspace_pools pools = *tvmgen_m_device_pools();
  float x[TVMGEN_M_X_SIZE / sizeof(float)], y[2][{outputs}];
  struct tvmgen_m_inputs inputs = {{.x = x}};
  if (fread(x, sizeof x, 1, stdin) != 1) return 1;
  for (int i = 0; i < 2; ++i) {{
    struct tvmgen_m_outputs outputs = {{.{output} = y[i]}};
    if (tvmgen_m_run(&inputs, &outputs, &pools) != 0) return 2;
    pools.flash = whole;
  }}
  if (memcmp(y[0], y[1], sizeof y[0]) != 0) return 3;
  return fwrite(y, sizeof y[0], 1, stdout) != 1;
}}
"""


@pytest.mark.slow
def test_constants_without_the_bytes_before_them(tmp_path):
    """Two arrays of an application: the content alone, and the memory with the content in it."""
    flash = ConstantPoolInfo("flash", ["c"], None, PoolInfoProperties(pool_offset=7, alignment=64))
    model = usmp.build(
        Attention,
        params=PARAMS,
        module_name="m",
        constant_memory_pools=ConstantMemoryPools([flash]),
    )
    model.export_model_library_format(tmp_path / "m.tar")
    memory = print_memory(usmp.load_archive(tmp_path / "m.tar").modules["m"])
    assert "pool_flash[TVMGEN_M_FLASH_CONSTANT_POOL_SIZE]" not in memory
    device_h = "codegen/host/include/tvmgen_m_device.h"
    declared = (
        b'#include "tvmgen_m.h"\nstruct tvmgen_m_workspace_pools* tvmgen_m_device_pools(void);\n'
    )
    (output,) = model.interface.outputs
    main = OWN_CONSTANTS.format(output=output.c_name, outputs=attention().size)
    main = f"{main}\n{memory[memory.index('TVMGEN_M_FLASH_') :]}"
    files = {**model.files(), device_h: declared}
    done = run(build_program(files, main, tmp_path / "program", SANITIZERS), 0)
    assert done.returncode == 0
    np.testing.assert_allclose(
        np.frombuffer(done.stdout, np.float32), attention().ravel(), rtol=1e-5
    )


@pytest.mark.slow
def test_an_address_that_the_machine_does_not_have(tmp_path):
    require("arm-none-eabi-gcc")
    places = {"pool_offset": 1 << 32}, {"address": 0xFFFF_FFE0}
    pools = [
        WorkspacePoolInfo(name, ["c"], PoolInfoProperties(**place, size_hint_bytes=256))
        for name, place in zip(("far", "sram"), places, strict=True)
    ]
    model = usmp.build(
        Attention,
        params=PARAMS,
        module_name="m",
        workspace_memory_pools=WorkspaceMemoryPools(pools),
    )
    write_files(model.files(), tmp_path)
    (source,) = [s for s in tmp_path.glob("codegen/host/src/*.c") if "has_address" in s.read_text()]
    command = ["arm-none-eabi-gcc", "-mcpu=cortex-m55", "-fsyntax-only", "-std=c99"]
    done = run_compiler([*command, f"-I{tmp_path}/codegen/host/include", source], check=False)
    assert done.returncode != 0
    for pool in pools:
        assert f"tvmgen_m_{pool.pool_name}_has_address" in done.stderr
