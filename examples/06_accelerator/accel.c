/* The accelerator of this example, played by the CPU: int8 convolutions as TFLite defines them.
 *
 * tvmgen_digits.h declares one function for each convolution that the accelerator takes, and says
 * in a comment what it computes. Real ones would program registers and wait; these four pass on
 * what the comments say. */
#include "tvmgen_digits.h"

#include <stddef.h>

/* What the comments of the header say of a convolution. */
struct conv2d {
  int rows, columns, channels;             /* of the input */
  int kernel;                              /* rows and columns of the kernel */
  int out_rows, out_columns, out_channels; /* of the output */
  int stride, padding;
  int input_zero_point, output_zero_point;
};

/* value * multiplier * 2^(shift - 31), rounded twice (MultiplyByQuantizedMultiplier of TFLite). */
static int32_t rescaled(int32_t value, int32_t multiplier, int32_t shift) {
  const int64_t left = (int64_t)value * (INT64_C(1) << (shift > 0 ? shift : 0));
  const int64_t product = left * multiplier;
  const int64_t nudge = product >= 0 ? (1 << 30) : 1 - (1 << 30);
  const int32_t high = (int32_t)((product + nudge) / (INT64_C(1) << 31));
  const int right = shift < 0 ? -shift : 0;
  const int32_t mask = (int32_t)((INT64_C(1) << right) - 1);
  const int32_t remainder = high & mask;
  const int32_t threshold = (mask >> 1) + (high < 0 ? 1 : 0);
  return (high >> right) + (remainder > threshold ? 1 : 0);
}

static int32_t run_conv2d(
    const struct conv2d* c, const int8_t* input, const int8_t* weight, const int32_t* bias,
    const int32_t* multiplier, const int32_t* shift, int8_t* output, uint8_t* workspace) {
  int32_t* sums = (int32_t*)(void*)workspace; /* planned: aligned, and large enough */
  for (int y = 0; y < c->out_rows; ++y) {
    for (int x = 0; x < c->out_columns; ++x) {
      for (int o = 0; o < c->out_channels; ++o) {
        sums[o] = bias[o];
        for (int ky = 0; ky < c->kernel; ++ky) {
          for (int kx = 0; kx < c->kernel; ++kx) {
            const int row = y * c->stride + ky - c->padding;
            const int column = x * c->stride + kx - c->padding;
            if (row < 0 || row >= c->rows || column < 0 || column >= c->columns) continue;
            for (int i = 0; i < c->channels; ++i) {
              sums[o] += (input[(row * c->columns + column) * c->channels + i]
                          - c->input_zero_point)
                         * weight[((o * c->kernel + ky) * c->kernel + kx) * c->channels + i];
            }
          }
        }
      }
      for (int o = 0; o < c->out_channels; ++o) {
        int32_t value = rescaled(sums[o], multiplier[o], shift[o]) + c->output_zero_point;
        value = value < -128 ? -128 : value > 127 ? 127 : value;
        output[(y * c->out_columns + x) * c->out_channels + o] = (int8_t)value;
      }
    }
  }
  return 0;
}

/* The device is what the application put into `struct tvmgen_digits_devices`: here a counter of
 * calls, or nothing. */
static void count_call(void* device) {
  if (device != NULL) ++*(int*)device;
}

#define CONV2D(number, ...)                                                                   \
  int32_t tvmgen_digits_accel_main_##number(                                                  \
      const int8_t* input, const int8_t* weight, const int32_t* bias,                         \
      const int32_t* multiplier, const int32_t* shift, int8_t* output, uint8_t* workspace,    \
      void* device) {                                                                         \
    static const struct conv2d c = {__VA_ARGS__};                                             \
    count_call(device);                                                                       \
    return run_conv2d(&c, input, weight, bias, multiplier, shift, output, workspace);         \
  }

/*        input      kernel  output    stride, padding, zero points */
CONV2D(0, 8, 8, 1,   3,      8, 8, 16, 1, 1, -128, -128)
CONV2D(1, 8, 8, 16,  3,      4, 4, 32, 2, 0, -128, -128)
CONV2D(2, 4, 4, 32,  1,      4, 4, 32, 1, 0, -128, -19)
CONV2D(3, 4, 4, 32,  3,      4, 4, 64, 1, 1, -128, -128)
