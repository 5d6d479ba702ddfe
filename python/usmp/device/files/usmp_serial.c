/* The host asks and the device answers, in frames:
 *
 *   A5 5A | kind | number | length, 2 bytes | payload | CRC-32 of kind to payload, 4 bytes
 *
 * Numbers of several bytes have the lowest one first. An answer has the number of its request, and
 * its kind, or that of RUN, with the bit ANSWER set. What lies between frames is skipped. */
#include "usmp_serial.h"

#include <string.h>

#if USMP_SERIAL_PAYLOAD < 64 || USMP_SERIAL_PAYLOAD > 1024
#error "USMP_SERIAL_PAYLOAD must be 64 to 1024"
#endif

enum { PROTOCOL_VERSION = 2 };
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
 * A run with rows answers RUN, or CONTINUE, with what it needs, and the host sends CONTINUE:
 *
 *   TAKE_ROW  input, offset, count   -> session, bytes
 *   GIVE_ROW  output, offset, bytes  -> session
 *
 * A device that starts sends READY, which answers no request. */
enum { READY = 0, HELLO, RESET, WRITE, RUN, READ, CYCLES, CONTINUE, TAKE_ROW, GIVE_ROW };
enum { ANSWER = 0x80, FAILED = 0xff };
/* The payload of FAILED: why the device refuses a request. */
enum { DAMAGED = 1, INVALID, NO_SESSION };

struct frame {
  uint8_t bytes[HEADER_BYTES + USMP_SERIAL_PAYLOAD + CHECKSUM_BYTES];
  uint32_t length;
};

static struct frame frame;
static uint8_t* const payload = frame.bytes + HEADER_BYTES;
/* Clock cycles in which runs waited for rows. */
static uint32_t waited;

/* The program at the other end of the line. */
struct host {
  const struct usmp_serial_port* port;
  /* The number of its session; 0 if there is none. */
  uint32_t session;
  /* 0, or the number by which the line ended. */
  int32_t status;
  /* Whether `frame` has a request that came instead of CONTINUE, and has no answer yet. */
  int has_request;
};

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

/* Read frames up to the next request; return 0, or the number by which the line ended. A terminal
 * that echoes what it gets must not make the device answer itself. */
static int32_t next_request(const struct usmp_serial_port* port) {
  int is_whole = 0;
  for (;;) {
    int32_t status = receive(port, &is_whole);
    if (status < 0) return status;
    if (status == 0 && is_whole && frame.bytes[2] < ANSWER) return 0;
    if (status == 0 && !is_whole) {
      status = fail(port, DAMAGED);
      if (status != 0) return status;
    }
  }
}

