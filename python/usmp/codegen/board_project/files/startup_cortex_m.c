/* Start-up code of Cortex-M: vectors, floating-point unit, faults. */
#include "startup.h"

#define CPACR (*(volatile uint32_t*)0xe000ed88u)

void reset(void) __attribute__((noreturn));

void reset(void) {
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
  CPACR |= 0xfu << 20; /* Full access to coprocessors 10 and 11. */
  __asm__ volatile("dsb\nisb" : : : "memory");
#endif
  start();
}

/* The stack may have overflowed: the handler takes a new one. */
__attribute__((naked)) static void unexpected(void) {
  __asm__ volatile(
      "mov r0, sp\n"
      "ldr r1, =__stack_top\n"
      "mov sp, r1\n"
      "ldr r1, =fault\n"
      "bx r1\n"
      ".ltorg\n");
}

typedef void (*vector)(void);

/* The fifteen exceptions of the architecture; a board's interrupts follow them. */
__attribute__((section(".vectors"), used)) static const vector vectors[] = {
    (vector)(uintptr_t)__stack_top, /* Initial stack pointer. */
    reset,
    unexpected, /* NMI */
    unexpected, /* HardFault */
    unexpected, /* MemManage */
    unexpected, /* BusFault */
    unexpected, /* UsageFault */
    unexpected, /* SecureFault */
    0,
    0,
    0,
    unexpected, /* SVCall */
    unexpected, /* DebugMonitor */
    0,
    unexpected, /* PendSV */
    unexpected, /* SysTick */
};
