"""Inputs and outputs in a memory of a board, as one that DMA reaches."""

from __future__ import annotations

import numpy as np
import pytest

import usmp
from support.board_programs import build_program, require_board, run_program
from support.relax_models import PARAMS, Attention, X, attention
from support.state_models import Streaming, streaming_model
from usmp import PoolInfoProperties, WorkspaceMemoryPools, WorkspacePoolInfo
from usmp.boards.board import board_named
from usmp.boards.emulator import EmulatedModule
from usmp.boards.pools import board_pools
from usmp.objects.target.targets import parse_targets

pytestmark = pytest.mark.usefixtures("one_session")

AN505, STREAMING = board_named("mps2-an505"), streaming_model()


def workspace(*names: str, io: str = "any") -> WorkspaceMemoryPools:
    """Pools of these names; the last one with this `io`."""
    pools = [WorkspacePoolInfo(name, ["c"]) for name in names]
    return WorkspaceMemoryPools([*pools[:-1], pools[-1].with_properties(io=io)])


def build(mod=Attention, **arguments) -> usmp.AOTExecutorFactoryModule:
    params = PARAMS if mod is Attention else None
    return usmp.build(mod, params=params, board=AN505, **arguments)


def kinds(factory) -> dict[str, set[str]]:
    pools = factory.metadata["modules"]["default"]["memory"]["pools"]
    return {
        pool["name"]: {buffer["kind"] for buffer in pool["buffers"]}
        for pool in pools
        if pool["kind"] == "workspace"
    }


def message_of(**arguments) -> str:
    with pytest.raises(ValueError) as error:
        build(**arguments)
    return str(error.value)


def described(io_pool: str, given: WorkspaceMemoryPools | None = None):
    """The workspace pools with their `io`, and those that the user did not name."""
    found = board_pools(AN505, parse_targets("c"), given, io_pool=io_pool)
    pools = {str(pool.pool_name): str(pool.io) for pool in found.workspace.pools}
    return pools, [name for name in found.own if name != "flash"]


def test_one_of_the_boards_own_memories():
    assert described("psram") == ({"sram": "any", "psram": "any"}, ["sram"])


def test_another_memory_of_the_board():
    """It is no memory for anything else."""
    assert described("isram") == (
        {"sram": "any", "psram": "any", "isram": "only"},
        ["psram", "sram"],
    )
    assert described("isram", workspace("psram")) == ({"psram": "any", "isram": "only"}, [])


@pytest.mark.slow
def test_where_they_lie():
    intermediate, io = {"intermediate"}, {"input", "output"}
    assert kinds(build(io_memory_pool="psram")) == {"sram": intermediate, "psram": io}
    assert kinds(build(io_memory_pool="isram")) == {"sram": intermediate, "isram": io}
    only = workspace("sram", "isram", io="only")
    assert kinds(build(workspace_memory_pools=only)) == {"sram": intermediate, "isram": io}
    lasting = WorkspacePoolInfo(
        "psram", ["c"], PoolInfoProperties(section_name=".noinit.psram", io="no")
    )
    factory = build(STREAMING, io_memory_pool="isram", state_memory_pool=lasting)
    assert kinds(factory) == {"sram": intermediate, "isram": io, "psram": {"state"}}
    assert 'TVMGEN_SECTION(".noinit.psram")' in factory.source
    assert 'TVMGEN_SECTION(".bss.pool.isram")' in factory.source


def test_what_is_refused():
    assert message_of(io_memory_pool="ccm") == (
        'board mps2-an505 has no memory "ccm". Its memories: flash, sram, isram, psram'
    )
    assert message_of(io_memory_pool="flash") == (
        'workspace pool "flash": board mps2-an505 can only read that memory; memories that it can '
        "write: sram, isram, psram"
    )
    for io_pool in ("isram", "psram"):
        assert message_of(io_memory_pool=io_pool, state_memory_pool=io_pool) == (
            f'I/O pool "{io_pool}" is the state pool, which holds nothing but state; name another '
            "pool for one of them"
        )


def test_a_memory_that_is_too_small():
    small = WorkspacePoolInfo("isram", ["c"], PoolInfoProperties(100, io="only"))
    sram = WorkspacePoolInfo("sram", ["c"], PoolInfoProperties(io="no"))
    message = message_of(workspace_memory_pools=WorkspaceMemoryPools([sram, small]))
    assert message.startswith(
        "the model does not fit board mps2-an505: inputs and outputs need at least 256 bytes, but "
        "there are 100. The largest buffer is output (at least 256 bytes)\nisram (32768 bytes at "
        "0x30000000) has 100 bytes for pools, at least 156 too few\n"
    )


MAIN_C = """
#include "semihosting.h"
#include "tvmgen_default.h"

static int lies_in_isram(const void* tensor, uint32_t size) {
  const uint32_t start = (uint32_t)tensor;
  return start >= 0x30000000u && start + size <= 0x30008000u;
}

int main(void) {
  const int32_t in = semihosting_open("inputs.bin", SEMIHOSTING_READ);
  const int32_t out = semihosting_open("outputs.bin", SEMIHOSTING_WRITE);
  const struct tvmgen_default_inputs inputs = tvmgen_default_map_inputs();
  const struct tvmgen_default_outputs outputs = tvmgen_default_map_outputs();
  if (!lies_in_isram(inputs.x, TVMGEN_DEFAULT_X_SIZE)) return 2;
  if (!lies_in_isram(outputs.output, TVMGEN_DEFAULT_OUTPUT_SIZE)) return 3;
  semihosting_read(in, inputs.x, TVMGEN_DEFAULT_X_SIZE);
  if (tvmgen_default_run() != 0) return 4;
  semihosting_write(out, outputs.output, TVMGEN_DEFAULT_OUTPUT_SIZE);
  semihosting_close(out);
  return 0;
}
"""


@pytest.mark.slow
@pytest.mark.board
def test_their_addresses_are_those_of_the_memory(tmp_path):
    require_board(AN505)
    project = build_program(AN505, [build(io_memory_pool="isram")], MAIN_C, tmp_path)
    _, output = run_program(AN505, project, X.tobytes())
    np.testing.assert_allclose(np.frombuffer(output, np.float32), attention().ravel(), rtol=1e-5)


@pytest.mark.slow
@pytest.mark.board
def test_a_program_that_keeps_state(tmp_path):
    """The three memories hold intermediates, inputs and outputs, and states."""
    require_board(AN505)
    factory = build(STREAMING, io_memory_pool="isram", state_memory_pool="psram")
    module = EmulatedModule(factory.files(), factory.metadata["modules"]["default"], AN505)
    inputs = [np.random.default_rng(i).standard_normal((1, 8)).astype(np.float32) for i in range(3)]
    outputs, reference = module.run([{"x": x} for x in inputs]).outputs, Streaming()
    for x, found in zip(inputs, outputs, strict=True):
        expected = reference.run(x)
        np.testing.assert_array_equal(found["z"], expected["z"])
        np.testing.assert_allclose(found["y"], expected["y"], rtol=1e-4, atol=1e-5)
