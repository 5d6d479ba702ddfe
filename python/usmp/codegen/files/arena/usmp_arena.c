/* Blocks in the order of a stack. In front of each is what the arena was before it. */
#include "usmp_arena.h"

#include <string.h>

struct usmp_arena_below {
  size_t used;
  size_t top;
};

int32_t usmp_arena_init(struct usmp_arena* arena, void* memory, size_t capacity) {
  const int is_usable = capacity <= SIZE_MAX / 2 && (memory != NULL || capacity == 0);
  if (arena == NULL) return USMP_ARENA_MISUSE;
  arena->memory = is_usable ? (uint8_t*)memory : NULL;
  arena->capacity = is_usable ? capacity : 0;
  usmp_arena_reset(arena);
  return is_usable ? 0 : USMP_ARENA_MISUSE;
}

void usmp_arena_reset(struct usmp_arena* arena) {
  if (arena == NULL) return;
  arena->used = 0;
  arena->high_water = 0;
  arena->top = 0;
}

void* usmp_arena_allocate(struct usmp_arena* arena, int64_t size_bytes, int32_t alignment_bytes) {
  struct usmp_arena_below below;
  uint64_t start, end;
  if (arena == NULL || size_bytes < 0) return NULL;
  if (alignment_bytes <= 0 || (alignment_bytes & (alignment_bytes - 1)) != 0) return NULL;
  /* No sum overflows: `used` and the size are less than 2^63, the alignment less than 2^31. */
  start = (uint64_t)arena->used + sizeof(below);
  start += (0 - ((uint64_t)(uintptr_t)arena->memory + start)) & ((uint64_t)alignment_bytes - 1);
  end = start + (uint64_t)size_bytes;
  if (end > arena->high_water) {
    arena->high_water = end < SIZE_MAX ? (size_t)end : SIZE_MAX;
  }
  if (end > arena->capacity) return NULL;
  below.used = arena->used;
  below.top = arena->top;
  memcpy(arena->memory + start - sizeof(below), &below, sizeof(below));
  arena->used = (size_t)end;
  arena->top = (size_t)start;
  return arena->memory + start;
}

int32_t usmp_arena_release(struct usmp_arena* arena, const void* block) {
  struct usmp_arena_below below;
  if (arena == NULL || arena->top == 0 || block != arena->memory + arena->top) {
    return USMP_ARENA_MISUSE;
  }
  memcpy(&below, arena->memory + arena->top - sizeof(below), sizeof(below));
  if (below.used > arena->top - sizeof(below) || below.top > below.used) return USMP_ARENA_MISUSE;
  if ((below.top == 0) != (below.used == 0)) return USMP_ARENA_MISUSE;
  arena->used = below.used;
  arena->top = below.top;
  return 0;
}
