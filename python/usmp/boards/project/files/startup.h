/* Declarations for the start-up code of Cortex-M and of RISC-V. */
#ifndef STARTUP_H_
#define STARTUP_H_

#include <stdint.h>

/* From the linker script. The stack grows down from its top; an overflow runs out of the memory. */
extern uint32_t __stack_limit[];
extern uint32_t __stack_top[];

#define STACK_PAINT 0xdeadbeefu

/* Initialize variables and pools, paint the stack, run main and exit. */
void start(void) __attribute__((noreturn));

/* Say what went wrong and exit. */
void fault(uintptr_t stack_pointer) __attribute__((noreturn));

#endif
