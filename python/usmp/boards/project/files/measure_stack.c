#include "measure.h"
#include "startup.h"

uint32_t stack_used(void) {
  const volatile uint32_t* word = __stack_limit;
  while (word < __stack_top && *word == STACK_PAINT) {
    ++word;
  }
  return (uint32_t)(__stack_top - word) * sizeof(uint32_t);
}

uint32_t stack_size(void) {
  return (uint32_t)(__stack_top - __stack_limit) * sizeof(uint32_t);
}
