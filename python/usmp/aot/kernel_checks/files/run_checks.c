/* Runs operators, and the kernels that replace them, on the inputs in a file, and prints where the
 * bytes of an output differ.
 *
 * The file has, for each check, its constants, the number of runs (4 bytes), and the inputs of each
 * run. A line "I F" says that function F of check I begins. A line "I F B O X Y" says that byte O
 * of buffer B differs; around it, the operator wrote the 8 bytes X, and the kernel the 8 bytes Y.
 */
#include "run_checks.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD_BYTES = 64, PRINTED_BYTES = 8, OF_OPERATOR = 0x5a, OF_KERNEL = 0xa5 };

static uint8_t* allocate(size_t size) {
  uint8_t* const memory = aligned_alloc(64, (size + 2 * GUARD_BYTES + 63) / 64 * 64);
  if (memory == NULL) {
    fputs("out of memory\n", stderr);
    exit(2);
  }
  return memory + GUARD_BYTES;
}

static void fill(uint8_t* memory, size_t size, uint8_t value) {
  memset(memory - GUARD_BYTES, value, size + 2 * GUARD_BYTES);
}

static void read_into(FILE* file, void* memory, size_t size) {
  if (fread(memory, 1, size, file) != size) {
    fputs("the inputs end early\n", stderr);
    exit(2);
  }
}

static void print_bytes(const uint8_t* memory, size_t size) {
  printf(" ");
  for (size_t i = 0; i < size; i++) printf("%02x", memory[i]);
}

/* Returns the index of the first byte that differs; `size` or more if only guard bytes were
 * overwritten; SIZE_MAX if none differs. */
static size_t first_difference(const uint8_t* expected, const uint8_t* actual, size_t size) {
  if (memcmp(expected, actual, size) != 0) {
    size_t i = 0;
    while (expected[i] == actual[i]) i++;
    return i;
  }
  for (size_t i = 0; i < GUARD_BYTES; i++) {
    if (actual[size + i] != OF_KERNEL) return size + i;
    if (actual[(ptrdiff_t)i - GUARD_BYTES] != OF_KERNEL) return size;
  }
  return SIZE_MAX;
}

static void run_check(FILE* file, int number) {
  const struct check* check = &checks[number];
  const int count = check->buffer_count, first_output = count - check->output_count;
  uint8_t** const buffers = calloc(2 * (size_t)count, sizeof(uint8_t*));
  uint8_t** const expected = buffers + count;
  for (int b = 0; b < count; b++) {
    const struct buffer buffer = check->buffers[b];
    buffers[b] = expected[b] = allocate(buffer.size);
    if (buffer.kind == CONSTANT) read_into(file, buffers[b], buffer.size);
    if (buffer.kind == OUTPUT) expected[b] = allocate(buffer.size);
  }
  uint32_t runs;
  read_into(file, &runs, sizeof(runs));
  uint8_t* const has_failed = calloc((size_t)check->kernel_count, 1);
  for (uint32_t run = 0; run < runs; run++) {
    for (int b = 0; b < count; b++) {
      if (check->buffers[b].kind == INPUT) read_into(file, buffers[b], check->buffers[b].size);
    }
    for (int b = first_output; b < count; b++)
      fill(expected[b], check->buffers[b].size, OF_OPERATOR);
    if (run == 0) printf("%d 0\n", number);
    check->functions[0](expected);
    for (int k = 0; k < check->kernel_count; k++) {
      if (has_failed[k]) continue;
      if (run == 0) printf("%d %d\n", number, k + 1);
      for (int b = first_output; b < count; b++)
        fill(buffers[b], check->buffers[b].size, OF_KERNEL);
      check->functions[k + 1](buffers);
      for (int b = first_output; b < count && !has_failed[k]; b++) {
        const size_t size = check->buffers[b].size;
        const size_t at = first_difference(expected[b], buffers[b], size);
        if (at == SIZE_MAX) continue;
        has_failed[k] = 1;
        const size_t from = at / PRINTED_BYTES * PRINTED_BYTES;
        printf("%d %d %d %zu", number, k + 1, b, at);
        print_bytes(expected[b] + from, PRINTED_BYTES);
        print_bytes(buffers[b] + from, PRINTED_BYTES);
        printf("\n");
      }
    }
  }
  for (int b = 0; b < count; b++) {
    free(buffers[b] - GUARD_BYTES);
    if (expected[b] != buffers[b]) free(expected[b] - GUARD_BYTES);
  }
  free(buffers);
  free(has_failed);
}

static void* run_checks(void* file) {
  for (int i = 0; i < check_count; i++) run_check(file, i);
  return NULL;
}

int main(int argc, char** argv) {
  FILE* const file = argc == 2 ? fopen(argv[1], "rb") : NULL;
  pthread_attr_t attributes;
  pthread_t thread;
  if (file == NULL) return 2;
  setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
  if (pthread_attr_init(&attributes) != 0) return 2;
  if (pthread_attr_setstacksize(&attributes, stack_bytes) != 0) return 2;
  if (pthread_create(&thread, &attributes, run_checks, file) != 0) {
    fputs("out of memory for the stack\n", stderr);
    return 2;
  }
  return pthread_join(thread, NULL) != 0;
}
