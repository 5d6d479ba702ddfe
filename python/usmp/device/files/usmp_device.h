/* A model on a device, as a self test and a host at the other end of a serial line see it. */
#ifndef USMP_DEVICE_H_
#define USMP_DEVICE_H_

#include <stdint.h>

/* Does not compile where the condition is 0; C99 has no _Static_assert. */
#define USMP_DEVICE_ASSERT(condition, name) typedef char name[(condition) ? 1 : -1]

#ifdef __cplusplus
extern "C" {
#endif

enum { USMP_DIGEST_BYTES = 8 };

/* The inputs and outputs of a run that are neither in the workspace nor in other RAM of the model.
 * All functions get `context`, and the index of the tensor. */
struct usmp_device_io {
  /* Return the address of a whole input that the run only reads, aligned for its elements. */
  const void* (*input)(void* context, uint32_t index);
  /* Copy a row of an input, or take a row of an output. The row begins `offset` bytes behind the
   * start of the tensor. Return 0; any other status ends all such calls, and the run returns it. */
  int32_t (*read)(void* context, uint32_t index, uint32_t offset, void* row, uint32_t bytes);
  int32_t (*write)(void* context, uint32_t index, uint32_t offset, const void* row, uint32_t bytes);
  void* context;
};

/* An entry: a function of the model that an application calls. */
struct usmp_device_entry {
  uint32_t input_count;
  uint32_t output_count;
  /* Symbolic sizes that a run takes. */
  uint32_t size_count;
  /* Bytes of each input and output, at the largest sizes. */
  const uint32_t* input_bytes;
  const uint32_t* output_bytes;
  /* Return the address of an input or output, for an index below the count; NULL if it passes
   * through `io`. Inputs are written right before each run, and outputs are read right after it. */
  void* (*input)(uint32_t index);
  void* (*output)(uint32_t index);
  /* Run once, on `size_count` sizes; returns 0 on success. */
  int32_t (*run)(const int32_t* sizes, struct usmp_device_io* io);
};

struct usmp_device_model {
  /* Digests of the inputs, outputs and sizes of all entries, and of the model's code. */
  uint8_t interface_digest[USMP_DIGEST_BYTES];
  uint8_t code_digest[USMP_DIGEST_BYTES];
  uint32_t entry_count;
  const struct usmp_device_entry* entries;
  /* Reset the state that persists between runs; NULL if there is none. */
  void (*reset)(void);
};

#ifdef __cplusplus
}
#endif

#endif /* USMP_DEVICE_H_ */
