/* The host asks and the device answers, in frames:
 *
 *   A5 5A | kind | number | length, 2 bytes | payload | CRC-32 of kind to payload, 4 bytes
 *
 * Numbers of several bytes have the lowest one first. An answer has the number of its request, and
 * its kind with the bit ANSWER set. What lies between frames is skipped. */
#include "usmp_serial.h"

#include <string.h>

#if USMP_SERIAL_PAYLOAD < 64 || USMP_SERIAL_PAYLOAD > 1024
#error "USMP_SERIAL_PAYLOAD must be 64 to 1024"
#endif

enum { PROTOCOL_VERSION = 1 };
enum { MAGIC_0 = 0xa5, MAGIC_1 = 0x5a };
enum { HEADER_BYTES = 6, CHECKSUM_BYTES = 4 };

/* Each request but HELLO begins with the number of the session, and each number takes 4 bytes:
 *
 *   HELLO   version, session       -> version, session, digests, longest payload, has cycles,
 *                                     operators
 *   RESET   session                ->
 *   WRITE   session, entry, input, offset, bytes to write  ->
 *   RUN     session, entry, sizes  -> status, cycles
 *   READ    session, entry, output, offset, count          -> bytes
 *   CYCLES  session, first operator, count                 -> 8 bytes each
 *
 * A device that starts sends READY, which answers no request. */
enum { READY = 0, HELLO, RESET, WRITE, RUN, READ, CYCLES };
enum { ANSWER = 0x80, FAILED = 0xff };
/* The payload of FAILED: why the device refuses a request. */
enum { DAMAGED = 1, INVALID, NO_SESSION };

struct frame {
  uint8_t bytes[HEADER_BYTES + USMP_SERIAL_PAYLOAD + CHECKSUM_BYTES];
  uint32_t length;
};

static struct frame frame;
static uint8_t* const payload = frame.bytes + HEADER_BYTES;

static uint32_t checksum(uint32_t length) {
  uint32_t crc = 0xffffffffu;
  for (uint32_t index = 2; index < HEADER_BYTES + length; ++index) {
    crc ^= frame.bytes[index];
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1u)));
  }
  return ~crc;
}

static uint32_t number_at(const uint8_t* bytes) {
  return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
         (uint32_t)bytes[3] << 24;
}

/* The n-th number of a request. */
static uint32_t argument(uint32_t n) {
  return number_at(payload + 4 * n);
}

static void put(uint8_t* bytes, uint32_t number) {
  for (int index = 0; index < 4; ++index) bytes[index] = (uint8_t)(number >> 8 * index);
}

/* Append a number to the payload of an answer. */
static void append(uint32_t number) {
  put(payload + frame.length, number);
  frame.length += 4;
}

static int32_t send_frame(const struct usmp_serial_port* port, uint8_t kind) {
  frame.bytes[0] = MAGIC_0;
  frame.bytes[1] = MAGIC_1;
  frame.bytes[2] = kind;
  frame.bytes[4] = (uint8_t)frame.length;
  frame.bytes[5] = (uint8_t)(frame.length >> 8);
  put(payload + frame.length, checksum(frame.length));
  return port->write(port->context, frame.bytes, HEADER_BYTES + frame.length + CHECKSUM_BYTES);
}

static int32_t fail(const struct usmp_serial_port* port, uint32_t why) {
  frame.length = 0;
  append(why);
  return send_frame(port, FAILED);
}

/* Read the next frame; return 0, or another status of the port's `read`. */
static int32_t receive(const struct usmp_serial_port* port, int* is_whole) {
  uint8_t* bytes = frame.bytes;
  int32_t status = 0;
  do {
    bytes[1] = 0;
    do {
      bytes[0] = bytes[1];
      status = port->read(port->context, bytes + 1, 1);
      if (status != 0) return status;
    } while (bytes[0] != MAGIC_0 || bytes[1] != MAGIC_1);
    status = port->read(port->context, bytes + 2, HEADER_BYTES - 2);
    if (status != 0) return status;
    frame.length = (uint32_t)bytes[4] | (uint32_t)bytes[5] << 8;
  } while (frame.length > USMP_SERIAL_PAYLOAD);
  status = port->read(port->context, payload, frame.length + CHECKSUM_BYTES);
  *is_whole = number_at(payload + frame.length) == checksum(frame.length);
  return status;
}

/* Return whether `count` bytes from an offset on are within `bytes` bytes. */
static int lies_within(uint32_t offset, uint32_t count, uint32_t bytes) {
  return offset <= bytes && count <= bytes - offset;
}

