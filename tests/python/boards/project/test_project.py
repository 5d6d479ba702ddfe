"""The files of a board's project."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from tvm.ir.transform import PassContext

import usmp
from support import compile_cache
from support.board_programs import SOME_BOARDS, require_board
from support.entry_models import entry_model, forgetting_model
from support.library_files import library_files
from support.relax_models import PARAMS, Attention
from usmp.boards.board import BOARDS, board_named
from usmp.boards.emulator import build_project
from usmp.runtime.write_files import write_files

AN385 = board_named("mps2-an385")
COMMON = {
    *("Makefile", "board.h", "board.ld", "main.c", "measure.h", "measure_stack.c", "report.c"),
    *("report.h", "semihosting.c", "semihosting.h", "startup.c", "startup.h"),
}


@cache
def build(board, io=True, **options):
    with PassContext(config={"tir.usmp.use_workspace_io": io}):
        return usmp.build(Attention, params=PARAMS, board=board, **options)


@cache
def build_entries(io=True) -> usmp.AOTExecutorFactoryModule:
    with PassContext(config={"tir.usmp.use_workspace_io": io}):
        return usmp.build(entry_model(), board="mps2-an385", module_name="net")


def project(factory) -> dict[str, str]:
    return {
        name.removeprefix("project/"): content.decode()
        for name, content in factory.files().items()
        if name.startswith("project/")
    }


@pytest.mark.parametrize(
    ("board", "own"),
    [
        ("mps2-an385", {"startup_cortex_m.c", "measure_fpgaio.c"}),
        ("riscv32-virt", {"startup_riscv.c", "measure_riscv.c"}),
    ],
)
def test_the_files(board, own):
    assert set(project(build(board))) == COMMON | own


@pytest.mark.slow
def test_without_a_board_there_is_no_project():
    assert project(usmp.build(Attention, params=PARAMS)) == {}


@pytest.mark.slow
def test_a_board_has_its_project_only():
    """Its pools lie where the linker script of that project puts them."""
    assert not set(library_files("default")) & set(build(AN385).files())
    assert set(library_files("default")) <= set(usmp.build(Attention, params=PARAMS).files())


@pytest.mark.slow
def test_the_metadata_name_the_board():
    assert build("mps3-an547").metadata["modules"]["default"]["board"] == "mps3-an547"
    assert "board" not in usmp.build(Attention, params=PARAMS).metadata["modules"]["default"]


@pytest.mark.slow
def test_the_same_model_gives_the_same_files():
    again = build.__wrapped__("mps3-an547")
    assert again is not build("mps3-an547")
    assert again.files() == build("mps3-an547").files()


def test_the_linker_script_has_the_memory_map():
    script = project(build("mps3-an547"))["board.ld"]
    regions = script.partition("MEMORY\n{\n")[2].partition("}\n")[0].splitlines()
    assert [line.partition("  /*")[0].strip() for line in regions] == [
        "itcm (rx) : ORIGIN = 0x00000000, LENGTH = 0x80000",
        "dtcm (rwx) : ORIGIN = 0x20000000, LENGTH = 0x80000",
        "sram (rwx) : ORIGIN = 0x01000000, LENGTH = 0x200000",
        "isram (rwx) : ORIGIN = 0x21000000, LENGTH = 0x400000",
        "flash (rx) : ORIGIN = 0x28000000, LENGTH = 0x800000",
        "ddr (rwx) : ORIGIN = 0x60000000, LENGTH = 0x80000000",
    ]


@pytest.mark.slow
def test_main_with_inputs_and_outputs_in_the_workspace():
    main = project(build("mps2-an385", module_name="net"))["main.c"]
    assert '#include "tvmgen_net.h"' in main
    assert "struct tvmgen_net_inputs inputs = tvmgen_net_map_inputs();" in main
    assert "const int32_t status = tvmgen_net_run();" in main
    assert "static uint8_t" not in main


@pytest.mark.slow
def test_main_with_inputs_and_outputs_of_its_own():
    main = project(build("mps2-an385", io=False))["main.c"]
    assert (
        "static uint8_t input_x[TVMGEN_DEFAULT_X_SIZE] __attribute__((aligned(16)));\n"
        "static uint8_t output_output[TVMGEN_DEFAULT_OUTPUT_SIZE] __attribute__((aligned(16)));"
    ) in main
    assert "struct tvmgen_default_inputs inputs = {input_x};" in main
    assert "const int32_t status = tvmgen_default_run(&inputs, &outputs);" in main
    assert (
        "static int read_inputs(int32_t file) {\n"
        "  if (semihosting_read(file, input_x, TVMGEN_DEFAULT_X_SIZE) != TVMGEN_DEFAULT_X_SIZE) {\n"
    ) in main
    assert "read_inputs(inputs_file)) {\n" in main


@pytest.mark.slow
def test_main_of_several_entries():
    """A person sees how each is called, and what it does to the state."""
    main = project(build_entries())["main.c"]
    assert (
        " * All entries see one state: 33 bytes that are kept between runs. A run finds\n"
        " * there what earlier ones left; tvmgen_net_reset() lets all begin anew.\n"
    ) in main
    assert (
        " * It uses none of the 33 bytes that are kept between runs.\n"
        " * No other entry may run at the same time\n */\n"
        "static int run_plain(const struct files* files) {\n"
        "  struct tvmgen_net_plain_inputs inputs = tvmgen_net_plain_map_inputs();\n"
        "  struct tvmgen_net_plain_outputs outputs = tvmgen_net_plain_map_outputs();\n"
        "  if (!fill(files->inputs, inputs.x, TVMGEN_NET_PLAIN_X_SIZE)) {\n"
    ) in main
    assert "  const int32_t status = tvmgen_net_plain_run();\n" in main
    table = '    {"learn", run_learn},\n    {"tell", run_tell},\n    {"plain", run_plain},\n'
    assert table in main
    assert "static uint8_t" not in main


@pytest.mark.slow
def test_main_of_several_entries_with_inputs_and_outputs_of_its_own():
    main = project(build_entries(io=False))["main.c"]
    assert (
        "static int run_tell(const struct files* files) {\n"
        "  static uint8_t input_x[TVMGEN_NET_TELL_X_SIZE] __attribute__((aligned(16)));\n"
        "  struct tvmgen_net_tell_inputs inputs = {input_x};\n"
        "  static uint8_t output_y[TVMGEN_NET_TELL_Y_SIZE] __attribute__((aligned(16)));\n"
        "  struct tvmgen_net_tell_outputs outputs = {output_y};\n"
        "  if (!fill(files->inputs, input_x, TVMGEN_NET_TELL_X_SIZE)) {\n"
    ) in main
    assert "  const int32_t status = tvmgen_net_tell_run(&inputs, &outputs);\n" in main


@pytest.mark.slow
@pytest.mark.board
@pytest.mark.parametrize(
    ("board", "io"),
    [*((board, True) for board in BOARDS), *((board, False) for board in SOME_BOARDS)],
    ids=[*(f"{b.name}-workspace-io" for b in BOARDS), *(f"{b.name}-own-io" for b in SOME_BOARDS)],
)
def test_the_project_compiles_without_warnings(tmp_path, board, io):
    require_board(board)
    write_files(build(board.name, io).files(), tmp_path)
    strict = "-O2 -Wall -Wextra -Werror -pedantic"
    build_project(tmp_path / "project", board, {"OPTIMIZATION": strict})
    assert (tmp_path / "project/model.elf").exists()


@pytest.mark.slow
@pytest.mark.board
@pytest.mark.parametrize(
    ("board", "io"), [("mps2-an385", True), ("mps2-an385", False), ("riscv32-virt", True)]
)
def test_a_project_of_several_entries_compiles_without_warnings(tmp_path, board, io):
    """Also of one that has neither inputs nor outputs."""
    board = board_named(board)
    require_board(board)
    with PassContext(config={"tir.usmp.use_workspace_io": io}):
        write_files(usmp.build(forgetting_model(), board=board).files(), tmp_path)
    strict = "-O2 -Wall -Wextra -Werror -pedantic"
    build_project(tmp_path / "project", board, {"OPTIMIZATION": strict})
    assert (tmp_path / "project/model.elf").exists()


def write_project(folder, board=AN385):
    require_board(board)
    write_files(build(board.name).files(), folder)
    return folder / "project"


@pytest.fixture
def no_cache(monkeypatch):
    """`make` runs: programs name the folder where they were compiled."""
    monkeypatch.setattr(compile_cache, "_folder", None)


def built(path) -> tuple[bytes, int]:
    """What a build made, and when."""
    return path.read_bytes(), path.stat().st_mtime_ns


@pytest.mark.slow
@pytest.mark.board
def test_other_options_build_anew(tmp_path, no_cache):
    folder = write_project(tmp_path)
    program = folder / "model.elf"
    build_project(folder, AN385, {})
    first = built(program)
    build_project(folder, AN385, {})
    assert built(program) == first
    build_project(folder, AN385, {"STACK_SIZE": "4096"})
    small_stack = built(program)
    assert small_stack[0] != first[0]
    build_project(folder, AN385, {"STACK_SIZE": "4096", "OPTIMIZATION": "-Os"})
    assert built(program)[0] != small_stack[0]
    build_project(folder, AN385, {})
    assert built(program)[0] == first[0]


@pytest.mark.slow
@pytest.mark.board
def test_the_makefile_is_the_users_to_change(tmp_path, no_cache):
    folder = write_project(tmp_path)
    build_project(folder, AN385, {})
    first = (folder / "model.elf").read_bytes()
    makefile = (folder / "Makefile").read_text()
    (folder / "Makefile").write_text(makefile.replace("STACK_SIZE ?= 16384", "STACK_SIZE = 4096"))
    build_project(folder, AN385, {})
    assert (folder / "model.elf").read_bytes() != first


@pytest.mark.board
def test_a_prefix_in_the_environment_is_another_one(tmp_path, monkeypatch):
    """Many tools call the folder that they install to so."""
    folder = write_project(tmp_path)
    monkeypatch.setenv("PREFIX", "/usr/local")
    build_project(folder, AN385, {})
    assert (folder / "model.elf").exists()


def test_the_packed_interface_is_refused():
    with pytest.raises(ValueError) as error:
        usmp.build(
            Attention,
            params=PARAMS,
            executor=usmp.Executor("aot", {"interface-api": "packed", "unpacked-api": False}),
            board="mps2-an385",
        )
    assert str(error.value) == (
        "the packed interface needs TVM's runtime, which a program for board mps2-an385 lacks; "
        "use interface-api c"
    )


@pytest.mark.slow
def test_a_board_of_ones_own():
    board = replace(board_named("mps2-an385"), name="mine", description="a board of my own")
    files = project(build(board))
    assert files["board.h"].startswith("/* Board mine: a board of my own. */")