uint32_t usmp_serial_cycles(const struct usmp_serial_port* port) {
  return port->cycles(port->context) - waited;
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

static int write_input(const struct usmp_device_entry* entry,
                       void* (*input)(uint32_t entry, uint32_t index)) {
  if (frame.length < 16 || argument(2) >= entry->input_count) return 0;
  const uint32_t index = argument(2), offset = argument(3), count = frame.length - 16;
  if (!lies_within(offset, count, entry->input_bytes[index])) return 0;
  uint8_t* place = (uint8_t*)entry->input(index);
  if (place == 0 && input != 0) place = (uint8_t*)input(argument(1), index);
  if (place == 0) return 0;
  memcpy(place + offset, payload + 16, count);
  frame.length = 0;
  return 1;
}

static int read_output(const struct usmp_device_entry* entry) {
  if (frame.length != 20 || argument(2) >= entry->output_count) return 0;
  const uint32_t output = argument(2), offset = argument(3), count = argument(4);
  if (count > USMP_SERIAL_PAYLOAD) return 0;
  const uint8_t* place = (const uint8_t*)entry->output(output);
  if (place == 0 || !lies_within(offset, count, entry->output_bytes[output])) return 0;
  memcpy(payload, place + offset, count);
  frame.length = count;
  return 1;
}

/* Most bytes of a row in a frame, and the status of a callback if the host sends no row. */
enum { ROW_BYTES = USMP_SERIAL_PAYLOAD - 16, NO_ROW = 1 };

/* Send what a run needs, and wait for CONTINUE with `count` bytes; return whether it came. */
static int exchange(struct host* host, uint8_t kind, uint32_t count) {
  const struct usmp_serial_port* port = host->port;
  const uint32_t start = port->cycles != 0 ? port->cycles(port->context) : 0;
  host->status = send_frame(port, (uint8_t)(kind | ANSWER));
  if (host->status == 0) host->status = next_request(port);
  if (port->cycles != 0) waited += port->cycles(port->context) - start;
  if (host->status != 0) return 0;
  host->has_request =
      frame.bytes[2] != CONTINUE || frame.length != 4 + count || argument(0) != host->session;
  return !host->has_request;
}

/* A run of an entry for a host. */
struct run {
  struct host* host;
  void* (*input)(uint32_t entry, uint32_t index);
  uint32_t entry;
};

static const void* input_place(void* context, uint32_t index) {
  const struct run* run = (const struct run*)context;
  return run->input == 0 ? 0 : run->input(run->entry, index);
}

static int32_t take_row(void* context, uint32_t index, uint32_t offset, void* row, uint32_t bytes) {
  struct host* host = ((struct run*)context)->host;
  for (uint32_t done = 0, count = 0; done < bytes; done += count) {
    count = bytes - done < ROW_BYTES ? bytes - done : ROW_BYTES;
    frame.length = 0;
    append(index);
    append(offset + done);
    append(count);
    if (!exchange(host, TAKE_ROW, count)) return NO_ROW;
    memcpy((uint8_t*)row + done, payload + 4, count);
  }
  return 0;
}

static int32_t give_row(void* context, uint32_t index, uint32_t offset, const void* row,
                        uint32_t bytes) {
  struct host* host = ((struct run*)context)->host;
  for (uint32_t done = 0, count = 0; done < bytes; done += count) {
    count = bytes - done < ROW_BYTES ? bytes - done : ROW_BYTES;
    frame.length = 0;
    append(index);
    append(offset + done);
    memcpy(payload + frame.length, (const uint8_t*)row + done, count);
    frame.length += count;
    if (!exchange(host, GIVE_ROW, 0)) return NO_ROW;
  }
  return 0;
}

static int run_entry(const struct usmp_device_entry* entry,
                     const struct usmp_operator_cycles* operators, struct run* run) {
  const struct usmp_serial_port* port = run->host->port;
  struct usmp_device_io io = {input_place, take_row, give_row, run};
  int32_t sizes[USMP_SERIAL_PAYLOAD / 4];
  uint32_t cycles = 0;
  if (frame.length != 8 + 4 * entry->size_count) return 0;
  for (uint32_t n = 0; n < entry->size_count; ++n) sizes[n] = (int32_t)argument(2 + n);
  for (uint32_t n = 0; n < operators->count; ++n) operators->cycles[n] = 0;
  if (port->cycles != 0) cycles = usmp_serial_cycles(port);
  const int32_t status = entry->run(sizes, &io);
  if (port->cycles != 0) cycles = usmp_serial_cycles(port) - cycles;
  /* Keep a request that ended the run. */
  if (run->host->has_request) return 1;
  frame.length = 0;
  append((uint32_t)status);
  append(cycles);
  frame.bytes[2] = RUN;
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
                  void* (*input)(uint32_t entry, uint32_t index),
                  const struct usmp_operator_cycles* operators, struct host* host) {
  const uint8_t kind = frame.bytes[2];
  if (kind == RESET && frame.length == 4) {
    if (model->reset != 0) model->reset();
    frame.length = 0;
    return 1;
  }
  if (kind == CYCLES) return read_cycles(operators);
  if (frame.length < 8 || argument(1) >= model->entry_count) return 0;
  const struct usmp_device_entry* entry = &model->entries[argument(1)];
  struct run run = {host, input, argument(1)};
  if (kind == WRITE) return write_input(entry, input);
  if (kind == RUN) return run_entry(entry, operators, &run);
  if (kind == READ) return read_output(entry);
  return 0;
}

int32_t usmp_serve(const struct usmp_device_model* model,
                   void* (*input)(uint32_t entry, uint32_t index),
                   const struct usmp_operator_cycles* operators,
                   const struct usmp_serial_port* port) {
  struct host host = {port, 0, 0, 0};
  frame.length = 0;
  frame.bytes[3] = 0;
  host.status = send_frame(port, READY | ANSWER);
  while (host.status == 0) {
    if (!host.has_request) host.status = next_request(port);
    if (host.status != 0) break;
    host.has_request = 0;
    if (frame.bytes[2] == HELLO && frame.length >= 8) {
      host.session = argument(1);
      hello(model, operators, port, host.session);
    } else if (host.session == 0 || frame.length < 4 || argument(0) != host.session) {
      host.status = fail(port, NO_SESSION);
      continue;
    } else if (!answer(model, input, operators, &host)) {
      host.status = fail(port, INVALID);
      continue;
    }
    if (host.status == 0 && !host.has_request) {
      host.status = send_frame(port, (uint8_t)(frame.bytes[2] | ANSWER));
    }
  }
  return host.status;
}
