#include "usmp_self_test.h"

#include <math.h>
#include <string.h>

#define ABSOLUTE_TOLERANCE 1e-5f
#define RELATIVE_TOLERANCE 1e-4f
#define RELATIVE_TOLERANCE_16 1e-3f

/* Return whether floats are equal within the tolerances; infinities must be identical. */
static int is_close(float actual, float expected, float tolerance) {
  if (isnan(actual) || isnan(expected)) return isnan(actual) && isnan(expected);
  if (isinf(actual) || isinf(expected)) return actual == expected;
  return fabsf(actual - expected) <= ABSOLUTE_TOLERANCE + tolerance * fabsf(expected);
}

static int is_close_64(double actual, double expected) {
  if (isnan(actual) || isnan(expected)) return isnan(actual) && isnan(expected);
  if (isinf(actual) || isinf(expected)) return actual == expected;
  return fabs(actual - expected) <=
         (double)ABSOLUTE_TOLERANCE + (double)RELATIVE_TOLERANCE * fabs(expected);
}

/* Return the value of a float16 number with these bits, without ldexpf, because that sets errno,
 * which is a kilobyte of RAM in some C libraries. */
static float float_of_16(uint16_t bits) {
  const uint32_t exponent = (bits >> 10) & 31u, fraction = bits & 1023u;
  /* The largest exponent is that of infinities and NaNs in both formats. */
  const uint32_t number = (exponent == 31u ? 255u : exponent + 112u) << 23 | fraction << 13;
  float value;
  memcpy(&value, &number, sizeof(value));
  /* Subnormal numbers of 16 bits are normal ones of 32. */
  if (exponent == 0u) value = (float)fraction * 0x1p-24f;
  return (bits & 0x8000u) != 0u ? -value : value;
}

int usmp_equals_exactly(const uint8_t* actual, const uint8_t* expected, uint32_t bytes) {
  return memcmp(actual, expected, bytes) == 0;
}

int usmp_equals_float16(const uint8_t* actual, const uint8_t* expected, uint32_t bytes) {
  uint16_t numbers[2];
  for (uint32_t at = 0; at < bytes; at += (uint32_t)sizeof(numbers[0])) {
    memcpy(&numbers[0], actual + at, sizeof(numbers[0]));
    memcpy(&numbers[1], expected + at, sizeof(numbers[1]));
    if (!is_close(float_of_16(numbers[0]), float_of_16(numbers[1]), RELATIVE_TOLERANCE_16)) {
      return 0;
    }
  }
  return 1;
}

int usmp_equals_float32(const uint8_t* actual, const uint8_t* expected, uint32_t bytes) {
  float numbers[2];
  for (uint32_t at = 0; at < bytes; at += (uint32_t)sizeof(numbers[0])) {
    memcpy(&numbers[0], actual + at, sizeof(numbers[0]));
    memcpy(&numbers[1], expected + at, sizeof(numbers[1]));
    if (!is_close(numbers[0], numbers[1], RELATIVE_TOLERANCE)) return 0;
  }
  return 1;
}

int usmp_equals_float64(const uint8_t* actual, const uint8_t* expected, uint32_t bytes) {
  double numbers[2];
  for (uint32_t at = 0; at < bytes; at += (uint32_t)sizeof(numbers[0])) {
    memcpy(&numbers[0], actual + at, sizeof(numbers[0]));
    memcpy(&numbers[1], expected + at, sizeof(numbers[1]));
    if (!is_close_64(numbers[0], numbers[1])) return 0;
  }
  return 1;
}

/* Return whether bytes of a tensor, from an offset on, are as expected. */
static int is_as_expected(const void* bytes, const struct usmp_golden_tensor* golden,
                          uint32_t offset, uint32_t count) {
  return golden->equals((const uint8_t*)bytes, (const uint8_t*)golden->elements + offset, count);
}

/* A run, and what is known of its outputs by rows. */
struct test_run {
  const struct usmp_golden_run* golden;
  /* The first of them that differs; at least their count if there is none. */
  uint32_t different;
  /* The bytes of all of their rows so far. */
  uint32_t bytes;
};

static const void* golden_input(void* context, uint32_t index) {
  return ((const struct test_run*)context)->golden->inputs[index].elements;
}

static int32_t read_row(void* context, uint32_t index, uint32_t offset, void* row, uint32_t bytes) {
  memcpy(row, (const uint8_t*)golden_input(context, index) + offset, bytes);
  return 0;
}

static int32_t compare_row(void* context, uint32_t index, uint32_t offset, const void* row,
                           uint32_t bytes) {
  struct test_run* run = (struct test_run*)context;
  run->bytes += bytes;
  if (index < run->different && !is_as_expected(row, &run->golden->outputs[index], offset, bytes)) {
    run->different = index;
  }
  return 0;
}

/* Return the first output of a run that is not as expected, counted from 1; 0 without one. */
static uint32_t first_difference(const struct usmp_device_entry* entry,
                                 const struct test_run* run) {
  uint32_t different = run->different, rows = entry->output_count, bytes = 0;
  for (uint32_t index = entry->output_count; index-- > 0;) {
    const struct usmp_golden_tensor* golden = &run->golden->outputs[index];
    const void* output = entry->output(index);
    if (output == 0) {
      rows = index;
      bytes += golden->bytes;
    } else if (index < different && !is_as_expected(output, golden, 0, golden->bytes)) {
      different = index;
    }
  }
  /* Without all rows, it is not known which output lacks some. */
  if (bytes != run->bytes && rows < different) different = rows;
  return different < entry->output_count ? different + 1 : 0;
}

static int32_t self_test(const struct usmp_device_model* model, const struct usmp_golden_run* runs,
                         uint32_t run_count) {
  struct test_run run;
  struct usmp_device_io io = {golden_input, read_row, compare_row, &run};
  uint32_t outputs = 0;
  for (uint32_t number = 0; number < run_count; ++number) {
    const struct usmp_device_entry* entry = &model->entries[runs[number].entry];
    run.golden = &runs[number];
    run.different = entry->output_count;
    run.bytes = 0;
    for (uint32_t index = 0; index < entry->input_count; ++index) {
      const struct usmp_golden_tensor* golden = &run.golden->inputs[index];
      void* input = entry->input(index);
      if (input != 0 && golden->bytes != 0) memcpy(input, golden->elements, golden->bytes);
    }
    if (entry->run(run.golden->sizes, &io) != 0) return -(int32_t)(number + 1);
    const uint32_t different = first_difference(entry, &run);
    if (different != 0) return (int32_t)(outputs + different);
    outputs += entry->output_count;
  }
  return 0;
}

int32_t usmp_self_test(const struct usmp_device_model* model, const struct usmp_golden_run* runs,
                       uint32_t run_count) {
  if (model->reset != 0) model->reset();
  const int32_t result = self_test(model, runs, run_count);
  if (model->reset != 0) model->reset();
  return result;
}
