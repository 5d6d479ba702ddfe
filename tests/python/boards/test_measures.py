"""What programs of each board measure: instructions, and a stack that overflows."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from support.board_programs import (
    build_program,
    require_board,
    run_program,
    small_model,
    some_boards,
)
from usmp.boards.board import Board, board_named
from usmp.boards.emulator import EmulatorError

pytestmark = pytest.mark.board

AN385 = board_named("mps2-an385")
MAIN = """#include "board.h"
#include "measure.h"
#include "report.h"
#include "semihosting.h"

static int report_loop(uint32_t times) {
  measure_begin();
  TIMES_TWO_INSTRUCTIONS
  report(-1, "instructions", measure_end());
  return 0;
}

static int report_loops(void) {
  for (uint32_t times = 1; times <= 40; ++times) report_loop(times);
  return report_loop(1000) + report_loop(1000000) + report_loop(100000007);
}

__attribute__((noinline, noclone)) static uint64_t counted(uint32_t times) {
  struct moment begin;
  moment_now(&begin);
  TIMES_TWO_INSTRUCTIONS
  return instructions_of(ticks_since(&begin));
}

static int compare_counts(void) {
  measure_begin();
  const uint64_t least = counted(1);
  for (uint32_t times = 1; times < 60; ++times) {
    if (counted(times) - least != 2 * (times - 1)) return 1;
    if (counted(times << 14) - least != 2 * ((times << 14) - 1)) return 2;
  }
  if (counted(LONGEST) - least != 2 * ((uint64_t)LONGEST - 1)) return 3;
  report(-1, "least", least);
  return 0;
}

static int deeper(volatile int* above, int level) {
  volatile int array[100];
  array[0] = *above + level;
  return level == 0 ? array[0] : deeper(array, level - 1) + array[0];
}

static int recurse(void) {
  volatile int zero = 0;
  return deeper(&zero, 1000000);
}

__attribute__((noinline)) static int larger_than_the_stack(void) {
  volatile int array[4096];
  array[0] = 1;
  return array[0] - 1;
}

int main(void) {
  int (*const parts[])(void) = {report_loops, compare_counts, recurse, larger_than_the_stack};
  uint8_t chosen = 0;
  semihosting_read(semihosting_open("inputs.bin", SEMIHOSTING_READ), &chosen, 1);
  return parts[chosen]();
}
"""
COUNT_DOWN = {
    "cortex-m": '__asm__ volatile("0: subs %0, #1\\nbne 0b" : "+l"(times) : : "cc");',
    "riscv": '__asm__ volatile("0: addi %0, %0, -1\\nbnez %0, 0b" : "+r"(times));',
}
COUNTS = [*range(1, 41), 1000, 1_000_000, 100_000_007]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Run a part of a board's program; what it printed."""

    @cache
    def program(board: Board) -> Path:
        main = MAIN.replace("TIMES_TWO_INSTRUCTIONS", COUNT_DOWN[board.architecture])
        main = main.replace("LONGEST", "100000000u" if board == AN385 else "1000000u")
        return build_program(board, [small_model(board)], main, tmp_path_factory.mktemp(board.name))

    def part(board: Board, number: int) -> str:
        require_board(board)
        return run_program(board, program(board), bytes([number]))[0]

    return part


@pytest.mark.slow
@some_boards
def test_instructions_are_counted(run, board):
    """Two a round, and a few around the loop."""
    counted = map(int, re.findall(r"^instructions (\d+)$", run(board, 0), re.MULTILINE))
    excess = [n - 2 * count for n, count in zip(counted, COUNTS, strict=True)]
    assert max(map(abs, excess)) <= 5, excess


@pytest.mark.slow
@some_boards
def test_no_instruction_is_lost(run, board):
    """Loops of a known number of instructions, from a few to millions; one board's counter of 32
    bits begins anew meanwhile."""
    assert run(board, 1).startswith("least ")


@some_boards
@pytest.mark.parametrize("part", [2, 3], ids=["far", "one-word"])
def test_a_stack_that_overflows(run, board, part):
    """Also where writes out of memory are lost in silence."""
    with pytest.raises(EmulatorError) as error:
        run(board, part)
    assert str(error.value) == (
        f"the program failed in {board.emulator.program} with exit status 3: fault: the stack "
        "overflowed; give it more with STACK_SIZE"
    )
