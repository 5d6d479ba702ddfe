"""Pools that the user names and a model does not need: an application that passes them compiles.

They are in the header with size 0 and in the structure; nothing reads their address.
"""

from __future__ import annotations

import re
import subprocess

import numpy as np
import pytest
from tvm.ir.transform import PassContext
from tvm.script import ir as I
from tvm.script import relax as R

import usmp
from support.c_program import SANITIZERS, build_program
from support.relax_models import X, attention, bound_attention
from usmp import (
    ConstantMemoryPools,
    ConstantPoolInfo,
    Executor,
    PoolInfoProperties,
    WorkspaceMemoryPools,
    WorkspacePoolInfo,
)
from usmp.device.memory_source import print_memory
from usmp.runtime.archive import archive_of

pytestmark = pytest.mark.usefixtures("one_session")

ZERO = {
    "peak_bytes": 0,
    "memory_pressure_bytes": 0,
    "lower_bound_bytes": 0,
    "optimal": True,
    "live_at_peak": [],
    "buffers": [],
}
"""What metadata.json says of what a plan does with an empty pool."""


def build(mod=None, *, internal=False, board=None, executor=None, **options):
    """A model that needs the first of two pools of each kind."""
    inside = PoolInfoProperties(is_internal=internal)
    rows = [WorkspacePoolInfo(name, ["c"], inside) for name in ("dtcm", "sram")]
    constants = [ConstantPoolInfo(name, ["c"], None, inside) for name in ("itcm", "flash")]
    return usmp.build(
        mod or bound_attention(),
        executor=executor,
        board=board,
        workspace_memory_pools=WorkspaceMemoryPools(rows),
        constant_memory_pools=None if board else ConstantMemoryPools(constants),
        **options,
    )


@pytest.fixture(scope="module")
def factory():
    return build()


def sizes(header: str) -> dict[str, int]:
    found = re.findall(r"^#define TVMGEN_DEFAULT_(\w+)_POOL_SIZE (\d+)$", header, re.MULTILINE)
    return {name: int(size) for name, size in found}


SIZES = {"DTCM_WORKSPACE": 320, "FLASH_CONSTANT": 0, "ITCM_CONSTANT": 8192, "SRAM_WORKSPACE": 0}


@pytest.mark.slow
def test_the_header_has_all_pools(factory):
    assert sizes(factory.header) == SIZES
    struct = factory.header.split("struct tvmgen_default_workspace_pools {\n")[1].split("};")[0]
    assert struct.splitlines() == [
        "  void* dtcm;  /* 320 bytes, aligned to 16 */",
        "  const void* flash;  /* nothing lies there: 0 bytes, may be NULL */",
        "  const void* itcm;  /* 8192 bytes, aligned to 16 */",
        "  void* sram;  /* nothing lies there: 0 bytes, may be NULL */",
    ]
    assert "#define TVMGEN_DEFAULT_FLASH_CONSTANT_POOL_DATA\n" in factory.header
    assert "sram" not in factory.source and "flash" not in factory.source


def test_the_metadata_has_all_pools(factory):
    module = factory.metadata["modules"]["default"]
    pools = {pool["name"]: pool for pool in module["memory"]["pools"]}
    assert list(pools) == ["dtcm", "flash", "itcm", "sram"]
    for name, kind in (("sram", "workspace"), ("flash", "constant")):
        assert pools[name] == {
            "name": name,
            "c_name": name,
            "kind": kind,
            "internal": False,
            "size_hint_bytes": -1,
            "size_bytes": 0,
            "alignment_bytes": 16,
            **ZERO,
        }
    (main,) = module["memory"]["functions"]["main"]
    assert (main["workspace_pools"], main["constant_pools"]) == ({"dtcm": 320}, {"itcm": 8192})


