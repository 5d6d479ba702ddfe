"""`usmp.build` with a pool for the states alone."""

from __future__ import annotations

import subprocess
from functools import cache

import numpy as np
import pytest

import usmp
from support.c_program import SANITIZERS, build_program
from support.planner_contexts import planner_context
from support.poison import poisoned
from support.relax_models import PARAMS, Attention
from support.state_models import Streaming, streaming_model
from usmp import PoolInfoProperties, WorkspaceMemoryPools, WorkspacePoolInfo

pytestmark = pytest.mark.usefixtures("one_session")

streaming = cache(streaming_model)
STATES = {"window": 96, "count": 2, "total": 32, "states_are_set": 1}


def workspace(name: str, size: int = -1, **properties) -> WorkspacePoolInfo:
    return WorkspacePoolInfo(name, ["c", "llvm"], PoolInfoProperties(size, **properties))


def build(state_pool, *pools, options=None, **arguments) -> usmp.AOTExecutorFactoryModule:
    with planner_context(options or {}):
        return usmp.build(
            streaming(),
            workspace_memory_pools=WorkspaceMemoryPools(pools) if pools else None,
            state_memory_pool=state_pool,
            **arguments,
        )


def message_of(*arguments, **options) -> str:
    with pytest.raises((ValueError, TypeError)) as error:
        build(*arguments, **options)
    return str(error.value)


def held(factory) -> dict[str, dict[str, int]]:
    """Pool -> name of each buffer -> its bytes; constants are left out."""
    pools = factory.metadata["modules"]["default"]["memory"]["pools"]
    return {
        pool["name"]: {buffer["name"]: buffer["size"] for buffer in pool["buffers"]}
        for pool in pools
        if pool["kind"] == "workspace"
    }


def kinds(factory, pool_name: str) -> set[str]:
    pools = factory.metadata["modules"]["default"]["memory"]["pools"]
    (pool,) = (pool for pool in pools if pool["name"] == pool_name)
    return {buffer["kind"] for buffer in pool["buffers"]}


@pytest.mark.slow
def test_a_new_pool_is_external():
    factory = build("backup")
    (pool,) = factory.interface.external_pools
    assert pool.name == "backup"
    assert held(factory)["backup"] == STATES
    assert kinds(factory, "global_workspace") == {"intermediate"}
    assert "  void* backup;  /* 145 bytes, aligned to 16, 131 kept between runs */" in (
        factory.header
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"use_workspace_io": True},
        {"algorithm": "greedy_by_size"},
        {"algorithm": "hill_climb"},
        {"algorithm": "no_sharing"},
        {"disabled_pass": ("OrderOperators",)},
    ],
    ids=str,
)
def test_states_are_there_and_nothing_else(options):
    factory = build("b", workspace("a", 32), workspace("b"), workspace("c"), options=options)
    pools = held(factory)
    assert pools["b"] == STATES
    assert not set(STATES) & {name for pool in ("a", "c") for name in pools.get(pool, {})}
    assert "c" in pools


@pytest.mark.slow
def test_a_pool_of_its_own_properties():
    pool = workspace("backup", 200, section_name=".backup", is_internal=True)
    factory = build(pool, workspace("sram"))
    assert held(factory)["backup"] == STATES
    assert 'TVMGEN_SECTION(".backup")' in factory.source


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.parametrize("target", ["c", "llvm"])
def test_what_is_computed(target):
    factory = build("backup", workspace("a", 48), workspace("b"), target=target)
    modules = [factory, poisoned(factory)] if target == "c" else [factory]
    for module in modules:
        loaded, reference = module.load(), Streaming()
        for x in np.random.default_rng(0).standard_normal((5, 1, 8)).astype(np.float32):
            outputs, expected = loaded.run({"x": x}), reference.run(x)
            np.testing.assert_allclose(outputs["y"], expected["y"], rtol=1e-5, atol=1e-5)
            np.testing.assert_array_equal(outputs["z"], expected["z"])


KEPT_C = """
#include <stdio.h>
#include <string.h>
#include "tvmgen_default.h"
static uint8_t first[TVMGEN_DEFAULT_BACKUP_WORKSPACE_POOL_SIZE] __attribute__((aligned(16)));
static uint8_t second[TVMGEN_DEFAULT_BACKUP_WORKSPACE_POOL_SIZE] __attribute__((aligned(16)));
static uint8_t shared[TVMGEN_DEFAULT_SRAM_WORKSPACE_POOL_SIZE] __attribute__((aligned(16)));
int main(void) {
  float x[8] = {0}, y[8];
  int32_t z[2];
  struct tvmgen_default_inputs inputs = {x};
  struct tvmgen_default_outputs outputs = {y, z};
  struct tvmgen_default_workspace_pools pools[2] = {{first, shared}, {second, shared}};
  for (int i = 0; i < 3; i++) {
    for (int instance = 0; instance < 2 - (i > 1); instance++) {
      memset(shared, 0x55, sizeof(shared));
      tvmgen_default_run(&inputs, &outputs, &pools[instance]);
      printf("%d ", (int)z[0]);
    }
  }
  return 0;
}
"""