static void hello(const struct usmp_device_model* model,
                  const struct usmp_operator_cycles* operators, const struct usmp_serial_port* port,
                  uint32_t session) {
  frame.length = 0;
  append(PROTOCOL_VERSION);
  append(session);
  memcpy(payload + frame.length, model->interface_digest, USMP_DIGEST_BYTES);
  frame.length += USMP_DIGEST_BYTES;
  memcpy(payload + frame.length, model->code_digest, USMP_DIGEST_BYTES);
  frame.length += USMP_DIGEST_BYTES;
  append(USMP_SERIAL_PAYLOAD);
  append(port->cycles != 0);
  append(operators->count);
}

static int write_input(const struct usmp_device_entry* entry) {
  if (frame.length < 16 || argument(2) >= entry->input_count) return 0;
  const uint32_t input = argument(2), offset = argument(3), count = frame.length - 16;
  if (!lies_within(offset, count, entry->input_bytes[input])) return 0;
  memcpy((uint8_t*)entry->input(input) + offset, payload + 16, count);
  frame.length = 0;
  return 1;
}

static int read_output(const struct usmp_device_entry* entry) {
  if (frame.length != 20 || argument(2) >= entry->output_count) return 0;
  const uint32_t output = argument(2), offset = argument(3), count = argument(4);
  if (count > USMP_SERIAL_PAYLOAD) return 0;
  if (!lies_within(offset, count, entry->output_bytes[output])) return 0;
  memcpy(payload, (const uint8_t*)entry->output(output) + offset, count);
  frame.length = count;
  return 1;
}

static int run_entry(const struct usmp_device_entry* entry,
                     const struct usmp_operator_cycles* operators,
                     const struct usmp_serial_port* port) {
  int32_t sizes[USMP_SERIAL_PAYLOAD / 4];
  uint32_t cycles = 0;
  if (frame.length != 8 + 4 * entry->size_count) return 0;
  for (uint32_t n = 0; n < entry->size_count; ++n) sizes[n] = (int32_t)argument(2 + n);
  for (uint32_t n = 0; n < operators->count; ++n) operators->cycles[n] = 0;
  if (port->cycles != 0) cycles = port->cycles(port->context);
  const int32_t status = entry->run(sizes);
  if (port->cycles != 0) cycles = port->cycles(port->context) - cycles;
  frame.length = 0;
  append((uint32_t)status);
  append(cycles);
  return 1;
}

static int read_cycles(const struct usmp_operator_cycles* operators) {
  if (frame.length != 12) return 0;
  const uint32_t first = argument(1), count = argument(2);
  if (count > USMP_SERIAL_PAYLOAD / 8 || !lies_within(first, count, operators->count)) return 0;
  frame.length = 0;
  for (uint32_t n = first; n < first + count; ++n) {
    append((uint32_t)operators->cycles[n]);
    append((uint32_t)(operators->cycles[n] >> 32));
  }
  return 1;
}

/* Replace a request in `frame` by its answer; return 0 if the request is not valid. */
static int answer(const struct usmp_device_model* model,
                  const struct usmp_operator_cycles* operators,
                  const struct usmp_serial_port* port) {
  const uint8_t kind = frame.bytes[2];
  if (kind == RESET && frame.length == 4) {
    if (model->reset != 0) model->reset();
    frame.length = 0;
    return 1;
  }
  if (kind == CYCLES) return read_cycles(operators);
  if (frame.length < 8 || argument(1) >= model->entry_count) return 0;
  const struct usmp_device_entry* entry = &model->entries[argument(1)];
  if (kind == WRITE) return write_input(entry);
  if (kind == RUN) return run_entry(entry, operators, port);
  if (kind == READ) return read_output(entry);
  return 0;
}

/* Answer the received frame. */
static int32_t respond(const struct usmp_device_model* model,
                       const struct usmp_operator_cycles* operators,
                       const struct usmp_serial_port* port, uint32_t* session) {
  const uint8_t kind = frame.bytes[2];
  /* A terminal that echoes what it gets must not make the device answer itself. */
  if (kind >= ANSWER) return 0;
  if (kind == HELLO && frame.length >= 8) {
    *session = argument(1);
    hello(model, operators, port, *session);
  } else if (*session == 0 || frame.length < 4 || argument(0) != *session) {
    return fail(port, NO_SESSION);
  } else if (!answer(model, operators, port)) {
    return fail(port, INVALID);
  }
  return send_frame(port, (uint8_t)(kind | ANSWER));
}

int32_t usmp_serve(const struct usmp_device_model* model,
                   const struct usmp_operator_cycles* operators,
                   const struct usmp_serial_port* port) {
  uint32_t session = 0;
  int is_whole = 0;
  frame.length = 0;
  frame.bytes[3] = 0;
  int32_t status = send_frame(port, READY | ANSWER);
  while (status == 0) {
    status = receive(port, &is_whole);
    if (status > 0) {
      status = 0;
    } else if (status == 0) {
      status = is_whole ? respond(model, operators, port, &session) : fail(port, DAMAGED);
    }
  }
  return status;
}
