"""Products of windows against plain loops."""

from __future__ import annotations

FILES = ["tensor_intrin/window.c"]

_TILES = [(1, 1), (1, 2), (1, 4), (1, 6), (2, 1), (2, 2), (4, 1)]

_COMPARISON = """
typedef void window(const int8_t*, const int8_t*, int32_t, int32_t*);
static void check_window(window* function, const int32_t pixels, const int32_t channels,
                         const int32_t rows, const int32_t n, const int32_t x_row,
                         const char* name) {
  static const int32_t offsets[] = {-127, 128, 0, 5};
  for (int32_t kind = 0; kind < 16; ++kind) {
    const int32_t x_size = (pixels - 1) * 6 + (rows - 1) * x_row + n;
    const int32_t w_size = channels * rows * n;
    int8_t* const x = buffer(0, x_size, kind & 3);
    int8_t* const w = buffer(1, w_size, kind >> 2);
    int32_t expected[6], actual[6];
    fill(x, x_size, kind & 3);
    fill(w, w_size, kind >> 2);
    for (int32_t i = 0; i < pixels * channels; ++i) {
      const int32_t p = i / channels, c = i % channels;
      actual[i] = expected[i] = (int32_t)random_word() >> 4;
      for (int32_t r = 0; r < rows; ++r) {
        for (int32_t k = 0; k < n; ++k) {
          const int32_t value = x[p * 6 + r * x_row + k] + offsets[kind & 3];
          expected[i] += value * w[(c * rows + r) * n + k];
        }
      }
    }
    function(x, w, offsets[kind & 3], actual);
    for (int32_t i = 0; i < pixels * channels; ++i) {
      if (actual[i] != expected[i]) failure = name;
    }
  }
}
"""

_CASE = """
static void window_%(name)s(const int8_t* x, const int8_t* w, int32_t offset, int32_t* sums) {
  tvmgen_window_%(p)sx%(c)s(x, 6, %(x_row)s, w, %(rows)s * %(n)s, %(rows)s, %(n)s, offset, sums);
}
"""
"""Of its own, so that no compiler knows more than the window."""

_WINDOWS = [(3, 9, 40), (2, 22, 22)]
"""Rows, elements of a row, and distances between rows."""


def _check() -> str:
    """C of a function `test_window` of all tiles."""
    functions = [_COMPARISON]
    calls = []
    for p, c in _TILES:
        for rows, n, x_row in _WINDOWS:
            name = f"{p}x{c}_{n}"
            values = {"p": p, "c": c, "rows": rows, "n": n, "x_row": x_row, "name": name}
            functions.append(_CASE % values)
            shape = f"{p}, {c}, {rows}, {n}, {x_row}"
            calls.append(f'  check_window(window_{name}, {shape}, "window_{name}");')
    return "\n".join([*functions, "static void test_window(void) {", *calls, "}"])


CHECK = _check()
