"""Instructions by operator on emulated boards: exact, and together those of the run."""

from __future__ import annotations

import subprocess
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
from support.entry_models import entry_model
from support.micro import Micro
from usmp.boards.board import board_named
from usmp.boards.emulator import EmulatedModule
from usmp.boards.profile_board import profile_of_runs, profile_on_board
from usmp.runtime import NotProfiled

pytestmark = pytest.mark.board

AN385 = board_named("mps2-an385")
DIGITS = ROOT / "examples/digits/digits_int8.tflite"
IMAGE = {"image": np.ones((1, 8, 8, 1), np.int8)}
LOOP = """#include "board.h"
#include "measure.h"
#include "report.h"
#include "semihosting.h"

__attribute__((noinline, noclone)) static uint64_t counted(uint32_t times) {
  struct moment begin;
  moment_now(&begin);
  TIMES_TWO_INSTRUCTIONS
  return instructions_of(ticks_since(&begin));
}

int main(void) {
  measure_begin();
  const int32_t file = semihosting_open("report.txt", SEMIHOSTING_WRITE);
  const uint64_t least = counted(1);
  for (uint32_t times = 1; times < 60; ++times) {
    if (counted(times) - least != 2 * (times - 1)) semihosting_exit(1);
    if (counted(times << 14) - least != 2 * ((times << 14) - 1)) semihosting_exit(2);
  }
  if (counted(LONGEST) - least != 2 * ((uint64_t)LONGEST - 1)) semihosting_exit(3);
  report(file, "least", least);
  semihosting_close(file);
  return 0;
}
"""
COUNT_DOWN = {
    "cortex-m": '__asm__ volatile("0: subs %0, #1\\nbne 0b" : "+r"(times) : : "cc");',
    "riscv": '__asm__ volatile("0: addi %0, %0, -1\\nbnez %0, 0b" : "+r"(times));',
}


@cache
def digits_on(board, target="c", profile=True):
    """The model of examples/digits, built once for each board."""
    with PassContext(config={"tir.usmp.profile": profile}):
        return usmp.build(DIGITS, target=target, board=board)


def metadata_of(factory):
    return factory.metadata["modules"]["default"]


@every_board
def test_no_instruction_is_lost(board, tmp_path):
    """Loops of a known number of instructions, from a few to millions; one board's counter of 32
    bits begins anew meanwhile."""
    require_board(board)
    main = LOOP.replace("TIMES_TWO_INSTRUCTIONS", COUNT_DOWN[board.architecture])
    main = main.replace("LONGEST", "100000000u" if board == AN385 else "1000000u")
    project = build_program(board, [small_model(board)], main, tmp_path)
    run_program(board, project)
    assert (project / "report.txt").read_text().startswith("least ")


@every_board
def test_operators_are_all_of_a_run(board):
    """But for the hooks, at most 100 instructions an operator, and what lies between them."""
    require_board(board)
    factory = digits_on(board)
    module = EmulatedModule(factory.files(), metadata_of(factory), board)
    runs = module.run([IMAGE, IMAGE])
    first, second = runs.operators
    assert first == second
    assert runs.instructions[0] == runs.instructions[1]
    assert sum(first) < runs.instructions[0] <= sum(first) + 100 * len(first)
    profile = profile_of_runs(metadata_of(factory), runs, None)
    assert [operator.cost for operator in profile.operators] == first
    assert profile.unit == "instructions"
    expected = Micro(DIGITS).run(IMAGE)["probabilities"]
    np.testing.assert_array_equal(runs.outputs[0]["probabilities"], expected)


def test_a_run_without_hooks_takes_as_much():
    """The same code with hooks that do nothing: their calls are all that is not an operator's."""
    require_board(AN385)
    factory = digits_on(AN385)
    profile = profile_on_board(factory.files(), metadata_of(factory), AN385, IMAGE)
    files = {n: c for n, c in factory.files().items() if not n.startswith("project/operators.")}
    main = files["project/main.c"].decode().splitlines()
    kept = [line for line in main if "operators" not in line]
    files["project/main.c"] = "\n".join(kept).encode()
    (whole,) = EmulatedModule(files, metadata_of(factory), AN385).run([IMAGE]).instructions
    # Argument, call and return of two hooks; the main function and its caller.
    assert profile.cost < whole < profile.cost + 10 * len(profile.operators) + 60


def test_an_object_file_has_hooks():
    require_board(AN385)
    factory = digits_on(AN385, "llvm")
    profile = profile_on_board(factory.files(), metadata_of(factory), AN385, IMAGE)
    assert all(operator.cost > 100 for operator in profile.operators)


def test_entries_are_counted_by_themselves():
    require_board(AN385)
    with PassContext(config={"tir.usmp.profile": True}):
        factory = usmp.build(entry_model(), board=AN385)
    metadata = metadata_of(factory)
    module = EmulatedModule(factory.files(), metadata, AN385)
    x = {"x": np.ones((1, 8), np.float32)}
    runs = module.run([("learn", x), ("tell", x)])
    entries = [operator["entry"] for operator in metadata["operators"]]
    for entry, counts in zip(("learn", "tell"), runs.operators, strict=True):
        for other, count in zip(entries, counts, strict=True):
            assert (count > 0) == (entry == other)
    profile = profile_on_board(factory.files(), metadata, AN385, x, "tell")
    assert {operator.entry for operator in profile.operators} == {"tell"}


def test_an_archive_without_hooks_is_refused():
    factory = digits_on(AN385, profile=False)
    assert "project/operators.c" not in factory.files()
    with pytest.raises(NotProfiled):
        profile_on_board(factory.files(), metadata_of(factory), AN385, IMAGE)


def test_files_of_the_project_are_strict(tmp_path):
    require_board(AN385)
    factory = digits_on(AN385)
    for name in ("operators.c", "operators.h", "measure.h", "report.h"):
        (tmp_path / name).write_bytes(factory.files()[f"project/{name}"])
    (tmp_path / "tvmgen_default.h").write_text(factory.header)
    options = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-c", "operators.c"]
    compiler = [AN385.toolchain.compiler, *AN385.cpu_flags]
    for level in ("-O0", "-O2", "-Os"):
        subprocess.run([*compiler, *options, level], cwd=tmp_path, check=True)
