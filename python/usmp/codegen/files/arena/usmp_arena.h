/* An arena for memory whose size is known when a model runs: blocks in the order of a stack.
 *
 * The application gives the memory. Nothing here calls malloc, and there is no global state: an
 * arena may be used by one run after the other, but not by two at the same time.
 *
 *   static uint8_t memory[65536];
 *   struct usmp_arena arena;
 *   usmp_arena_init(&arena, memory, sizeof(memory));
 */
#ifndef USMP_ARENA_H_
#define USMP_ARENA_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of which the address of the memory should be a multiple, so that none are lost there. */
#define USMP_ARENA_ALIGNMENT 16

/* Bytes that each block takes beside its own, before what its alignment takes. */
#define USMP_ARENA_BLOCK_OVERHEAD (2 * sizeof(size_t))

/* What functions return if they are called in a way that they must not be. */
#define USMP_ARENA_MISUSE (-1)

struct usmp_arena {
  uint8_t* memory;
  /* Bytes of the memory. */
  size_t capacity;
  /* Bytes at its start that are in use; 0 when a run is over. */
  size_t used;
  /* The most bytes that were in use or asked for at one time, since init or reset: more than
   * `capacity` if a block did not fit, SIZE_MAX if it would fit in no memory. */
  size_t high_water;
  /* Byte offset of the block that was allocated last, 0 if there is none. */
  size_t top;
};

/* Begin with no block.
 *
 * @param memory `capacity` bytes that nothing else uses; may be NULL if these are 0
 * @param capacity at most SIZE_MAX / 2
 * @return 0, or USMP_ARENA_MISUSE; then the arena has no memory
 */
int32_t usmp_arena_init(struct usmp_arena* arena, void* memory, size_t capacity);

/* Allocate a block behind all others. Its content is undefined.
 *
 * @param size_bytes 0 or more; what is negative is refused, as a size that cannot be computed
 * @param alignment_bytes of which the address is a multiple; a power of two
 * @return the block; NULL if it does not fit, or for sizes and alignments that are none
 */
void* usmp_arena_allocate(struct usmp_arena* arena, int64_t size_bytes, int32_t alignment_bytes);

/* Release the block that was allocated last.
 *
 * @return 0, or USMP_ARENA_MISUSE if `block` is another one, is released already, or if the bytes
 * in front of it were overwritten; then nothing changes
 */
int32_t usmp_arena_release(struct usmp_arena* arena, const void* block);

/* Release all blocks, and begin the high-water mark anew. */
void usmp_arena_reset(struct usmp_arena* arena);

#ifdef __cplusplus
}
#endif

#endif /* USMP_ARENA_H_ */
