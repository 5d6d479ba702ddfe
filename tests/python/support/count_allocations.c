// Preloaded, counts what a process allocates for tensors: memory that has to be aligned, which is
// how TVM's CPU device and the planner get it, and blocks of malloc from 4096 bytes on. For glibc.
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

extern void* __libc_malloc(size_t size);
extern void* __libc_memalign(size_t alignment, size_t size);
extern void* __libc_calloc(size_t count, size_t size);
extern void* __libc_realloc(void* block, size_t size);
extern void __libc_free(void* block);

enum { kSlots = 1 << 20, kLarge = 4096 };

static struct {
  void* block;
  size_t size;
} table[kSlots];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int64_t count, bytes, peak_bytes;

static size_t SlotOf(const void* block) {
  size_t slot = ((uintptr_t)block >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 44;
  while (table[slot].block != NULL && table[slot].block != block) slot = (slot + 1) % kSlots;
  return slot;
}

static void* Counted(void* block, size_t size) {
  if (block == NULL) return NULL;
  pthread_mutex_lock(&lock);
  const size_t slot = SlotOf(block);
  table[slot].block = block;
  table[slot].size = size;
  ++count;
  bytes += (int64_t)size;
  if (bytes > peak_bytes) peak_bytes = bytes;
  pthread_mutex_unlock(&lock);
  return block;
}

void* malloc(size_t size) {
  void* block = __libc_malloc(size);
  return size < kLarge ? block : Counted(block, size);
}

void* memalign(size_t alignment, size_t size) {
  return Counted(__libc_memalign(alignment, size), size);
}

void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void** block, size_t alignment, size_t size) {
  *block = memalign(alignment, size);
  return *block == NULL ? ENOMEM : 0;
}

void* calloc(size_t number, size_t size) {
  void* block = __libc_calloc(number, size);
  return number * size < kLarge ? block : Counted(block, number * size);
}

static void Forget(void* block) {
  pthread_mutex_lock(&lock);
  // A block that is freed keeps its slot, so that those behind it are found; its size is gone.
  const size_t slot = SlotOf(block);
  if (table[slot].block == block) {
    bytes -= (int64_t)table[slot].size;
    table[slot].size = 0;
  }
  pthread_mutex_unlock(&lock);
}

void* realloc(void* block, size_t size) {
  if (block != NULL) Forget(block);
  void* moved = __libc_realloc(block, size);
  return size < kLarge ? moved : Counted(moved, size);
}

void free(void* block) {
  if (block == NULL) return;
  Forget(block);
  __libc_free(block);
}

// For the program that is counted.
int64_t counted_allocations(void) { return count; }
int64_t counted_bytes(void) { return bytes; }
int64_t counted_peak_bytes(void) { return peak_bytes; }
void forget_peak_bytes(void) { peak_bytes = bytes; }
