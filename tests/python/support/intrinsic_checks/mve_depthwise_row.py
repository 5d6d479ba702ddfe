"""Depthwise convolutions by cores with MVE against plain loops."""

from __future__ import annotations

FILES = ["mve/depthwise_row_as_float.c", "mve/depthwise_row.c"]

CHECK = """
typedef void row_function(const int8_t*, const int8_t*, const int32_t*, int8_t*, int32_t, int32_t,
                          int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t,
                          int32_t, int32_t, int32_t, int32_t, int32_t);
static int check_depthwise(int32_t kernel_height, int32_t kernel_width) {
  const int32_t most = between(0, 5) ? 40 : 200, stride = between(1, 2);
  const int32_t channels = between(0, 1) ? 4 * between(1, most / 4) : between(1, most);
  const int32_t dilation_y = between(1, 2), dilation_x = between(1, 2);
  const int32_t height = between(1, 6), width = between(1, 8), pixels = between(1, 7);
  const int32_t top = between(-3, 3), left = between(-3, 3);
  const int32_t as_float = between(0, 1), relu = between(0, 1);
  const int32_t input_zero_point = between(-128, 127);
  const int32_t zero_point = relu ? -128 : between(-128, 127),
                low = relu ? -128 : between(-128, 127);
  const int32_t high = relu ? 127 : between(low, 127);
  const int32_t count = kernel_height * kernel_width, slots = count == 1 ? 2 : count;
  const int32_t chunks = (channels + 15) / 16, x_size = height * width * channels,
                y_size = pixels * channels;
  int8_t* const x = buffer(0, x_size, between(0, 3));
  int8_t* const y = buffer(1, y_size, between(0, 3));
  int8_t* const w = buffer(2, chunks * slots * 16, between(0, 3));
  int8_t* const plain = buffer(3, count * channels, 0);
  int32_t* const records = (int32_t*)(void*)buffer(4, chunks * 128, 0);
  int32_t* const parameters = (int32_t*)(void*)buffer(5, channels * 12, 0);
  const int32_t extreme = between(0, 3) == 0;
  for (int32_t i = 0; i < x_size; ++i)
    x[i] = (int8_t)(extreme ? between(0, 1) * 255 - 128 : between(-128, 127));
  memset(w, 0, (size_t)(chunks * slots * 16));
  memset(records, 0, (size_t)(chunks * 128));
  for (int32_t c = 0; c < channels; ++c) {
    int32_t* const p = parameters + 3 * c;
    p[0] = between(0, 1) ? between(-100, 100) : between(-100000, 100000);
    if (as_float && between(0, 1)) p[0] = between(-(1 << 29), 1 << 29);
    p[1] = between(1, 22), p[2] = 1 << 30 | between(0, (1 << 30) - 1);
    if (as_float) p[2] = random_float(p[0]);
    for (int32_t t = 0; t < count; ++t)
      plain[t * channels + c] = (int8_t)(extreme ? between(0, 1) * 254 - 127 : between(-127, 127));
    for (int32_t lane = c; lane < chunks * 16; lane += channels) {
      if (lane != c && 16 % channels) break;
      int32_t* const r =
          records + lane / 16 * 32 + ((lane >> 1 & 1) + (lane & 1) * 2) * 8 + lane % 16 / 4;
      r[0] = (int32_t)((uint32_t)p[0] << 8 | (uint32_t)(-p[1] & 255)), r[4] = p[2];
      if (as_float) r[0] = p[0];
      for (int32_t t = 0; t < count; ++t)
        w[(lane / 16 * slots + t) * 16 + lane % 16] = plain[t * channels + c];
    }
  }
  static row_function* const functions[2][3] = {
      {tvmgen_mve_depthwise_row_9, tvmgen_mve_depthwise_row_16, tvmgen_mve_depthwise_row_64},
      {tvmgen_mve_depthwise_row_9_as_float, tvmgen_mve_depthwise_row_16_as_float,
       tvmgen_mve_depthwise_row_64_as_float},
  };
  row_function* const function = functions[as_float][count == 9 ? 0 : count <= 16 ? 1 : 2];
  int32_t above = 0, inside = 0;
  for (int32_t row = kernel_height - 1; row >= 0; --row) {
    const int32_t at = top + row * dilation_y;
    if (at >= 0 && at < height) above = row, ++inside;
  }
  const int8_t* const first = x + (inside ? top + above * dilation_y : 0) * width * channels;
  function(first, w, records, y, above, inside, width, channels, kernel_height, kernel_width,
           stride, dilation_y, dilation_x, left, pixels, input_zero_point, zero_point, low, high);
  int wrong = 0;
  for (int32_t ox = 0; ox < pixels; ++ox)
    for (int32_t c = 0; c < channels; ++c) {
      int32_t sum = parameters[3 * c];
      for (int32_t t = 0; t < count; ++t) {
        const int32_t iy = top + t / kernel_width * dilation_y,
                      ix = left + ox * stride + t % kernel_width * dilation_x;
        const int32_t value = iy >= 0 && iy < height && ix >= 0 && ix < width
                                  ? x[(iy * width + ix) * channels + c]
                                  : input_zero_point;
        sum += value * plain[t * channels + c];
      }
      const int32_t* const p = parameters + 3 * c;
      const int32_t scaled = as_float ? rescaled_as_float(sum, p[2]) : rescaled(sum, p[2], p[1]);
      if (y[ox * channels + c] != clamped(scaled + zero_point, low, high)) ++wrong;
    }
  return wrong;
}

static void test_mve_depthwise_row(void) {
  for (int32_t i = 0; i < 600; ++i) {
    if (check_depthwise(i % 3 ? 3 : between(1, 5), i % 3 ? 3 : between(1, 6)))
      failure = "depthwise";
  }
}
"""
