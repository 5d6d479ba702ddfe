/* Time by the counters in the FPGA of Arm's MPS boards, block FPGAIO. */
#include "board.h"
#include "measure.h"

#define FPGAIO(offset) (*(volatile uint32_t*)(BOARD_FPGAIO + (offset)))
#define CLOCK_100_HZ FPGAIO(0x14u)
#define COUNTER FPGAIO(0x18u)
#define PRESCALE FPGAIO(0x1cu)

#define TICKS_PER_MICROSECOND (BOARD_FPGAIO_HZ / 1000000u)

static struct moment begin;
static uint64_t overhead;

void moment_now(struct moment* moment) {
  moment->high = CLOCK_100_HZ;
  moment->low = COUNTER;
}

uint64_t ticks_since(const struct moment* moment) {
  const uint32_t low = COUNTER - moment->low;
  /* The slow clock tells how often the counter of 32 bits has wrapped around. */
  const uint64_t roughly = (uint64_t)(CLOCK_100_HZ - moment->high) * (BOARD_FPGAIO_HZ / 100u);
  const uint64_t high = (roughly - low + 0x80000000u) >> 32;
  return (high << 32) + low;
}

/* An instruction takes 1024 ns in the emulator, which is more than 20 ticks, so that rounding gives
 * the right number of instructions. */
uint64_t instructions_of(uint64_t ticks) {
  return (ticks * 1000u + 512u * TICKS_PER_MICROSECOND) / (1024u * TICKS_PER_MICROSECOND);
}

void measure_begin(void) {
  PRESCALE = 0;
  overhead = 0;
  moment_now(&begin);
  overhead = measure_end();
  moment_now(&begin);
}

uint64_t measure_end(void) { return instructions_of(ticks_since(&begin)) - overhead; }
