/* Time by the counters in the FPGA of Arm's MPS boards, block FPGAIO. */
#include "board.h"
#include "measure.h"

#define FPGAIO(offset) (*(volatile uint32_t*)(BOARD_FPGAIO + (offset)))
#define CLOCK_100_HZ FPGAIO(0x14u)
#define COUNTER FPGAIO(0x18u)
#define PRESCALE FPGAIO(0x1cu)

/* The emulator is started with 1024 ns for an instruction. */
#define INSTRUCTIONS(microseconds) (((microseconds) * 1000u + 512u) / 1024u)

static uint32_t begin, begin_100_hz;
static uint32_t overhead;

static void begin_now(void) {
  begin_100_hz = CLOCK_100_HZ;
  begin = COUNTER;
}

void measure_begin(void) {
  PRESCALE = BOARD_FPGAIO_HZ / 1000000u - 1u;
  overhead = 0;
  begin_now();
  overhead = (uint32_t)measure_end();
  begin_now();
}

uint64_t measure_end(void) {
  const uint32_t low = COUNTER - begin;
  /* The slow clock says how often the counter, of 32 bits, began anew. */
  const uint64_t roughly = (uint64_t)(CLOCK_100_HZ - begin_100_hz) * 10000u;
  const uint64_t high = (roughly - low + 0x80000000u) >> 32;
  return INSTRUCTIONS((high << 32) + low) - overhead;
}
