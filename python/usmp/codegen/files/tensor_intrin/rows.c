/* Rows that the application gives, and rows that it takes. After a status other than 0 nothing is
 * called any more; rows that are not there are zeros, so that what follows depends on nothing else.
 *
 * tvmgen_read_row: a row of `size` bytes comes from the application.
 * tvmgen_write_row: a row goes there. */
#include "rows.h"

#include <stdint.h>
#include <string.h>

#include "features.h"

TVMGEN_INLINE void tvmgen_read_row(const void* handle, int32_t row, void* destination,
                                   int32_t size) {
  const struct tvmgen_rows* rows = (const struct tvmgen_rows*)handle;
  if (*rows->status == 0) *rows->status = rows->read(rows->tensors, row, destination);
  if (*rows->status != 0) memset(destination, 0, (size_t)size);
}

TVMGEN_INLINE void tvmgen_write_row(const void* handle, int32_t row, const void* source) {
  const struct tvmgen_rows* rows = (const struct tvmgen_rows*)handle;
  if (*rows->status == 0) *rows->status = rows->write(rows->tensors, row, source);
}
