"""Tiles rescaled together against one by one."""

from __future__ import annotations

FILES = ["tensor_intrin/rescale_tiles.c"]

_CASE = """
static void tile_%(p)sx%(c)s(int32_t zero_point, int32_t kind) {
  tvmgen_int32* const records = (tvmgen_int32*)(void*)buffer(0, %(c)s * 8, 0);
  int32_t expected[%(sums)s], actual[%(sums)s];
  for (int32_t c = 0; c < %(c)s; ++c) {
    records[2 * c] = kind == 0 ? 0x7fffffff : (1 << 30) + (int32_t)(random_word() >> 2);
    records[2 * c + 1] =
        (int32_t)((uint32_t)between(-0x7fffff, 0x7fffff) << 8 | (uint32_t)between(1, 22));
  }
  for (int32_t i = 0; i < %(sums)s; ++i) {
    const int32_t* const record = &records[i %% %(c)s * 2];
    const int32_t bias = record[1] >> 8, most = (1 << 30) - 1;
    const int32_t total = kind < 2 ? (random_word() & 1 ? most : -most) - (int32_t)(kind & 1)
                                   : (int32_t)random_word() >> (1 + random_word() %% 31);
    const int32_t sum = total < -most ? -most : total;
    actual[i] = sum - bias;
    expected[i] = rescaled(sum, record[0], record[1] & 255) + zero_point;
  }
  tvmgen_rescale_%(p)sx%(c)s(actual, records, 2 * zero_point + 1);
  for (int32_t i = 0; i < %(sums)s; ++i) {
    if (actual[i] != expected[i]) failure = "rescale_%(p)sx%(c)s";
  }
}
"""

_TILES = ((1, 2), (1, 4), (1, 6), (2, 2))

CHECK = "\n".join(
    [
        *(_CASE % {"p": p, "c": c, "sums": p * c} for p, c in _TILES),
        "static void test_rescale_tiles(void) {",
        "  for (int32_t i = 0; i < 2000; ++i) {",
        "    const int32_t zero_point = i < 4 ? (i & 1 ? 127 : -128) : between(-128, 127);",
        *(f"    tile_{p}x{c}(zero_point, i % 4);" for p, c in _TILES),
        "  }",
        "}",
    ]
)
