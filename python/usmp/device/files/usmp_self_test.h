/* Runs of a model whose inputs and outputs are known. */
#ifndef USMP_SELF_TEST_H_
#define USMP_SELF_TEST_H_

#include "usmp_device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Return whether the elements in these bytes are as expected: bit by bit, or as floating-point
 * numbers. A function for each, so that the linker removes those that a model does not need. */
typedef int (*usmp_comparison)(const uint8_t* actual, const uint8_t* expected, uint32_t bytes);

int usmp_equals_exactly(const uint8_t* actual, const uint8_t* expected, uint32_t bytes);
int usmp_equals_float16(const uint8_t* actual, const uint8_t* expected, uint32_t bytes);
int usmp_equals_float32(const uint8_t* actual, const uint8_t* expected, uint32_t bytes);
int usmp_equals_float64(const uint8_t* actual, const uint8_t* expected, uint32_t bytes);

struct usmp_golden_tensor {
  const void* elements;
  uint32_t bytes;
  usmp_comparison equals;
};

struct usmp_golden_run {
  uint32_t entry;
  const int32_t* sizes;
  const struct usmp_golden_tensor* inputs;
  const struct usmp_golden_tensor* outputs;
};

/* Reset the model, run it on the inputs of each run, and compare the outputs.
 *
 * Returns 0 if all outputs are as expected. A number n > 0 is the first output that is not: outputs
 * count from 1, over all runs. -n says that run n, counted from 1 too, returned a status other than
 * 0. At its end the model is reset.
 *
 * Integers have to be equal. Floats may differ by 1e-5 and a ten-thousandth of the expected number;
 * those of 16 bits by 1e-5 and a thousandth, which is a unit in the last place. A NaN equals a NaN.
 */
int32_t usmp_self_test(const struct usmp_device_model* model, const struct usmp_golden_run* runs,
                       uint32_t run_count);

#ifdef __cplusplus
}
#endif

#endif /* USMP_SELF_TEST_H_ */
