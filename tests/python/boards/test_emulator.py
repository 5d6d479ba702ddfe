"""Programs in the emulators of boards: numbers, outputs, and what can go wrong."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from tvm.ir.transform import PassContext

import usmp
from conftest import ROOT
from support.board_programs import (
    build_program,
    every_board,
    require_board,
    run_program,
    small_model,
)
from support.micro import Micro
from usmp.boards.board import Board, board_named
from usmp.boards.board_run import program_memory
from usmp.boards.emulator import EmulatedModule, EmulatorError, run_emulator
from usmp.boards.project import project_files
from usmp.runtime import BuildError

pytestmark = pytest.mark.board

AN385 = board_named("mps2-an385")
DIGITS = ROOT / "examples/digits/digits_int8.tflite"
X = {"x": np.zeros((1, 16), np.float32)}
"""The input of `small_model`, whose output is 256 bytes."""


@cache
def digits(board: Board) -> usmp.AOTExecutorFactoryModule:
    return usmp.build(usmp.import_model(DIGITS), board=board)


def emulated(board, variables=None, factory=None) -> EmulatedModule:
    require_board(board)
    factory = factory or digits(board)
    metadata = factory.metadata["modules"]["default"]
    return EmulatedModule(factory.files(), metadata, board, variables)


@cache
def emulated_digits(board: Board) -> EmulatedModule:
    return emulated(board)


@every_board
def test_digits(digits_model, board):
    module, reference = emulated_digits(board), Micro(digits_model)
    inputs = [reference.random_inputs(seed) for seed in range(4)]
    first, second = module.run(inputs), module.run(inputs)
    for given, outputs in zip(inputs, first.outputs, strict=True):
        expected = reference.run(given)
        assert {n: v.tobytes() for n, v in outputs.items()} == {
            n: v.tobytes() for n, v in expected.items()
        }
    assert first.instructions == second.instructions
    assert first.stack_used_bytes == second.stack_used_bytes < first.stack_size_bytes == 16384


def test_threads_run_one_program_in_turn(digits_model):
    module, reference = emulated_digits(AN385), Micro(digits_model)
    inputs = [reference.random_inputs(seed) for seed in range(4)]
    expected = [{n: v.tobytes() for n, v in reference.run(given).items()} for given in inputs]
    with ThreadPoolExecutor(4) as threads:
        runs = threads.map(lambda given: module.run([given]).outputs, inputs)
    assert [{n: v.tobytes() for n, v in outputs.items()} for (outputs,) in runs] == expected


@every_board
def test_memory_of_digits(board):
    """Weights are in read-only memory only, and all but pools and stack is small."""
    sections = emulated_digits(board).sections()
    places = {section.name: section.memory for section in sections}
    assert places[".constants_flash"] == "flash"
    assert places[".text"] == board.code_memory
    assert places[".stack"] == board.data_memory
    assert places[f".pool_{board.data_memory}"] == board.data_memory
    stack = next(section for section in sections if section.name == ".stack")
    assert stack.address == board.memory(board.data_memory).base
    memory = program_memory(sections, board)
    # For vectors weights are padded, and what follows a depthwise convolution is no part of its
    # segment.
    pools, constants = (1024, 27368) if board.name == "mps3-an547" else (928, 27112)
    assert (memory.pools, memory.stack, memory.constants) == (pools, 16384, constants)
    assert memory.variables <= 64
    # A segment is one function; operators one after the other take 18712.
    assert memory.code <= (23 if board.name == "riscv32-virt" else 20) << 10


def test_inputs_and_outputs_of_the_program(digits_model):
    """Arrays of its own then take RAM beyond the pools."""
    config = {"tir.usmp.use_workspace_io": False, "tir.usmp.streaming": False}
    with PassContext(config=config):
        factory = usmp.build(usmp.import_model(digits_model), board=AN385)
    module = emulated(AN385, factory=factory)
    reference = Micro(digits_model)
    given = reference.random_inputs(0)
    (outputs,) = module.run([given]).outputs
    assert outputs["probabilities"].tobytes() == reference.run(given)["probabilities"].tobytes()
    assert program_memory(module.sections(), AN385).variables >= 64 + 10


LOOPS = """#include "measure.h"
#include "report.h"
static void loop(uint32_t count) {
  measure_begin();
#ifdef __riscv
  __asm__ volatile("1: addi %0, %0, -1\\nbnez %0, 1b" : "+r"(count));
#else
  __asm__ volatile("1: subs %0, #1\\nbne 1b" : "+l"(count) : : "cc");
#endif
  report(-1, "instructions", measure_end());
}
int main(void) {
  for (uint32_t count = 1; count <= 40; ++count) loop(count);
  loop(1000);
  loop(1000000);
  loop(100000007);
  return 0;
}
"""
COUNTS = [*range(1, 41), 1000, 1_000_000, 100_000_007]


@every_board
def test_instructions_are_counted(tmp_path, board):
    """Two a round, and a few around the loop."""
    require_board(board)
    project = build_program(board, [small_model(board)], LOOPS, tmp_path)
    printed, _ = run_program(board, project)
    counted = map(int, re.findall(r"^instructions (\d+)$", printed, re.MULTILINE))
    excess = [n - 2 * count for n, count in zip(counted, COUNTS, strict=True)]
    assert max(map(abs, excess)) <= 5, excess


OVERFLOW = """
static int deeper(volatile int* above, int level) {
  volatile int array[100];
  array[0] = *above + level;
  return level == 0 ? array[0] : deeper(array, level - 1) + array[0];
}
int main(void) {
  volatile int zero = 0;
  return deeper(&zero, 1000000);
}
"""


ONE_WORD_TOO_MUCH = """
__attribute__((noinline)) static int larger_than_the_stack(void) {
  volatile int array[4096];
  array[0] = 1;
  return array[0];
}
int main(void) { return larger_than_the_stack() - 1; }
"""


@every_board
@pytest.mark.parametrize("main", [OVERFLOW, ONE_WORD_TOO_MUCH], ids=["far", "one-word"])
def test_a_stack_that_overflows(tmp_path, board, main):
    """Also where writes out of memory are lost in silence."""
    require_board(board)
    project = build_program(board, [small_model(board)], main, tmp_path)
    with pytest.raises(EmulatorError) as error:
        run_program(board, project)
    assert str(error.value) == (
        f"the program failed in {board.emulator.program} with exit status 3: fault: the stack "
        "overflowed; give it more with STACK_SIZE"
    )


def test_a_smaller_stack(digits_model):
    module = emulated(AN385, {"STACK_SIZE": "1024"})
    runs = module.run([Micro(digits_model).random_inputs(0)])
    assert runs.stack_size_bytes == 1024
    assert 64 <= runs.stack_used_bytes < 512


def test_a_program_that_does_not_end(tmp_path):
    require_board(AN385)
    factory = small_model(AN385)
    project = build_program(AN385, [factory], "int main(void) { for (;;) { } }\n", tmp_path)
    with pytest.raises(EmulatorError) as error:
        run_emulator(AN385, project, "model.elf", 0.5)
    assert str(error.value) == (
        "the program did not end within 0.5 seconds in qemu-system-arm; give it more with --timeout"
    )


def test_code_that_does_not_fit():
    """Only the linker knows how large code is."""
    memories = (replace(AN385.memories[0], size_bytes=30 << 10), *AN385.memories[1:])
    small = replace(AN385, name="small", memories=memories)
    require_board(small)
    factory = digits(AN385)
    files = factory.files() | project_files(factory.interface, small)
    with pytest.raises(BuildError) as error:
        EmulatedModule(files, factory.metadata["modules"]["default"], small)
    assert re.fullmatch(
        r"the program does not fit board small: flash \(30720 bytes at 0x00000000\) overflowed by "
        r"\d+ bytes; use smaller pools or a smaller stack \(STACK_SIZE\)",
        str(error.value),
    )


def test_a_stack_that_does_not_fit():
    with pytest.raises(BuildError) as error:
        emulated(AN385, {"STACK_SIZE": str(8 << 20)}, small_model(AN385))
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
    factory = digits(AN385)
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
    board = board_named(name)
    module = emulated(board, factory=small_model(board))
    monkeypatch.setenv("PATH", "")
    with pytest.raises(EmulatorError) as error:
        module.run([X])
    assert str(error.value) == message


WRITES = """#include "semihosting.h"
int main(void) {
  static const char report[] = "REPORT", outputs[256];
  const int32_t report_file = semihosting_open("report.txt", SEMIHOSTING_WRITE);
  const int32_t outputs_file = semihosting_open("outputs.bin", SEMIHOSTING_WRITE);
  semihosting_write(report_file, report, sizeof(report) - 1);
  semihosting_write(outputs_file, outputs, SIZE);
  return 0;
}
"""
REPORT = "instructions 1\\nstack_used 1\\nstack_size 1\\n"


@pytest.mark.parametrize(
    "main",
    [
        "int main(void) { return 0; }\n",
        WRITES.replace("REPORT", "ready").replace("SIZE", "256"),
        WRITES.replace("REPORT", "").replace("SIZE", "256"),
        WRITES.replace("REPORT", REPORT).replace("SIZE", "0"),
        WRITES.replace("REPORT", REPORT).replace("SIZE", "255"),
    ],
    ids=["nothing", "no report", "empty report", "no outputs", "short outputs"],
)
def test_a_main_of_ones_own_that_does_not_write_what_it_should(main):
    require_board(AN385)
    factory = small_model(AN385)
    files = factory.files() | {"project/main.c": main.encode()}
    module = EmulatedModule(files, factory.metadata["modules"]["default"], AN385)
    with pytest.raises(EmulatorError) as error:
        module.run([X])
    assert str(error.value) == (
        "the program ended without a whole outputs.bin and report.txt; a main.c other than that of "
        "tvmc compile has to write them as that does"
    )


def test_inputs_that_end_too_early(tmp_path):
    require_board(AN385)
    factory = small_model(AN385)
    main = factory.files()["project/main.c"].decode()
    project = build_program(AN385, [factory], main, tmp_path)
    with pytest.raises(EmulatorError, match=r"inputs\.bin holds no whole set of inputs$"):
        run_program(AN385, project, bytes(63))


def test_wrong_inputs():
    module = emulated_digits(AN385)
    with pytest.raises(ValueError) as error:
        module.run([{"image": np.zeros((8, 8), np.int8)}])
    assert str(error.value) == ('input "image" is int8[8, 8]; the model takes int8[1, 8, 8, 1]')
