"""Products as floats by instructions on floats, against the same by integers, on boards."""

from __future__ import annotations

import pytest

from support.tensor_intrinsic_programs import check_on_board
from usmp.boards.board import board_named
from usmp.codegen.c_files import C_INTRINSICS
from usmp.tir.intrinsics import MULTIPLY_AS_FLOAT

pytestmark = pytest.mark.board

_FUNCTION = C_INTRINSICS[MULTIPLY_AS_FLOAT]
CHECK = (
    f"""
{_FUNCTION}
#undef TVMGEN_PORTABLE
#define TVMGEN_PORTABLE
{_FUNCTION.replace(MULTIPLY_AS_FLOAT, "by_integers")}
"""
    + """
static void check(void) {
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


@pytest.mark.parametrize("name", ["mps2-an386", "mps2-an385"])
def test_on_board(name, tmp_path):
    check_on_board(["rescale"], CHECK, board_named(name), "-O2", tmp_path)