def test_reports_show_what_lies_somewhere(factory):
    summary = factory.summary()
    assert re.search(r"^ sram +workspace +0 +0 +- +yes *$", summary, re.MULTILINE)
    assert "Live at the peak of dtcm" in summary and "Live at the peak of sram" not in summary
    metadata = factory.metadata["modules"]["default"]
    assert [pool.name for pool in usmp.report.map_of_metadata(metadata).pools] == ["dtcm", "itcm"]
    assert "pools: dtcm 320, flash 0, itcm 8192, sram 0" in repr(factory)


ARRAYS = """
#include <stdio.h>
#include "tvmgen_default.h"
#define DEFINE(type, name, POOL) \\
  TVMGEN_DEFAULT_##POOL##_POOL_ATTRIBUTES static type name[TVMGEN_DEFAULT_##POOL##_POOL_SIZE]
DEFINE(uint8_t, dtcm, DTCM_WORKSPACE);
DEFINE(uint8_t, sram, SRAM_WORKSPACE);
DEFINE(const uint8_t, itcm, ITCM_CONSTANT) = {TVMGEN_DEFAULT_ITCM_CONSTANT_POOL_DATA};
DEFINE(const uint8_t, flash, FLASH_CONSTANT) = {TVMGEN_DEFAULT_FLASH_CONSTANT_POOL_DATA};
TVMGEN_DEFAULT_SRAM_WORKSPACE_POOL_ASSERT(sram);
TVMGEN_DEFAULT_FLASH_CONSTANT_POOL_ASSERT(flash);
static float x[16], y[2][64];
int main(void) {
  struct tvmgen_default_inputs inputs = {x};
  struct tvmgen_default_outputs arrays = {y[0]}, nulls = {y[1]};
  struct tvmgen_default_workspace_pools pools = {
      .dtcm = dtcm, .sram = sram, .itcm = (void*)itcm, .flash = (void*)flash};
  if (fread(x, sizeof x, 1, stdin) != 1) return 1;
  if (tvmgen_default_run(&inputs, &arrays, &pools) != 0) return 2;
  pools.sram = NULL;
  pools.flash = NULL;
  if (tvmgen_default_run(&inputs, &nulls, &pools) != 0) return 3;
  return fwrite(y, sizeof y, 1, stdout) != 1;
}
"""


@pytest.mark.cc
def test_an_application_that_defines_and_passes_them(factory, tmp_path):
    """Its arrays of 0 bytes are an extension of C, which only `-pedantic` refuses."""
    program = build_program(factory.files(), ARRAYS, tmp_path, [*SANITIZERS, "-Wno-pedantic"])
    done = subprocess.run([program], input=X.tobytes(), stdout=subprocess.PIPE, check=True)
    outputs = np.frombuffer(done.stdout, np.float32).reshape(2, 64)
    np.testing.assert_allclose(outputs, np.repeat(attention(), 2, 0), rtol=1e-5)


IN_THE_WORKSPACE = """
#include <stdio.h>
#include "tvmgen_default.h"
static uint8_t dtcm[TVMGEN_DEFAULT_DTCM_WORKSPACE_POOL_SIZE] __attribute__((aligned(16)));
int main(void) {
  struct tvmgen_default_workspace_pools pools = {.dtcm = dtcm, .sram = NULL};
  struct tvmgen_default_inputs inputs = tvmgen_default_map_inputs(&pools);
  struct tvmgen_default_outputs outputs = tvmgen_default_map_outputs(&pools);
  if (fread(inputs.x, TVMGEN_DEFAULT_X_SIZE, 1, stdin) != 1) return 1;
  if (tvmgen_default_run(&pools) != 0) return 2;
  return fwrite(outputs.output, TVMGEN_DEFAULT_OUTPUT_SIZE, 1, stdout) != 1;
}
"""


