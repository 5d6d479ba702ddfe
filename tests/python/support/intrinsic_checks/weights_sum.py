"""Sums of weights against plain loops."""

from __future__ import annotations

FILES = ["tensor_intrin/weights_sum.c"]

_CASE = """
static void sums_%(c)s(int32_t n) {
  static const int32_t factors[] = {-128, 127, 0, 5};
  for (int32_t kind = 0; kind < 16; ++kind) {
    const int32_t size = (%(c)s - 1) * 30 + n;
    int8_t* const w = buffer(0, size, kind & 3);
    int32_t expected[%(c)s], actual[%(c)s];
    fill(w, size, kind & 3);
    for (int32_t c = 0; c < %(c)s; ++c) {
      actual[c] = expected[c] = (int32_t)random_word() >> 4;
      for (int32_t k = 0; k < n; ++k) expected[c] += factors[kind >> 2] * w[c * 30 + k];
    }
    tvmgen_weights_sum_%(c)s(w, 30, n, factors[kind >> 2], actual);
    for (int32_t c = 0; c < %(c)s; ++c) {
      if (actual[c] != expected[c]) failure = "weights_sum_%(c)s";
    }
  }
}
"""

CHECK = "".join(
    [
        *(_CASE % {"c": c} for c in (1, 2, 4)),
        "static void test_weights_sum(void) {\n  for (int32_t n = 0; n < 41; ++n) {\n",
        *(f"    sums_{c}(n);\n" for c in (1, 2, 4)),
        "  }\n}\n",
    ]
)