@pytest.mark.slow
@pytest.mark.cc
def test_two_instances_share_all_but_the_state(tmp_path):
    """Between runs the whole of the other pool may be overwritten."""
    factory = build("backup", workspace("sram"))
    program = build_program(factory.files(), KEPT_C, tmp_path, SANITIZERS)
    done = subprocess.run([program], capture_output=True, check=True, text=True)
    assert done.stdout == "4 4 5 5 6 "


@pytest.mark.slow
def test_a_model_without_state_does_not_need_the_pool():
    """It stays in the interface, for applications that have the pool for other models."""
    factory = usmp.build(Attention, params=PARAMS, state_memory_pool="backup")
    plain = usmp.build(Attention, params=PARAMS)
    assert "#define TVMGEN_DEFAULT_BACKUP_WORKSPACE_POOL_SIZE 0\n" in factory.header
    assert "  void* backup;  /* nothing lies there" in factory.header
    added = set(factory.source.splitlines()) - set(plain.source.splitlines())
    assert [line for line in added if "workspace_pools" not in line] == []
    assert factory.ram_bytes == plain.ram_bytes


@pytest.mark.slow
def test_a_pool_that_is_too_small():
    message = message_of(workspace("backup", 100), workspace("sram"))
    assert message.startswith("TVM USMP Error: the space available in the provided pools exceeded")
    assert '"window" (96 bytes)' in message
    assert 'size_hint_bytes with which a plan fits: 145 for pool "backup"' in message
    assert held(build(workspace("backup", 145)))["backup"] == STATES


def test_what_is_refused():
    assert message_of("sram", workspace("sram")) == (
        'state pool "sram" is the only workspace pool, and holds nothing but state; '
        "add a workspace pool for everything else"
    )
    assert message_of(workspace("sram", 64), workspace("sram"), workspace("dtcm")) == (
        'state pool "sram": a workspace pool of this name has other properties; '
        "give the same pool for both, or only its name as the state pool"
    )
    assert message_of("global_workspace") == (
        'state pool "global_workspace": the workspace pool that everything else is in has this '
        "name; give the state pool another one"
    )
    assert message_of(["sram"]) == "state_memory_pool takes WorkspacePoolInfo, not list"


@pytest.mark.slow
def test_the_memory_of_a_board():
    factory = build("psram", board="mps2-an385")
    assert held(factory)["psram"] == STATES
    assert set(held(factory)) == {"psram", "sram"}
    assert 'TVMGEN_SECTION(".bss.pool.psram")' in factory.source
    small = build(workspace("psram", 1000), board="mps2-an385")
    assert held(small)["psram"] == STATES
    assert message_of(workspace("psram", 100), board="mps2-an385").startswith(
        "the model does not fit board mps2-an385: the states need at least 131 bytes, but there "
    )


def test_a_board_without_that_memory():
    assert message_of("backup", board="mps2-an385") == (
        'board mps2-an385 has no memory "backup". Its memories: flash, sram, psram'
    )
    assert message_of("flash", board="mps2-an385") == (
        'workspace pool "flash": board mps2-an385 can only read that memory; memories that it can '
        "write: sram, psram"
    )
    assert message_of("sram", board="riscv32-virt") == (
        'state pool "sram" is the only workspace pool, and holds nothing but state; '
        "add a workspace pool for everything else"
    )


@pytest.mark.slow
def test_a_pool_that_lasts():
    """A pool that is set apart for states may lie where start-up code clears nothing."""
    lasting = workspace("backup", section_name=".noinit", is_internal=True)
    factory = build("backup", lasting, workspace("sram"))
    text = (
        " * what was kept between runs. Start-up code does not zero\n"
        ' * workspace pool "backup": call it before the first run, unless what is there\n'
        " * was kept by a program with the same TVMGEN_DEFAULT_STATE_LAYOUT_HASH\n"
    )
    assert text in factory.header
    shared = build(None, lasting)
    with pytest.raises(ValueError, match=r'section "\.noinit" is not zeroed at start-up'):
        _ = shared.header


@pytest.mark.slow
def test_a_constant_pool_of_that_name():
    pools = usmp.ConstantMemoryPools([usmp.ConstantPoolInfo("backup", ["c"])])
    with pytest.raises(ValueError, match=r'^Two different memory pools are called "backup"$'):
        build("backup", constant_memory_pools=pools)
