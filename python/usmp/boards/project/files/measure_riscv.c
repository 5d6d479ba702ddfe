/* Instructions by the counter that every RISC-V processor has. */
#include "measure.h"

static uint64_t begin;
static uint32_t overhead;

static uint64_t retired(void) {
  uint32_t low, high, again;
  do {
    __asm__ volatile("csrr %0, minstreth\ncsrr %1, minstret\ncsrr %2, minstreth"
                     : "=&r"(high), "=&r"(low), "=&r"(again));
  } while (high != again);
  return (uint64_t)high << 32 | low;
}

void measure_begin(void) {
  overhead = 0;
  begin = retired();
  overhead = (uint32_t)measure_end();
  begin = retired();
}

uint64_t measure_end(void) { return retired() - begin - overhead; }