@pytest.mark.cc
def test_inputs_and_outputs_in_the_workspace(tmp_path):
    """Use case U4 of RFC 0009, in strict C99, with constants in the C."""
    pools = WorkspaceMemoryPools([WorkspacePoolInfo(name, ["c"]) for name in ("dtcm", "sram")])
    with PassContext(config={"tir.usmp.use_workspace_io": True}):
        factory = usmp.build(bound_attention(), workspace_memory_pools=pools)
    program = build_program(factory.files(), IN_THE_WORKSPACE, tmp_path, SANITIZERS)
    done = subprocess.run([program], input=X.tobytes(), stdout=subprocess.PIPE, check=True)
    output = np.frombuffer(done.stdout, np.float32)
    np.testing.assert_allclose(output, attention().ravel(), rtol=1e-5)


@pytest.mark.cc
def test_this_host_and_archives(factory):
    (value,) = archive_of(factory.files()).load().run({"x": X}).values()
    np.testing.assert_allclose(value, attention(), rtol=1e-5)


def test_devices_define_no_arrays_for_them(factory):
    memory = print_memory(archive_of(factory.files()).module())
    assert re.findall(r"^static .*uint8_t (\w+)", memory, re.MULTILINE) == [
        "pool_dtcm",
        "pool_itcm",
    ]
    members = memory.split("_workspace_pools pools = {\n")[1].split("  };")[0].split()
    assert members == ["pool_dtcm,", "0,", "pool_itcm,", "0,"]


@pytest.mark.slow
@pytest.mark.cc
def test_functions_that_take_pools_one_by_one():
    packed = build(executor=Executor("aot", {"interface-api": "packed", "unpacked-api": False}))
    assert sizes(packed.header) == SIZES
    row = '" must be uint8[0] or more, not ", 0, 0, kDLUInt, 8, 1, 0},'  # Any address will do.
    assert "".join(packed.sources).count(row) == 2
    (value,) = packed.run({"x": X}).values()
    np.testing.assert_allclose(value, attention(), rtol=1e-5)


@pytest.mark.cc
def test_pools_of_the_c_itself():
    inside = build(internal=True)
    assert sizes(inside.header) == SIZES
    assert "tvmgen_default_dtcm[320]" in inside.source and "sram" not in inside.source
    (value,) = inside.run({"x": X}).values()
    np.testing.assert_allclose(value, attention(), rtol=1e-5)


@pytest.mark.slow
def test_memories_of_a_board_that_the_user_named():
    """A board's own memories are not listed where they are not needed."""
    named = build(board="mps3-an547", reference=False)
    assert sizes(named.header) == {
        "DTCM_WORKSPACE": 320,
        "FLASH_CONSTANT": 8192,
        "SRAM_WORKSPACE": 0,
    }
    own = usmp.build(bound_attention(), board="mps3-an547", reference=False)
    assert sizes(own.header) == {"DTCM_WORKSPACE": 320, "FLASH_CONSTANT": 8192}


def test_a_pool_for_states_of_a_model_without_states():
    factory = usmp.build(bound_attention(), state_memory_pool="backup")
    assert sizes(factory.header)["BACKUP_WORKSPACE"] == 0
    assert "  void* backup;" in factory.header


@I.ir_module
class Rows:
    @R.function
    def main(x: R.Tensor(("n", 16), "float32")):
        with R.dataflow():
            y = R.nn.softmax(R.exp(R.nn.softmax(x)))
            R.output(y)
        return y


@pytest.mark.slow
@pytest.mark.cc
def test_bytes_at_sizes_of_the_run(tmp_path):
    with PassContext(config={"tir.usmp.dynamic": "expression"}):
        factory = build(Rows, max_sizes={"n": 4})
    main = """
#include "tvmgen_default.h"
int main(void) {
  if (tvmgen_default_dtcm_workspace_size(4) != TVMGEN_DEFAULT_DTCM_WORKSPACE_POOL_SIZE) return 1;
  if (tvmgen_default_sram_workspace_size(4) != 0) return 2;
  return tvmgen_default_sram_workspace_size(5) != TVMGEN_DEFAULT_ERROR_SIZE;
}
"""
    subprocess.run([build_program(factory.files(), main, tmp_path, ["-O0"])], check=True)
