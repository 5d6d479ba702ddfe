/* Instructions by the counter that every RISC-V processor has. */
#include "measure.h"

static struct moment begin;
static uint64_t overhead;

void moment_now(struct moment* moment) {
  uint32_t low, high, again;
  do {
    __asm__ volatile("csrr %0, minstreth\ncsrr %1, minstret\ncsrr %2, minstreth"
                     : "=&r"(high), "=&r"(low), "=&r"(again));
  } while (high != again);
  moment->low = low;
  moment->high = high;
}

static uint64_t retired(const struct moment* moment) {
  return (uint64_t)moment->high << 32 | moment->low;
}

uint64_t ticks_since(const struct moment* moment) {
  struct moment now;
  moment_now(&now);
  return retired(&now) - retired(moment);
}

uint64_t instructions_of(uint64_t ticks) { return ticks; }

void measure_begin(void) {
  overhead = 0;
  moment_now(&begin);
  overhead = measure_end();
  moment_now(&begin);
}

uint64_t measure_end(void) { return ticks_since(&begin) - overhead; }
