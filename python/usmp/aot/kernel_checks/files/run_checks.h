/* The operators and kernels that run_checks.c runs. */
#ifndef RUN_CHECKS_H
#define RUN_CHECKS_H

#include <stddef.h>
#include <stdint.h>

enum kind { CONSTANT, INPUT, OUTPUT };

struct buffer {
  enum kind kind;
  size_t size;
};

typedef void (*function)(uint8_t* const* buffers);

/* Outputs are the last buffers; the operator is the first function. */
struct check {
  const struct buffer* buffers;
  int buffer_count;
  int output_count;
  const function* functions;
  int kernel_count;
};

extern const struct check checks[];
extern const int check_count;
extern const size_t stack_bytes;

#endif
