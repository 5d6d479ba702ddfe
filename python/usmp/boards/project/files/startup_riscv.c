/* Start-up code of RISC-V: registers, floating-point unit, faults. */
#include "startup.h"

void reset(void);
void unexpected(void);

/* The stack may have overflowed, so the handler begins at its top again. */
__attribute__((naked, used, aligned(4))) void unexpected(void) {
  __asm__ volatile(
      "mv a0, sp\n"
      "la sp, __stack_top\n"
      "tail fault\n");
}

__attribute__((naked, section(".vectors"), used)) void reset(void) {
  __asm__ volatile(
      ".option push\n"
      ".option norelax\n"
      "la gp, __global_pointer$\n"
      ".option pop\n"
      "la sp, __stack_top\n"
      "la tp, __thread_storage\n" /* The C library keeps errno there. */
      "la t0, unexpected\n"
      "csrw mtvec, t0\n"
      /* Forbid accesses to the mebibyte below the stack, because PCI addresses there ignore writes:
       * entry 0 of the memory protection, locked, with a power of two as size. */
      "la t0, __stack_limit - 0x100000\n"
      "srli t0, t0, 2\n"
      "li t1, 0x1ffff\n"
      "or t0, t0, t1\n"
      "csrw pmpaddr0, t0\n"
      "li t0, 0x98\n"
      "csrw pmpcfg0, t0\n"
#ifdef __riscv_flen
      "li t0, 0x2000\n" /* mstatus.FS: initial. */
      "csrs mstatus, t0\n"
      "csrw fcsr, zero\n"
#endif
      "tail start\n");
}
