"""The arena in C: as a program under sanitizers, and against a model of a stack."""

from __future__ import annotations

import ctypes
import subprocess
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.c_program import SANITIZERS
from support.compilers import require, run_compiler
from usmp.boards.board import BOARDS
from usmp.runtime.arena import HostArena
from usmp.runtime.c_compiler import compile_c

FILES = files("usmp.codegen").joinpath("files/arena")
SOURCE = str(FILES.joinpath("usmp_arena.c"))
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion", "-Wsign-conversion"]
HEADER = 2 * ctypes.sizeof(ctypes.c_size_t)

PROGRAM = r"""
#include <string.h>
#include "usmp_arena.h"
#define CHECK(condition) if (!(condition)) return __LINE__
#define GUARD 32
static uint8_t memory[GUARD + 256 + GUARD] __attribute__((aligned(64)));

int main(void) {
  struct usmp_arena arena, untouched;
  const size_t header = USMP_ARENA_BLOCK_OVERHEAD;
  uint8_t *a, *b, *c;
  memset(memory, 0x5A, sizeof(memory));

  /* What cannot be an arena. */
  CHECK(usmp_arena_init(NULL, memory, 256) == USMP_ARENA_MISUSE);
  CHECK(usmp_arena_init(&arena, NULL, 1) == USMP_ARENA_MISUSE);
  CHECK(usmp_arena_allocate(&arena, 0, 1) == NULL);
  CHECK(usmp_arena_init(&arena, memory, SIZE_MAX) == USMP_ARENA_MISUSE);
  CHECK(usmp_arena_allocate(&arena, 0, 1) == NULL);
  CHECK(usmp_arena_init(&arena, NULL, 0) == 0);
  CHECK(usmp_arena_allocate(&arena, 0, 1) == NULL);
  CHECK(arena.high_water == header);
  usmp_arena_reset(NULL);

  CHECK(usmp_arena_init(&arena, memory + GUARD, 256) == 0);
  CHECK(arena.used == 0 && arena.high_water == 0);

  /* What is no block. */
  CHECK(usmp_arena_allocate(NULL, 1, 1) == NULL);
  CHECK(usmp_arena_allocate(&arena, -1, 1) == NULL);
  CHECK(usmp_arena_allocate(&arena, INT64_MIN, 1) == NULL);
  CHECK(usmp_arena_allocate(&arena, 1, 0) == NULL);
  CHECK(usmp_arena_allocate(&arena, 1, -16) == NULL);
  CHECK(usmp_arena_allocate(&arena, 1, 12) == NULL);
  CHECK(usmp_arena_allocate(&arena, 1, INT32_MIN) == NULL);
  CHECK(arena.used == 0 && arena.high_water == 0);

  /* A block up to the last byte, and one byte more. */
  CHECK(usmp_arena_allocate(&arena, (int64_t)(256 - header + 1), 1) == NULL);
  CHECK(arena.used == 0 && arena.high_water == 257);
  usmp_arena_reset(&arena);
  a = (uint8_t*)usmp_arena_allocate(&arena, (int64_t)(256 - header), 1);
  CHECK(a == memory + GUARD + header && arena.used == 256 && arena.high_water == 256);
  memset(a, 0xFF, 256 - header);
  CHECK(usmp_arena_allocate(&arena, 0, 1) == NULL);
  CHECK(usmp_arena_release(&arena, a) == 0);
  CHECK(arena.used == 0 && arena.top == 0);
  CHECK(usmp_arena_release(&arena, a) == USMP_ARENA_MISUSE);

  /* Sizes that no memory has. */
  usmp_arena_reset(&arena);
  CHECK(usmp_arena_allocate(&arena, INT64_MAX, 1) == NULL);
  CHECK(arena.high_water > (size_t)INT32_MAX);
  usmp_arena_reset(&arena);
  CHECK(usmp_arena_allocate(&arena, INT64_MAX, INT32_C(1) << 30) == NULL);
  CHECK(usmp_arena_allocate(&arena, 0, INT32_C(1) << 30) == NULL);
  CHECK(arena.used == 0);

  /* The order of a stack. */
  usmp_arena_reset(&arena);
  a = (uint8_t*)usmp_arena_allocate(&arena, 3, 16);
  b = (uint8_t*)usmp_arena_allocate(&arena, 0, 64);
  c = (uint8_t*)usmp_arena_allocate(&arena, 5, 1);
  CHECK(a && b && c && a != b && b != c);
  CHECK((uintptr_t)a % 16 == 0 && (uintptr_t)b % 64 == 0);
  CHECK(b - a >= 3 + (int)header && c - b >= (int)header);
  memset(a, 0xFF, 3);
  memset(c, 0xFF, 5);
  untouched = arena;
  CHECK(usmp_arena_release(NULL, c) == USMP_ARENA_MISUSE);
  CHECK(usmp_arena_release(&arena, NULL) == USMP_ARENA_MISUSE);
  CHECK(usmp_arena_release(&arena, a) == USMP_ARENA_MISUSE);
  CHECK(usmp_arena_release(&arena, b) == USMP_ARENA_MISUSE);
  CHECK(usmp_arena_release(&arena, c + 1) == USMP_ARENA_MISUSE);
  CHECK(memcmp(&untouched, &arena, sizeof(arena)) == 0);
  CHECK(usmp_arena_release(&arena, c) == 0);
  CHECK(usmp_arena_release(&arena, c) == USMP_ARENA_MISUSE);

  /* Bytes in front of a block that were overwritten: nothing of what they say is done. */
  memset(b - header, 0xEE, header);
  untouched = arena;
  CHECK(usmp_arena_release(&arena, b) == USMP_ARENA_MISUSE);
  CHECK(memcmp(&untouched, &arena, sizeof(arena)) == 0);
  memset(b - header, 0, header);
  memset(b - header, 1, 1);
  CHECK(usmp_arena_release(&arena, b) == USMP_ARENA_MISUSE);

  for (int i = 0; i < GUARD; ++i) {
    CHECK(memory[i] == 0x5A && memory[GUARD + 256 + i] == 0x5A);
  }
  return 0;
}
"""


