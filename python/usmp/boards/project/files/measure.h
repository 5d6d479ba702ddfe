/* Measurement of the instructions and the stack of a run. */
#ifndef MEASURE_H_
#define MEASURE_H_

#include <stdint.h>

/* Count instructions from here on. */
void measure_begin(void);

/* Instructions since `measure_begin`, with an error of at most five, in the emulator, which derives
 * time from their number. */
uint64_t measure_end(void) __attribute__((noinline));

/* The values of the counters at a moment. */
struct moment {
  uint32_t low, high;
};

void moment_now(struct moment* moment);

/* Ticks of the counters since a moment, and the instructions that take some ticks. Equal work gives
 * equal numbers. These two calls take a few instructions themselves. */
uint64_t ticks_since(const struct moment* moment);
uint64_t instructions_of(uint64_t ticks);

/* High-water mark and size of the stack, in bytes. */
uint32_t stack_used(void);
uint32_t stack_size(void);

#endif
