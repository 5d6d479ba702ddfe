/* How operators that are given the address of such a struct ask the application for a row of an
 * input (read), or hand it a row of an output (write). All of a run share one status. */
#include <stdint.h>

struct tvmgen_rows {
  int32_t (*read)(void* tensors, int32_t row, void* destination);
  int32_t (*write)(void* tensors, int32_t row, const void* source);
  void* tensors;
  int32_t* status;
};
