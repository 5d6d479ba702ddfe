"""Convolutions of one, two and four pixels at a time by cores with MVE against plain loops."""

from __future__ import annotations

FILES = [
    "mve/conv2d_1x4_as_float.c",
    "mve/conv2d_2x4.c",
    "mve/conv2d_2x4_as_float.c",
    "mve/conv2d_4x1.c",
    "mve/conv2d_4x1_as_float.c",
]

_CHECK = """
static int CHECK_ONE(CONV2D* function, int32_t many_rows, int32_t up, int32_t as_float,
                     int32_t columns) {
  const int32_t pixels = AT_ONCE == 4 ? between(1, 9) : AT_ONCE * between(1, 3);
  const int32_t most = AT_ONCE == 4 ? 7 : 9;
  const int32_t channels = AT_ONCE == 2 ? 4 * between(1, 3) : between(1, most);
  const int32_t copies = AT_ONCE == 2 && between(0, 2) == 0;
  const int32_t rows = many_rows ? between(TOGETHER == 4 ? 2 : 1, 4) : 1;
  const int32_t row_distance = between(0, columns + 20), x_distance = between(0, columns + 3);
  const int32_t y_distance = channels + (copies ? 0 : between(0, 3));
  const int32_t zero_point = between(-128, 127);
  const int32_t low = up ? between(zero_point, 127) : between(-128, 127), high = between(low, 127);
  const int32_t whole = (columns - 1) / 16 * 16;
  const int32_t size = TOGETHER == 4 && !many_rows && columns - whole <= 8 ? 8 : 16;
  const int32_t groups = (channels + TOGETHER - 1) / TOGETHER;
  const int32_t x_size = (pixels - 1) * x_distance + (rows - 1) * row_distance + columns;
  const int32_t y_size = (pixels - 1) * y_distance + channels;
  const int32_t row_size = TOGETHER * (whole + size);
  const int32_t w_size = groups * rows * row_size + (whole ? 0 : 16 - size);
  int8_t* const x = buffer(0, x_size, between(0, 3));
  int8_t* const y = buffer(1, y_size, between(0, 3));
  int8_t* const few = buffer(5, 2 * y_distance, between(0, 3));
  int8_t* const w = buffer(2, w_size, between(0, 3));
  int8_t* const plain = buffer(3, channels * rows * columns, 0);
  int32_t* const records = (int32_t*)(void*)buffer(4, groups * TOGETHER * 8, 0);
  int32_t bias[12], shift[12], factor[12];
  const int32_t most_bias = as_float ? 1 << 29 : 1 << 22;
  const int32_t extreme = between(0, 3) == 0;
  for (int32_t i = 0; i < x_size; ++i)
    x[i] = (int8_t)(extreme ? between(0, 1) * 255 - 128 : between(-128, 127));
  for (int32_t i = 0; i < y_size; ++i) y[i] = 85;
  memset(w, 0, (size_t)w_size);
  memset(records, 0, (size_t)(groups * TOGETHER * 8));
  for (int32_t c = 0; c < channels; ++c) {
    bias[c] = between(-most_bias, most_bias);
    if (between(0, 1)) bias[c] = between(-2000, 2000);
    shift[c] = between(1, 22);
    factor[c] = 1 << 30 | between(0, (1 << 30) - 1);
    if (between(0, 3) == 0) factor[c] = 1 << 30;
    if (as_float) factor[c] = random_float(bias[c]);
    int32_t* const record = records + c / TOGETHER * TOGETHER * 2 + c % TOGETHER;
    record[0] = (int32_t)((uint32_t)bias[c] << 8 | (uint32_t)(-shift[c] & 255));
    if (as_float) record[0] = bias[c];
    record[TOGETHER] = factor[c];
    for (int32_t row = 0; row < rows; ++row)
      for (int32_t k = 0; k < columns; ++k) {
        const int8_t value = (int8_t)(extreme ? between(0, 1) * 254 - 127 : between(-127, 127));
        plain[(c * rows + row) * columns + k] = value;
        int8_t* const last = w + (c / TOGETHER * rows + row) * row_size;
        const int32_t before = TOGETHER * size + (k / 16 * TOGETHER + c % TOGETHER) * 16;
        last[k < whole ? before + k % 16 : c % TOGETHER * size + k % 16] = value;
      }
  }
  function(x, w, records, copies ? few : y, x_distance, y_distance, pixels, channels, columns, rows,
           row_distance, zero_point, low, high COPY);
  int wrong = 0;
  for (int32_t p = 0; p < pixels; ++p)
    for (int32_t c = 0; c < y_distance && p * y_distance + c < y_size; ++c) {
      int32_t expected = 85;
      if (c < channels) {
        int32_t sum = bias[c];
        for (int32_t row = 0; row < rows; ++row)
          for (int32_t k = 0; k < columns; ++k)
            sum +=
                x[p * x_distance + row * row_distance + k] * plain[(c * rows + row) * columns + k];
        const int32_t value =
            as_float ? rescaled_as_float(sum, factor[c]) : rescaled(sum, factor[c], shift[c]);
        expected = clamped(value + zero_point, low, high);
      }
      if (y[p * y_distance + c] != expected) ++wrong;
    }
  return wrong;
}

static void CHECK(void) {
  static CONV2D* const functions[] = {FUNCTIONS};
  for (int32_t i = 0; i < 6; ++i) {
    const int32_t as_float = i >= 4, up = !as_float && i % 2, many_rows = as_float ? i % 2 : i / 2;
    for (int32_t columns = 1; columns <= (AT_ONCE == 4 ? 400 : 240);
         columns += columns < 66 ? 1 : 29) {
      for (int32_t times = 0; times < (as_float ? 2 : 4); ++times) {
        if (CHECK_ONE(functions[i], many_rows, up, as_float, columns)) failure = FAILURE;
      }
    }
  }
}
"""


def _check_of(pixels: int) -> str:
    """C of a function `check_<pixels>` of the functions for so many pixels at once."""
    is_pair = pixels == 2
    numbers = ["int32_t"] * 10 + ["int8_t*"] * is_pair
    types = ", ".join(["const int8_t*", "const int8_t*", "const int32_t*", "int8_t*", *numbers])
    # One function for four pixels stands for several.
    of_pairs = ["", "_up", "_rows", "_rows_up", "_as_float", "_rows_as_float"]
    suffixes = [""] * 4 + ["_as_float"] * 2 if pixels == 4 else of_pairs
    name = f"tvmgen_mve_conv2d_{pixels}x{1 if pixels == 4 else 4}"
    macros = {
        "AT_ONCE": pixels,
        "TOGETHER": 1 if pixels == 4 else 4,
        "COPY": ", copies ? y : 0" if is_pair else "",
        "FUNCTIONS": ", ".join(name + suffix for suffix in suffixes),
        "CONV2D": f"conv2d_{pixels}",
        "CHECK_ONE": f"check_one_of_{pixels}",
        "CHECK": f"check_{pixels}",
        "FAILURE": f'"conv2d of {pixels}"',
    }
    defined = "".join(f"#define {macro} {value}\n" for macro, value in macros.items())
    undefined = "".join(f"#undef {macro}\n" for macro in macros)
    return f"{defined}typedef void CONV2D({types});{_CHECK}{undefined}"


CHECK = f"""{"".join(map(_check_of, (1, 2, 4)))}
static void test_mve_conv2d(void) {{
  check_1();
  check_2();
  check_4();
}}
"""
