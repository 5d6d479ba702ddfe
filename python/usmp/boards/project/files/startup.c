#include "startup.h"

#include "semihosting.h"

extern uint32_t __data_start[];
extern uint32_t __data_end[];
extern const uint32_t __data_load[];

/* Memory that is zero when the program begins: variables and workspace pools. */
extern const struct {
  uint32_t* start;
  uint32_t* end;
} __zero_table[], __zero_table_end[];

enum { FAULT_STATUS = 3 };

int main(void);

/* Define errno, which <math.h> sets, because the C library's own takes a kilobyte of RAM. */
int* __errno(void);
int* __errno(void) {
  static int error;
  return &error;
}

static void paint_stack(void) {
  uint32_t* const end = (uint32_t*)__builtin_frame_address(0) - 16;
  for (volatile uint32_t* word = __stack_limit; word < end; ++word) {
    *word = STACK_PAINT;
  }
}

void start(void) {
  const uint32_t* source = __data_load;
  for (uint32_t* word = __data_start; word < __data_end;) {
    *word++ = *source++;
  }
  for (uint32_t i = 0; &__zero_table[i] < __zero_table_end; ++i) {
    for (uint32_t* word = __zero_table[i].start; word < __zero_table[i].end;) {
      *word++ = 0;
    }
  }
  paint_stack();
  semihosting_exit(main());
}

void fault(uintptr_t stack_pointer) {
  semihosting_print(stack_pointer <= (uintptr_t)__stack_limit + 64
                        ? "fault: the stack overflowed; give it more with STACK_SIZE\n"
                        : "fault: the program did what the processor forbids\n");
  semihosting_exit(FAULT_STATUS);
}
