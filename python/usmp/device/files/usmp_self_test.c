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

/* Return the value of a float16 number with these bits. */
static float float_of_16(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const float fraction = (float)(bits & 1023);
  float value = exponent == 0 ? ldexpf(fraction, -24) : ldexpf(fraction + 1024.0f, exponent - 25);
  if (exponent == 31) value = fraction == 0.0f ? INFINITY : NAN;
  return (bits & 0x8000) != 0 ? -value : value;
}

static int equals_16(const uint8_t* actual, const uint8_t* expected) {
  uint16_t numbers[2];
  memcpy(&numbers[0], actual, sizeof(numbers[0]));
  memcpy(&numbers[1], expected, sizeof(numbers[1]));
  return is_close(float_of_16(numbers[0]), float_of_16(numbers[1]), RELATIVE_TOLERANCE_16);
}

static int equals_32(const uint8_t* actual, const uint8_t* expected) {
  float numbers[2];
  memcpy(&numbers[0], actual, sizeof(numbers[0]));
  memcpy(&numbers[1], expected, sizeof(numbers[1]));
  return is_close(numbers[0], numbers[1], RELATIVE_TOLERANCE);
}

static int equals_64(const uint8_t* actual, const uint8_t* expected) {
  double numbers[2];
  memcpy(&numbers[0], actual, sizeof(numbers[0]));
  memcpy(&numbers[1], expected, sizeof(numbers[1]));
  return is_close_64(numbers[0], numbers[1]);
}

static int is_as_expected(const void* tensor, const struct usmp_golden_tensor* golden) {
  const uint8_t* actual = (const uint8_t*)tensor;
  const uint8_t* expected = (const uint8_t*)golden->elements;
  int (*equals)(const uint8_t*, const uint8_t*) = equals_32;
  uint32_t step = 4;
  if (golden->comparison == USMP_EXACT) return memcmp(actual, expected, golden->bytes) == 0;
  if (golden->comparison == USMP_FLOAT16) {
    equals = equals_16;
    step = 2;
  } else if (golden->comparison == USMP_FLOAT64) {
    equals = equals_64;
    step = 8;
  }
  for (uint32_t at = 0; at < golden->bytes; at += step) {
    if (!equals(actual + at, expected + at)) return 0;
  }
  return 1;
}

/* Return the first output of a run that is not as expected, counted from 1; 0 without one. */
static uint32_t first_difference(const struct usmp_device_entry* entry,
                                 const struct usmp_golden_run* run) {
  for (uint32_t index = 0; index < entry->output_count; ++index) {
    if (!is_as_expected(entry->output(index), &run->outputs[index])) return index + 1;
  }
  return 0;
}

static int32_t self_test(const struct usmp_device_model* model, const struct usmp_golden_run* runs,
                         uint32_t run_count) {
  uint32_t outputs = 0;
  for (uint32_t number = 0; number < run_count; ++number) {
    const struct usmp_golden_run* run = &runs[number];
    const struct usmp_device_entry* entry = &model->entries[run->entry];
    for (uint32_t index = 0; index < entry->input_count; ++index) {
      const struct usmp_golden_tensor* golden = &run->inputs[index];
      if (golden->bytes != 0) memcpy(entry->input(index), golden->elements, golden->bytes);
    }
    if (entry->run(run->sizes) != 0) return -(int32_t)(number + 1);
    const uint32_t different = first_difference(entry, run);
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
