/* Start-up code of Cortex-M: vectors, floating-point unit, faults. */
#include "startup.h"

#define CPACR (*(volatile uint32_t*)0xe000ed88u)
#define MPU_TYPE (*(volatile uint32_t*)0xe000ed90u)
#define MPU_CTRL (*(volatile uint32_t*)0xe000ed94u)
#define MPU_RBAR (*(volatile uint32_t*)0xe000ed9cu)
#define MPU_RASR (*(volatile uint32_t*)0xe000eda0u)

void reset(void) __attribute__((noreturn));

/* Forbid accesses to the mebibyte below the stack, because not every board faults where there is no
 * memory. Boards with Armv8-M do. */
static void guard_stack(void) {
#if __ARM_ARCH < 8
  if ((MPU_TYPE & 0xff00u) != 0) {
    /* Region 0: 2 to the power of 20 bytes, not executed, not accessed, on. */
    MPU_RBAR = ((uintptr_t)__stack_limit - (1u << 20)) | 0x10u;
    MPU_RASR = 1u << 28 | 19u << 1 | 1u;
    /* On, with the default permissions for all other memory. */
    MPU_CTRL = 5;
    __asm__ volatile("dsb\nisb" : : : "memory");
  }
#endif
}

void reset(void) {
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
  CPACR |= 0xfu << 20; /* Full access to coprocessors 10 and 11. */
  __asm__ volatile("dsb\nisb" : : : "memory");
#endif
  guard_stack();
  start();
}

/* The stack may have overflowed, so the handler begins at its top again. */
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
