/* A model that a host runs over a serial line: tvmc run --serial. */
#ifndef USMP_SERIAL_H_
#define USMP_SERIAL_H_

#include "usmp_device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Most bytes between the header and the checksum of a frame: 64 to 1024. */
#ifndef USMP_SERIAL_PAYLOAD
#define USMP_SERIAL_PAYLOAD 256
#endif

/* The line, and a clock. All functions get `context`. */
struct usmp_serial_port {
  /* Read exactly `count` bytes. Returns 0; a positive number if they did not come in time, so that
   * the frame which they belong to is given up; or a negative one, which ends `usmp_serve`. To wait
   * without an end is fine. */
  int32_t (*read)(void* context, uint8_t* bytes, uint32_t count);
  /* Write all bytes. Returns 0; any other number ends `usmp_serve`. */
  int32_t (*write)(void* context, const uint8_t* bytes, uint32_t count);
  /* Return a counter of clock cycles of 32 bits, which wraps around; may be NULL. */
  uint32_t (*cycles)(void* context);
  void* context;
};

/* Clock cycles of each operator, which hooks count; `count` is 0 without hooks. */
struct usmp_operator_cycles {
  uint32_t count;
  uint64_t* cycles;
};

/* Answer the host until the line ends; returns the number by which it ended. `input` returns the
 * address of an input of an entry that the model does not place; NULL if there is none. */
int32_t usmp_serve(const struct usmp_device_model* model,
                   void* (*input)(uint32_t entry, uint32_t index),
                   const struct usmp_operator_cycles* operators,
                   const struct usmp_serial_port* port);

/* Return the counter of a line that has one, without the cycles in which runs waited for rows. */
uint32_t usmp_serial_cycles(const struct usmp_serial_port* port);

#ifdef __cplusplus
}
#endif

#endif /* USMP_SERIAL_H_ */
