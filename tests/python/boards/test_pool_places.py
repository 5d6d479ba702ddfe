"""Pools at places of the user's in the memories of a board."""

from __future__ import annotations

import numpy as np
import pytest

import usmp
from support.board_programs import build_program, require_board, run_program
from support.relax_models import PARAMS, Attention, X, attention
from usmp import (
    ConstantMemoryPools,
    ConstantPoolInfo,
    PoolInfoProperties,
    WorkspaceMemoryPools,
    WorkspacePoolInfo,
)
from usmp.boards.board import board_named
from usmp.boards.emulator import EmulatedModule
from usmp.boards.pools import board_constant_pools, board_workspace_pools

AN547, AN505 = board_named("mps3-an547"), board_named("mps2-an505")


def workspace(**pools) -> WorkspaceMemoryPools:
    return WorkspaceMemoryPools(
        [WorkspacePoolInfo(name, ["c"], PoolInfoProperties(**p)) for name, p in pools.items()]
    )


def constants(name, **properties) -> ConstantMemoryPools:
    return ConstantMemoryPools(
        [ConstantPoolInfo(name, ["c"], None, PoolInfoProperties(**properties))]
    )


def refusal(board, **pools) -> str:
    with pytest.raises(ValueError) as error:
        board_workspace_pools(board, ["c"], workspace(**pools))
    return str(error.value)


def test_a_pool_takes_what_its_memory_has_behind_the_bytes_of_others():
    (pool,) = board_workspace_pools(AN547, ["c"], workspace(isram={"pool_offset": 0x101})).pools
    assert (pool.address, pool.pool_offset) == (0x2100_0000, 0x101)
    assert pool.size_hint_bytes == (4 << 20) - 0x101
    given = workspace(isram={"address": 0x2100_1003, "size_hint_bytes": 100})
    (pool,) = board_workspace_pools(AN547, ["c"], given).pools
    assert (pool.address, pool.size_hint_bytes) == (0x2100_1003, 100)


def test_a_pool_without_a_place_has_no_address():
    (pool,) = board_workspace_pools(AN547, ["c"], workspace(isram={"alignment": 64})).pools
    assert (pool.address, pool.alignment) == (-1, 64)


def test_an_address_of_another_memory():
    assert refusal(AN547, isram={"address": 0x2000_0000}) == (
        'pool "isram" begins at 0x20000000, but on board mps3-an547 memory isram (4194304 bytes '
        "at 0x21000000) ends at 0x213fffff; give it an address in that memory, or leave it out"
    )
    assert "begins at 0x21400000" in refusal(AN547, isram={"pool_offset": 4 << 20})
    assert "begins at 0x2000000000" in refusal(AN547, isram={"address": 0x20_0000_0000})


def test_memories_in_which_the_linker_places_other_things():
    others = "leave it out, or use another memory (sram, isram, flash, ddr)"
    assert refusal(AN547, dtcm={"pool_offset": 4}) == (
        'pool "dtcm" has a pool_offset, but in that memory of board mps3-an547 the program has '
        f"its stack and variables, around which the linker places the pool; {others}"
    )
    assert refusal(AN547, isram={"address": 0x2100_0000, "section_name": ".noinit.isram"}) == (
        'pool "isram" has an address, but in that memory of board mps3-an547 the program has '
        f"what it keeps between runs, around which the linker places the pool; {others}"
    )
    with pytest.raises(ValueError, match=r"has an address, .* the program has its code"):
        board_constant_pools(AN547, ["c"], constants("itcm", address=0))


MAIN = """#include <stdint.h>
#include <string.h>
#include "semihosting.h"
#include "tvmgen_default.h"

static int is_filled(uintptr_t begin, uintptr_t end) {{
  for (const volatile uint8_t* p = (const volatile uint8_t*)begin; p < (uint8_t*)end; ++p) {{
    if (*p != 0x5a) return 0;
  }}
  return 1;
}}

int main(void) {{
  struct tvmgen_default_inputs inputs = tvmgen_default_map_inputs();
  struct tvmgen_default_outputs outputs = tvmgen_default_map_outputs();
  const int32_t in = semihosting_open("inputs.bin", SEMIHOSTING_READ);
  const int32_t out = semihosting_open("outputs.bin", SEMIHOSTING_WRITE);
  {fill}
  semihosting_read(in, inputs.x, TVMGEN_DEFAULT_X_SIZE);
  if (tvmgen_default_run() != 0) return 1;
  if (!({kept})) return 2;
  semihosting_write(out, outputs.{output}, TVMGEN_DEFAULT_{macro}_SIZE);
  semihosting_close(out);
  return 0;
}}
"""


@pytest.mark.slow
@pytest.mark.board
@pytest.mark.parametrize(
    ("board", "pools"),
    [
        # Two banks that are not contiguous are two pools of one kind.
        (
            AN547,
            {
                "sram": {
                    "address": 0x0100_0003,
                    "pool_offset": 2,
                    "alignment": 32,
                    "size_hint_bytes": 256,
                },
                "isram": {"pool_offset": 0x101, "alignment": 64},
            },
        ),
        (
            AN505,
            {
                "isram": {"address": 0x3000_0001, "size_hint_bytes": 256},
                "psram": {"address": 0x8000_0007, "pool_offset": 9, "alignment": 128},
            },
        ),
    ],
    ids=["mps3-an547", "mps2-an505"],
)
def test_neighbors_keep_their_bytes_on_a_board(tmp_path, board, pools):
    require_board(board)
    given = workspace(**pools)
    factory = usmp.build(Attention, params=PARAMS, board=board, workspace_memory_pools=given)
    described = {p["name"]: p for p in factory.metadata["modules"]["default"]["memory"]["pools"]}
    fill, kept = [], []
    for name, properties in pools.items():
        pool = described[name]
        assert pool["size_bytes"] > 0
        begin = pool["address"] + pool["first_byte"]
        assert begin % max(16, properties.get("alignment", 0)) == 0
        end, base = begin + pool["size_bytes"], board.memory(name).base
        assert begin >= pool["address"] + properties.get("pool_offset", 0)
        for start, stop in ((base, begin), (end, end + 256)):
            fill.append(f"memset((void*)0x{start:x}, 0x5a, 0x{stop - start:x});")
            kept.append(f"is_filled(0x{start:x}, 0x{stop:x})")
    (output,) = factory.interface.outputs
    main = MAIN.format(
        output=output.c_name,
        macro=output.c_name.upper(),
        fill="\n  ".join(fill),
        kept=" && ".join(kept),
    )
    project = build_program(board, [factory], main, tmp_path)
    _, content = run_program(board, project, X.tobytes())
    np.testing.assert_allclose(np.frombuffer(content, np.float32), attention().ravel(), rtol=1e-5)


@pytest.mark.slow
@pytest.mark.board
def test_constants_at_an_address_of_a_board():
    require_board(AN547)
    factory = usmp.build(
        Attention,
        params=PARAMS,
        board=AN547,
        workspace_memory_pools=workspace(dtcm={"alignment": 32}),
        constant_memory_pools=constants("flash", pool_offset=7, alignment=64),
    )
    module = EmulatedModule(factory.files(), factory.metadata["modules"]["default"], AN547)
    (results,) = module.run([{"x": X}]).outputs
    (value,) = results.values()
    np.testing.assert_allclose(value, attention(), rtol=1e-5)
    sections = {s.name: s for s in module.sections()}
    assert sections[".constants_flash"].address == 0x2800_0040
    pool = sections[".pool_dtcm"]
    assert (pool.address % 32, pool.size_bytes % 32) == (0, 0)
