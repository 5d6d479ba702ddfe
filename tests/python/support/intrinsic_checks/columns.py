"""Products of a row by columns against plain loops."""

from __future__ import annotations

FILES = ["tensor_intrin/columns.c"]

_COMPARISON = """
typedef void columns(const int8_t*, const int8_t*, int32_t, int32_t, int32_t, int32_t*);
static void check_columns(columns* function, const int32_t count, const int32_t n,
                          const int32_t distance, const char* name) {
  static const int32_t offsets[] = {-127, 128, 0, 5};
  for (int32_t kind = 0; kind < 16; ++kind) {
    const int32_t size = n ? (n - 1) * distance + count : 0;
    int8_t* const x = buffer(0, n, kind & 3);
    int8_t* const y = buffer(1, size, kind >> 2);
    int32_t expected[4], actual[4];
    fill(x, n, kind & 3);
    fill(y, size, kind >> 2);
    for (int32_t c = 0; c < count; ++c) {
      actual[c] = expected[c] = (int32_t)random_word() >> 4;
      for (int32_t k = 0; k < n; ++k) {
        expected[c] += (x[k] + offsets[kind & 3]) * y[k * distance + c];
      }
    }
    function(x, y, distance, n, offsets[kind & 3], actual);
    for (int32_t c = 0; c < count; ++c) {
      if (actual[c] != expected[c]) failure = name;
    }
  }
}
"""

_CASE = """
static void columns_%(name)s(const int8_t* x, const int8_t* y, int32_t distance, int32_t n,
                             int32_t offset, int32_t* sums) {
  (void)distance, (void)n;
  tvmgen_columns_%(c)s(x, y, %(d)s, %(n)s, offset, sums);
}
"""
"""Of its own, so that no compiler knows more than what is known here."""

_TILES = (1, 4)
_CONSTANT = ((3, 4), (8, 9), (21, 64), (64, 256), (9, 1900), (5, 5), (64, 64), (9, 8100), (5, 4100))
"""Numbers of rows and distances that a compiler knows; the last one is too many for offsets of 16
bits. One may be the same as the other, and as what sums begin with."""

CHECK = "".join(
    [
        _COMPARISON,
        *(_CASE % {"c": c, "name": c, "n": "n", "d": "distance"} for c in _TILES),
        *(_CASE % {"c": 4, "name": f"4_{n}_{d}", "n": n, "d": d} for n, d in _CONSTANT),
        "static void test_columns(void) {\n  for (int32_t n = 0; n < 35; ++n) {\n",
        *(
            f'    check_columns(columns_{c}, {c}, n, {distance}, "columns_{c}");\n'
            for c in _TILES
            for distance in (c, 50)
        ),
        "  }\n",
        *(
            f'  check_columns(columns_4_{n}_{d}, 4, {n}, {d}, "columns_4_{n}_{d}");\n'
            for n, d in _CONSTANT
        ),
        "}\n",
    ]
)
