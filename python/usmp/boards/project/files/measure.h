/* What a run takes: instructions and stack. */
#ifndef MEASURE_H_
#define MEASURE_H_

#include <stdint.h>

/* Count instructions from here on. */
void measure_begin(void);

/* Instructions since then, within five of them, in the emulator, where time is their number. */
uint64_t measure_end(void) __attribute__((noinline));

/* A moment: what the counters were. */
struct moment {
  uint32_t low, high;
};

void moment_now(struct moment* moment);

/* Ticks since a moment, and instructions of some ticks, always as many if as much is done in
 * between. These two calls take a few themselves. */
uint64_t ticks_since(const struct moment* moment);
uint64_t instructions_of(uint64_t ticks);

/* Bytes of the stack that were ever used, and bytes that it has. */
uint32_t stack_used(void);
uint32_t stack_size(void);

#endif
