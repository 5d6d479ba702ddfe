"""Programs in the emulators of boards: outputs, memory, and what can go wrong."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from tvm.ir.transform import PassContext

import usmp
from support.board_programs import every_board, require_board, run_program
from support.levels import in_long_run
from support.micro import Micro
from support.small_digits import small_convolutions, small_digits
from usmp.boards.board import BOARDS, Board, board_named
from usmp.boards.board_run import program_memory
from usmp.boards.emulator import EmulatedModule, EmulatorError
from usmp.boards.project import project_files
from usmp.frontend.tflite.importer import import_tflite
from usmp.runtime import BuildError

pytestmark = pytest.mark.board

AN385, AN547 = board_named("mps2-an385"), board_named("mps3-an547")
SMALL = small_digits()
IMAGE = {"image": np.zeros((1, 8, 8, 1), np.int8)}


@cache
def small(board: Board) -> usmp.AOTExecutorFactoryModule:
    """A model with the tensors of the one of examples/digits."""
    return usmp.build(import_tflite(SMALL), board=board)


def emulated(board, variables=None, factory=None, **files) -> EmulatedModule:
    """A program; of other `files`, name -> content, if there are any."""
    require_board(board)
    factory = factory or small(board)
    metadata = factory.metadata["modules"]["default"]
    return EmulatedModule(factory.files() | files, metadata, board, variables)


@cache
def emulated_small(board: Board) -> EmulatedModule:
    return emulated(board)


@every_board
def test_a_model(board):
    module, reference = emulated_small(board), Micro(SMALL)
    inputs = [reference.random_inputs(seed) for seed in range(4)]
    first, second = module.run(inputs), module.run(inputs)
    for given, outputs in zip(inputs, first.outputs, strict=True):
        expected = reference.run(given)
        assert {n: v.tobytes() for n, v in outputs.items()} == {
            n: v.tobytes() for n, v in expected.items()
        }
    assert first.instructions == second.instructions
    assert first.stack_used_bytes == second.stack_used_bytes < first.stack_size_bytes == 16384


def test_threads_run_one_program_in_turn():
    module, reference = emulated_small(AN385), Micro(SMALL)
    inputs = [reference.random_inputs(seed) for seed in range(4)]
    expected = [{n: v.tobytes() for n, v in reference.run(given).items()} for given in inputs]
    with ThreadPoolExecutor(4) as threads:
        runs = threads.map(lambda given: module.run([given]).outputs, inputs)
    assert [{n: v.tobytes() for n, v in outputs.items()} for (outputs,) in runs] == expected


@every_board
def test_places_of_sections(board):
    """Weights are in read-only memory only."""
    sections = {section.name: section for section in emulated_small(board).sections()}
    places = {name: section.memory for name, section in sections.items()}
    assert places[".constants_flash"] == "flash"
    assert places[".text"] == board.code_memory
    assert places[".stack"] == board.data_memory
    assert places[f".pool_{board.data_memory}"] == board.data_memory
    assert sections[".stack"].address == board.memory(board.data_memory).base


OTHER_BOARDS = [board for board in BOARDS if board.name not in ("mps2-an385", "mps3-an547")]


@pytest.mark.slow
@pytest.mark.parametrize(
    "board", [AN385, AN547, *in_long_run(OTHER_BOARDS)], ids=lambda board: board.name
)
def test_memory_of_convolutions(board):
    """All but pools and stack is small."""
    model = small_convolutions()
    factory = usmp.build(import_tflite(model), board=board)
    module, reference = emulated(board, factory=factory), Micro(model)
    inputs = reference.random_inputs(0)
    (outputs,) = module.run([inputs]).outputs
    assert outputs["probabilities"].tobytes() == reference.run(inputs)["probabilities"].tobytes()
    memory = program_memory(module.sections(), board)
    # For vectors weights are padded.
    constants = 2336 if board == AN547 else 1784
    assert (memory.pools, memory.stack, memory.constants) == (272, 16384, constants)
    assert memory.variables <= 64
    assert memory.code <= (11 if board.name == "riscv32-virt" else 9) << 10


@pytest.mark.slow
def test_inputs_and_outputs_of_the_program():
    """Arrays of its own then take RAM beyond the pools."""
    with PassContext(config={"tir.usmp.use_workspace_io": False}):
        factory = usmp.build(import_tflite(SMALL), board=AN385)
    module, reference = emulated(AN385, factory=factory), Micro(SMALL)
    given = reference.random_inputs(0)
    (outputs,) = module.run([given]).outputs
    assert outputs["probabilities"].tobytes() == reference.run(given)["probabilities"].tobytes()
    assert program_memory(module.sections(), AN385).variables >= 64 + 10


@pytest.mark.slow
def test_a_smaller_stack():
    runs = emulated(AN385, {"STACK_SIZE": "1024"}).run([IMAGE])
    assert runs.stack_size_bytes == 1024
    assert 64 <= runs.stack_used_bytes < 512


@pytest.mark.slow
def test_code_that_does_not_fit():
    """Only the linker knows how large code is."""
    memories = (replace(AN385.memories[0], size_bytes=2 << 10), *AN385.memories[1:])
    board = replace(AN385, name="small", memories=memories)
    require_board(board)
    factory = small(AN385)
    files = factory.files() | project_files(factory.interface, board)
    with pytest.raises(BuildError) as error:
        EmulatedModule(files, factory.metadata["modules"]["default"], board)
    assert re.fullmatch(
        r"the program does not fit board small: flash \(2048 bytes at 0x00000000\) overflowed by "
        r"\d+ bytes; use smaller pools or a smaller stack \(STACK_SIZE\)",
        str(error.value),
    )


@pytest.mark.slow
def test_a_stack_that_does_not_fit():
    with pytest.raises(BuildError) as error:
        emulated(AN385, {"STACK_SIZE": str(8 << 20)})
    assert "sram (4194304 bytes at 0x20000000) overflowed by 4194" in str(error.value)


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        ([], "make is not installed; apt-get install make"),
        (
            ["make"],
            "arm-none-eabi-gcc is not installed; apt-get install gcc-arm-none-eabi "
            "libnewlib-arm-none-eabi",
        ),
    ],
)
def test_missing_tools_of_the_build(tmp_path, monkeypatch, tools, message):
    factory = small(AN385)
    for tool in tools:
        (tmp_path / tool).write_text("#!/bin/sh\n")
        (tmp_path / tool).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BuildError) as error:
        EmulatedModule(factory.files(), factory.metadata["modules"]["default"], AN385)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mps3-an547", "qemu-system-arm is not installed; apt-get install qemu-system-arm"),
        ("riscv32-virt", "qemu-system-riscv32 is not installed; apt-get install qemu-system-misc"),
    ],
)
def test_a_missing_emulator(monkeypatch, name, message):
    module = emulated_small(board_named(name))
    monkeypatch.setenv("PATH", "")
    with pytest.raises(EmulatorError) as error:
        module.run([IMAGE])
    assert str(error.value) == message


OWN_MAIN = """#include "semihosting.h"
static void write(const char* report, int32_t report_bytes, int32_t output_bytes) {
  static const char outputs[20];
  semihosting_write(semihosting_open("report.txt", SEMIHOSTING_WRITE), report, report_bytes);
  semihosting_write(semihosting_open("outputs.bin", SEMIHOSTING_WRITE), outputs, output_bytes);
}
int main(void) {
  static const char whole[] = "instructions 1\\nstack_used 1\\nstack_size 1\\n";
  static const char of_two[] =
      "instructions 1\\ninstructions 2\\nstack_used 1\\nstack_size 1\\n"
      "operator 1\\noperator 2\\noperator 3\\noperator 4\\noperator 5\\n";
  uint8_t chosen = 0;
  semihosting_read(semihosting_open("inputs.bin", SEMIHOSTING_READ), &chosen, 1);
  if (chosen == 1) write(whole, sizeof(whole) - 1, 10);
  if (chosen == 2) write("ready", 5, 10);
  if (chosen == 3) write("", 0, 10);
  if (chosen == 4) write(whole, sizeof(whole) - 1, 0);
  if (chosen == 5) write(whole, sizeof(whole) - 1, 9);
  if (chosen == 7) write(whole, sizeof(whole) - 1, 20);
  if (chosen == 8) write(of_two, sizeof(of_two) - 1, 20);
  if (chosen == 9) write(of_two, sizeof(of_two) - 1 - 11, 20);
  while (chosen == 6) {
  }
  return 0;
}
"""


@pytest.fixture(scope="module")
def own_main() -> EmulatedModule:
    """A program that does what the first byte of its input tells."""
    return emulated(AN385, **{"project/main.c": OWN_MAIN.encode()})


def choosing(number: int) -> dict[str, np.ndarray]:
    return {"image": np.full((1, 8, 8, 1), number, np.int8)}


def test_a_main_of_ones_own(own_main):
    runs = own_main.run([choosing(1)])
    assert (runs.instructions, runs.stack_used_bytes, runs.stack_size_bytes) == ([1], 1, 1)
    assert runs.outputs[0]["probabilities"].tobytes() == bytes(10)
    runs = own_main.run([choosing(9)] * 2)
    assert (runs.instructions, runs.operators) == ([1, 2], [[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("number", "count"),
    [(0, 1), (2, 1), (3, 1), (4, 1), (5, 1), (7, 1), (7, 2), (8, 2)],
    ids=[
        *("nothing", "no report", "empty report", "no outputs", "short outputs", "long outputs"),
        *("report of one run", "operators of another number of runs"),
    ],
)
def test_a_main_of_ones_own_that_does_not_write_what_it_should(own_main, number, count):
    for name in ("report.txt", "outputs.bin"):
        # What a run before wrote.
        (own_main._project / name).unlink(missing_ok=True)
    with pytest.raises(EmulatorError) as error:
        own_main.run([choosing(number)] * count)
    assert str(error.value) == (
        "the program ended without a whole outputs.bin and report.txt; a main.c other than that of "
        "tvmc compile has to write them as that does"
    )


@pytest.mark.slow
def test_a_program_that_does_not_end(own_main):
    with pytest.raises(EmulatorError) as error:
        own_main.run([choosing(6)], timeout_seconds=0.5)
    assert str(error.value) == (
        "the program did not end within 0.5 seconds in qemu-system-arm; give it more with --timeout"
    )


def test_inputs_that_end_too_early():
    project = emulated_small(AN385)._project
    with pytest.raises(EmulatorError, match=r"inputs\.bin holds no whole set of inputs$"):
        run_program(AN385, project, bytes(63))


def test_wrong_inputs():
    with pytest.raises(ValueError) as error:
        emulated_small(AN385).run([{"image": np.zeros((8, 8), np.int8)}])
    assert str(error.value) == ('input "image" is int8[8, 8]; the model takes int8[1, 8, 8, 1]')
