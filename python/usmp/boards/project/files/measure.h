/* What a run takes: instructions and stack. */
#ifndef MEASURE_H_
#define MEASURE_H_

#include <stdint.h>

/* Count instructions from here on. */
void measure_begin(void);

/* Instructions since then, within five of them, in the emulator, where time is their number. */
uint64_t measure_end(void) __attribute__((noinline));

/* Bytes of the stack that were ever used, and bytes that it has. */
uint32_t stack_used(void);
uint32_t stack_size(void);

#endif