@pytest.mark.cc
def test_a_program_under_sanitizers(tmp_path):
    main = tmp_path / "main.c"
    main.write_text(PROGRAM)
    program = tmp_path / "program"
    options = ["-std=c99", *WARNINGS, *SANITIZERS, f"-I{FILES}"]
    compile_c([*options, str(main), SOURCE], program)
    assert subprocess.run([program], check=False).returncode == 0, "the line whose check failed"


@pytest.mark.cc
@pytest.mark.parametrize("compiler", ["gcc", "clang", "g++"])
def test_it_compiles_without_warnings(compiler, tmp_path):
    require(compiler)
    language = ["-x", "c++"] if compiler == "g++" else ["-std=c99"]
    command = [compiler, *language, "-O2", *WARNINGS, "-c", SOURCE, "-o", str(tmp_path / "a.o")]
    run_compiler(command)


@pytest.mark.board
@pytest.mark.parametrize("toolchain", sorted({board.toolchain for board in BOARDS}, key=str))
def test_it_needs_no_library(toolchain, tmp_path):
    require(toolchain.compiler)
    path = tmp_path / "a.o"
    command = [toolchain.compiler, *toolchain.options, "-std=c99", "-Os", *WARNINGS]
    run_compiler([*command, "-c", SOURCE, "-o", str(path)])
    command = [f"{toolchain.prefix}nm", "-u", str(path)]
    symbols = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    # Compilers may call memcpy, and need it anyway.
    assert set(symbols) <= {"U", "memcpy"}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    path = tmp_path_factory.mktemp("arena") / "arena.so"
    compile_c(["-std=c99", "-O2", *WARNINGS, "-shared", "-fPIC", SOURCE], path)
    loaded = ctypes.CDLL(str(path))
    loaded.usmp_arena_allocate.restype = ctypes.c_void_p
    return loaded


class Stack:
    """What an arena has to do, in Python."""

    def __init__(self, base, capacity):
        self.base, self.capacity, self.blocks, self.high_water = base, capacity, [], 0

    @property
    def used(self):
        return self.blocks[-1][1] if self.blocks else 0

    def allocate(self, size, alignment):
        start = self.used + HEADER
        start += -(self.base + start) % alignment
        self.high_water = max(self.high_water, min(start + size, 2**64 - 1))
        if start + size > self.capacity:
            return None
        self.blocks.append((start, start + size))
        return self.base + start


SIZES = st.one_of(st.integers(0, 300), st.sampled_from([0, 1, 2**31, 2**62, 2**63 - 1]))
ALLOCATE = st.tuples(SIZES, st.sampled_from([1, 2, 4, 8, 16, 64, 256]))
STEPS = st.lists(st.one_of(ALLOCATE, st.integers(0, 5)), max_size=40)


@pytest.mark.slow
@pytest.mark.cc
@settings(max_examples=200, deadline=None)
@given(steps=STEPS, capacity=st.integers(0, 2000), shift=st.integers(0, 15))
def test_it_does_what_a_stack_does(library, steps, capacity, shift):
    guarded = np.full(4096, 0x5A, "uint8")
    memory = guarded[1024 + shift : 1024 + shift + capacity]
    arena = HostArena(library, memory)
    stack = Stack(memory.ctypes.data, capacity)
    for step in steps:
        if isinstance(step, tuple):
            size, alignment = step
            got = library.usmp_arena_allocate(
                arena.argument, ctypes.c_int64(size), ctypes.c_int32(alignment)
            )
            assert got == stack.allocate(size, alignment)
            if got:
                ctypes.memset(got, 0xFF, size)
        else:
            # The block so many below the last one; only the last one may go.
            start, _ = stack.blocks[-1 - step] if step < len(stack.blocks) else (1, 0)
            address = ctypes.c_void_p(memory.ctypes.data + start)
            is_last = step == 0 and bool(stack.blocks)
            status = library.usmp_arena_release(arena.argument, address)
            assert status == (0 if is_last else -1)
            if is_last:
                stack.blocks.pop()
        assert (arena.used, arena.high_water) == (stack.used, stack.high_water)
    outside = np.concatenate([guarded[: 1024 + shift], guarded[1024 + shift + capacity :]])
    assert (outside == 0x5A).all()
