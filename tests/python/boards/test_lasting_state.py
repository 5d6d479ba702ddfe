"""States on boards that a reset of the processor leaves as they are."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from tvm.ir import IRModule

import usmp
from support.board_programs import require_board
from support.entry_models import Entries, calls, entry_model
from support.state_models import Streaming, streaming_model
from usmp import PoolInfoProperties, WorkspaceMemoryPools, WorkspacePoolInfo
from usmp.boards.board import Board, board_named
from usmp.boards.emulator import EmulatedModule

AN385 = board_named("mps2-an385")
X = [np.random.default_rng(i).standard_normal((1, 8)).astype(np.float32) for i in range(3)]

board_test = pytest.mark.board


def lasting(memory: str) -> WorkspacePoolInfo:
    return WorkspacePoolInfo(memory, ["c"], PoolInfoProperties(section_name=f".noinit.{memory}"))


def built(state_pool, board: Board = AN385, mod=None) -> usmp.AOTExecutorFactoryModule:
    return usmp.build(mod or streaming_model(), board=board, state_memory_pool=state_pool)


@cache
def built_lasting(
    memory: str = "psram", board: Board = AN385, model: Callable[[], IRModule] = streaming_model
) -> usmp.AOTExecutorFactoryModule:
    """A model whose states outlast a reset, for all tests that run it."""
    return built(lasting(memory), board, model())


def project_file(factory, name: str) -> str:
    return factory.files()[f"project/{name}"].decode()


RESET = """
  BEFORE
  static volatile uint32_t starts __attribute__((section(".noinit.layout")));
  if (starts++ == 0) {
    *(volatile uint32_t*)0xe000ed0cu = 0x05fa0004u;
    for (;;) {
    }
  }
  return 0;
}
"""


def reset_once(factory, board: Board, before: str = "") -> EmulatedModule:
    """A program that does all runs and what is in `before`, resets the processor, and does all
    again."""
    require_board(board)
    main = project_file(factory, "main.c")
    main, end, rest = main.rpartition("  return 0;\n}\n")
    assert end
    assert not rest
    main += RESET.replace("BEFORE", before)
    files = factory.files() | {"project/main.c": main.encode()}
    return EmulatedModule(files, factory.metadata["modules"]["default"], board)


def check_streaming(outputs, reference: Streaming) -> None:
    """Check that these are the outputs of the next runs."""
    for x, found in zip(X, outputs, strict=True):
        expected = reference.run(x)
        np.testing.assert_array_equal(found["z"], expected["z"])
        np.testing.assert_allclose(found["y"], expected["y"], rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@board_test
@pytest.mark.parametrize(("board", "memory"), [("mps2-an385", "psram"), ("mps3-an547", "dtcm")])
def test_a_reset_of_the_processor_keeps_the_state(board, memory):
    """The runs after it go on where those before it ended."""
    board = board_named(board)
    outputs = reset_once(built_lasting(memory, board), board).run([{"x": x} for x in X]).outputs
    reference = Streaming()
    for x in X:
        reference.run(x)
    check_streaming(outputs, reference)


@pytest.mark.slow
@board_test
@pytest.mark.parametrize("stored", [0, 1], ids=["in-a-run", "other-layout"])
def test_a_state_that_is_not_the_programs_own_begins_anew(stored):
    """As after a reset in the middle of a run, an update, or power-up."""
    program = reset_once(built_lasting(), AN385, f"state_layout = {stored};")
    check_streaming(program.run([{"x": x} for x in X]).outputs, Streaming())


@pytest.mark.slow
@board_test
def test_in_other_sections_the_state_begins_anew():
    factory = built("psram")
    script = project_file(factory, "board.ld")
    assert ".noinit" not in script
    changed = script.replace(
        "  .data : ALIGN(4)",
        "  .noinit (NOLOAD) : { *(.noinit.layout) } > psram\n\n  .data : ALIGN(4)",
    )
    assert changed != script
    main = project_file(factory, "main.c").rpartition("  return 0;\n}\n")[0] + RESET.replace(
        "BEFORE", ""
    )
    files = factory.files() | {
        "project/board.ld": changed.encode(),
        "project/main.c": main.encode(),
    }
    require_board(AN385)
    program = EmulatedModule(files, factory.metadata["modules"]["default"], AN385)
    check_streaming(program.run([{"x": x} for x in X]).outputs, Streaming())


@board_test
def test_entries_keep_their_state_too():
    runs = [(entry, {"x": x}) for entry, x in calls(12)]
    factory = built_lasting(model=entry_model)
    outputs = reset_once(factory, AN385).run(runs).outputs
    reference = Entries()
    for entry, inputs in runs:
        reference.run(inputs["x"], entry)
    for (entry, inputs), found in zip(runs, outputs, strict=True):
        for name, value in reference.run(inputs["x"], entry).items():
            np.testing.assert_allclose(found[name], value, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@board_test
@pytest.mark.parametrize("model", [streaming_model, entry_model], ids=["one", "several"])
def test_the_place_of_the_states(model):
    """At the beginning of the memory, wherever other code and variables are."""
    factory = built_lasting(model=model)
    require_board(AN385)
    strict = {"OPTIMIZATION": "-O2 -Werror -pedantic"}
    metadata = factory.metadata["modules"]["default"]
    program = EmulatedModule(factory.files(), metadata, AN385, strict)
    (section,) = (s for s in program.sections() if s.name == ".noinit_psram")
    assert (section.memory, section.address) == ("psram", 0x21000000)
    (pool,) = (pool for pool in factory.interface.pools if pool.name == "psram")
    assert section.size_bytes == -(-(16 + pool.size_bytes) // 4) * 4


def test_the_linker_script_and_main_know_of_it():
    factory = built_lasting()
    assert (
        "  .noinit_psram (NOLOAD) : ALIGN(16)\n  {\n    *(.noinit.layout)\n    . = ALIGN(16);\n"
        "    *(.noinit.psram)\n    . = ALIGN(4);\n  } > psram\n"
    ) in project_file(factory, "board.ld")
    main = project_file(factory, "main.c")
    assert (
        "  if (state_layout != TVMGEN_DEFAULT_STATE_LAYOUT_HASH) {\n"
        "    tvmgen_default_reset();\n  }\n"
    ) in main
    assert "    state_layout = 0;\n    measure_begin();\n" in main
    assert "    state_layout = TVMGEN_DEFAULT_STATE_LAYOUT_HASH;\n" in main


@pytest.mark.slow
def test_other_projects_do_not_have_it():
    for state_pool in (None, "psram"):
        factory = built(state_pool)
        assert "noinit" not in project_file(factory, "board.ld")
        assert "state_layout" not in project_file(factory, "main.c")


@pytest.mark.slow
def test_only_the_pool_of_the_states():
    """Nothing zeroes states among other buffers there."""
    pools = WorkspaceMemoryPools([lasting("psram")])
    with pytest.raises(ValueError, match=r'section "\.noinit\.psram" is not zeroed at start-up'):
        usmp.build(streaming_model(), board=AN385, workspace_memory_pools=pools).files()


def test_the_section_of_another_memory():
    properties = PoolInfoProperties(section_name=".noinit.sram")
    with pytest.raises(ValueError, match=r"section \.noinit\.sram is not in the linker script"):
        built(WorkspacePoolInfo("psram", ["c"], properties))
