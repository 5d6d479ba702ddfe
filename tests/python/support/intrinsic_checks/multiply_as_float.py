"""Products as floats by instructions on floats, against the same by integers."""

from __future__ import annotations

from usmp.codegen.c.source_files import C_INTRINSICS
from usmp.tir.intrinsics import MULTIPLY_AS_FLOAT

FILES = ["arithmetic/fixed_point.c"]

CHECK = (
    f"""
#undef TVMGEN_PORTABLE
#define TVMGEN_PORTABLE
{C_INTRINSICS[MULTIPLY_AS_FLOAT].replace(MULTIPLY_AS_FLOAT, "by_integers")}
"""
    + """
static void test_multiply_as_float(void) {
  for (int32_t i = 0; i < 20000; ++i) {
    const int32_t shift = between(-31, 7), bits = shift < -22 ? 31 : 9 - shift;
    const int32_t size = between(1, bits > 31 ? 31 : bits);
    const int32_t value = (int32_t)random_word() >> (32 - size);
    /* Some factors are powers of two, by which halves are exact. */
    const int32_t part = i % 3 ? (int32_t)(random_word() >> 9) << 7 : 0;
    const int32_t expected = by_integers(value, (1 << 30) | part, shift);
    if (tvmgen_multiply_as_float(value, (1 << 30) | part, shift) != expected) failure = "product";
  }
}
"""
)
