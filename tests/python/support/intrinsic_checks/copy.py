"""Copies and runs of one byte against plain loops."""

from __future__ import annotations

FILES = ["tensor_intrin/copy.c"]

CHECK = """
static void check_copy(int32_t n, int32_t distance) {
  int8_t expected[200];
  int8_t* const memory = buffer(0, n + distance, between(0, 3));
  fill(memory, n + distance, 3);
  for (int32_t i = 0; i < n + distance; ++i) expected[i] = memory[i];
  for (int32_t i = 0; i < n; ++i) expected[i] = expected[i + distance];
  tvmgen_copy(memory, memory + distance, n);
  if (memcmp(memory, expected, (size_t)(n + distance))) failure = "copy";
}
static void check_copy_words(int32_t n, int32_t distance) {
  int32_t expected[100];
  int32_t* const memory = (int32_t*)(void*)buffer(0, 4 * (n + distance), 0);
  fill((int8_t*)memory, 4 * (n + distance), 3);
  for (int32_t i = 0; i < n + distance; ++i) expected[i] = memory[i];
  for (int32_t i = 0; i < n; ++i) expected[i] = expected[i + distance];
  tvmgen_copy_words(memory, memory + distance, 4 * n);
  if (memcmp(memory, expected, 4 * (size_t)(n + distance))) failure = "copy_words";
}
static void check_fill(int32_t n, int32_t value) {
  int8_t* const memory = buffer(0, n + 2, between(0, 3));
  fill(memory, n + 2, 0);
  tvmgen_fill(memory + 1, n, value);
  for (int32_t i = 0; i < n + 2; ++i) {
    if (memory[i] != (i > 0 && i <= n ? value : -128)) failure = "fill";
  }
}
static void test_copy(void) {
  for (int32_t n = 0; n < 100; ++n) {
    for (int32_t i = 0; i < 4; ++i) check_copy(n, i < 2 ? n + i : between(0, 40));
    if (n < 50) check_copy_words(n, between(1, 40));
    check_fill(n, between(-127, 127));
  }
}
"""
