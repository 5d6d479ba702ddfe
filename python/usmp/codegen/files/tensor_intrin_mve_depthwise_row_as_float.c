/* Rows of depthwise convolutions, rescaled as floats, for cores with MVE of floats: where taps
 * begin, and padding. */
#include "tensor_intrin_features.h"
#include "tensor_intrin_mve_depthwise_as_float.c"

/* A row of the output. The window has `rows` rows in the input, which begin at `x` and come after
 * `above` rows of taps; its first column of the first pixel is column `left`; there is room for its
 * taps, at least two. Of less than 16 channels, weights and records are repeated to 16 if 16 is a
 * multiple of them, so that some pixels are computed together. */
TVMGEN_INLINE void tvmgen_mve_depthwise_row_as_float(
    const int8_t** taps, int32_t count, const int8_t* x, const int8_t* w, const int32_t* records,
    int8_t* y, int32_t above, int32_t rows, int32_t width, int32_t channels, int32_t kernel_height,
    int32_t kernel_width, int32_t stride, int32_t dilation_y, int32_t dilation_x, int32_t left,
    int32_t pixels, int32_t input_zero_point, int32_t zero_point, int32_t low, int32_t high) {
  const int32_t any = (channels & 3) != 0;
  const int32_t slots = count == 1 ? 2 : count;
  const int32_t wide = stride == 1 && channels < 16 && 16 % channels == 0 ? 16 / channels : 1;
  const int32_t inside_y = rows == kernel_height;
  const int32_t reach = (kernel_width - 1) * dilation_x;
  int8_t padding[128];
  if (!inside_y || left < 0 || left + (pixels - 1) * stride + reach >= width) {
    tvmgen_mve_fill(padding, channels < 128 ? channels : 128, input_zero_point);
  }
  for (int32_t ox = 0; ox < pixels;) {
    const int32_t ix = left + ox * stride;
    const int32_t inside = inside_y && ix >= 0 && ix + reach < width;
    const int32_t together = inside ? (width - 1 - reach - ix) / stride + 1 : 1;
    const int32_t rest = together < pixels - ox ? together : pixels - ox;
    const int32_t at_once = rest >= wide ? wide : 1;
    const int32_t runs = at_once == 1 ? rest : rest / at_once;
    const int32_t lanes = at_once * channels, step = stride * lanes;
    const int32_t block = inside ? lanes : 128;
    for (int32_t c = 0; c < lanes; c += block) {
      const int32_t some = lanes - c < block ? lanes - c : block;
      const int8_t* const by = w + c * slots;
      int32_t tap = 0;
      for (int32_t ky = 0; ky < kernel_height; ++ky) {
        const int32_t row = ky - above;
        const int32_t end = (uint32_t)row < (uint32_t)rows ? width : 0;
        int32_t at = (row * dilation_y * width + ix) * channels + c, jx = ix;
        for (int32_t kx = 0; kx < kernel_width; ++kx) {
          taps[tap++] = (uint32_t)jx < (uint32_t)end ? x + at : padding;
          at += dilation_x * channels;
          jx += dilation_x;
        }
      }
      if (count == 1) taps[1] = taps[0];
      if (count == 9 && any) {
        tvmgen_mve_depthwise_9_any_as_float(taps, by, records + 2 * c, y + c, runs, some, step,
                                            zero_point, low, high, slots);
      } else if (any) {
        tvmgen_mve_depthwise_taps_any_as_float(taps, by, records + 2 * c, y + c, runs, some, step,
                                               zero_point, low, high, slots);
      } else if (count == 9) {
        tvmgen_mve_depthwise_9_as_float(taps, by, records + 2 * c, y + c, runs, some, step,
                                        zero_point, low, high, slots);
      } else {
        tvmgen_mve_depthwise_taps_as_float(taps, by, records + 2 * c, y + c, runs, some, step,
                                           zero_point, low, high, slots);
      }
    }
    ox += runs * at_once;
    y += runs * lanes;
  }
}

/* Of nine taps. */
TVMGEN_MVE_SHARED void tvmgen_mve_depthwise_row_9_as_float(
    const int8_t* x, const int8_t* w, const int32_t* records, int8_t* y, int32_t above,
    int32_t rows, int32_t width, int32_t channels, int32_t kernel_height, int32_t kernel_width,
    int32_t stride, int32_t dilation_y, int32_t dilation_x, int32_t left, int32_t pixels,
    int32_t input_zero_point, int32_t zero_point, int32_t low, int32_t high) {
  const int8_t* taps[9];
  tvmgen_mve_depthwise_row_as_float(taps, 9, x, w, records, y, above, rows, width, channels,
                                    kernel_height, kernel_width, stride, dilation_y, dilation_x,
                                    left, pixels, input_zero_point, zero_point, low, high);
}

/* Of up to 16 taps, but not nine. */
TVMGEN_MVE_SHARED void tvmgen_mve_depthwise_row_16_as_float(
    const int8_t* x, const int8_t* w, const int32_t* records, int8_t* y, int32_t above,
    int32_t rows, int32_t width, int32_t channels, int32_t kernel_height, int32_t kernel_width,
    int32_t stride, int32_t dilation_y, int32_t dilation_x, int32_t left, int32_t pixels,
    int32_t input_zero_point, int32_t zero_point, int32_t low, int32_t high) {
  const int8_t* taps[16];
  tvmgen_mve_depthwise_row_as_float(taps, kernel_height * kernel_width, x, w, records, y, above,
                                    rows, width, channels, kernel_height, kernel_width, stride,
                                    dilation_y, dilation_x, left, pixels, input_zero_point,
                                    zero_point, low, high);
}

/* Of up to 64 taps. */
TVMGEN_MVE_SHARED void tvmgen_mve_depthwise_row_64_as_float(
    const int8_t* x, const int8_t* w, const int32_t* records, int8_t* y, int32_t above,
    int32_t rows, int32_t width, int32_t channels, int32_t kernel_height, int32_t kernel_width,
    int32_t stride, int32_t dilation_y, int32_t dilation_x, int32_t left, int32_t pixels,
    int32_t input_zero_point, int32_t zero_point, int32_t low, int32_t high) {
  const int8_t* taps[64];
  tvmgen_mve_depthwise_row_as_float(taps, kernel_height * kernel_width, x, w, records, y, above,
                                    rows, width, channels, kernel_height, kernel_width, stride,
                                    dilation_y, dilation_x, left, pixels, input_zero_point,
                                    zero_point, low, high);
}
