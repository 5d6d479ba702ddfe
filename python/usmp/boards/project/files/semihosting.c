#include "semihosting.h"

enum {
  SYS_OPEN = 0x01,
  SYS_CLOSE = 0x02,
  SYS_WRITE0 = 0x04,
  SYS_WRITE = 0x05,
  SYS_READ = 0x06,
  SYS_SEEK = 0x0a,
  SYS_FLEN = 0x0c,
  SYS_EXIT_EXTENDED = 0x20
};

#define ADP_STOPPED_APPLICATION_EXIT 0x20026u

static intptr_t call(intptr_t operation, const void* argument) {
#ifdef __riscv
  register intptr_t result __asm__("a0") = operation;
  register const void* block __asm__("a1") = argument;
  /* The three instructions must lie in one page. */
  __asm__ volatile(
      ".balign 16\n"
      ".option push\n"
      ".option norvc\n"
      "slli zero, zero, 0x1f\n"
      "ebreak\n"
      "srai zero, zero, 7\n"
      ".option pop\n"
      : "+r"(result)
      : "r"(block)
      : "memory");
#else
  register intptr_t result __asm__("r0") = operation;
  register const void* block __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(result) : "r"(block) : "memory");
#endif
  return result;
}

int32_t semihosting_open(const char* name, int32_t mode) {
  uintptr_t length = 0;
  while (name[length] != 0) {
    ++length;
  }
  const uintptr_t block[] = {(uintptr_t)name, (uintptr_t)mode, length};
  return (int32_t)call(SYS_OPEN, block);
}

uint32_t semihosting_read(int32_t file, void* memory, uint32_t size) {
  const uintptr_t block[] = {(uintptr_t)file, (uintptr_t)memory, size};
  return size - (uint32_t)call(SYS_READ, block);
}

uint32_t semihosting_write(int32_t file, const void* memory, uint32_t size) {
  const uintptr_t block[] = {(uintptr_t)file, (uintptr_t)memory, size};
  return size - (uint32_t)call(SYS_WRITE, block);
}

void semihosting_seek(int32_t file, uint32_t position) {
  const uintptr_t block[] = {(uintptr_t)file, position};
  call(SYS_SEEK, block);
}

uint32_t semihosting_length(int32_t file) {
  const uintptr_t block[] = {(uintptr_t)file};
  return (uint32_t)call(SYS_FLEN, block);
}

void semihosting_close(int32_t file) {
  const uintptr_t block[] = {(uintptr_t)file};
  call(SYS_CLOSE, block);
}

void semihosting_print(const char* text) { call(SYS_WRITE0, text); }

void semihosting_exit(int32_t status) {
  const uintptr_t block[] = {ADP_STOPPED_APPLICATION_EXIT, (uintptr_t)status};
  for (;;) {
    call(SYS_EXIT_EXTENDED, block);
  }
}
