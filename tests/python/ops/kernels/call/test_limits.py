"""Constants that are added to expressions, and limits."""

from __future__ import annotations

import pytest
from tvm import tirx

from usmp.ops.kernels.call.limits import centered, split_constant

BYTE = tirx.Var("byte", "int8")
WIDE = BYTE.astype("int32")


@pytest.mark.parametrize(
    ("value", "added"),
    [(WIDE + 5, 5), (WIDE - 5, -5), (WIDE, 0), (tirx.Sub(WIDE, tirx.IntImm("int32", -7)), 7)],
)
def test_a_constant_that_is_added(value, added):
    inner, found = split_constant(value)
    assert inner.same_as(value.a if added else value)
    assert found == added


@pytest.mark.parametrize(
    ("value", "offset"),
    [
        (WIDE + 128, 128),
        (WIDE - 128, -128),
        (WIDE, 0),
        (WIDE + 129, None),
        (BYTE, None),
        (tirx.Var("short", "int16").astype("int32"), None),
        (tirx.Var("word", "int32") + 3, None),
    ],
)
def test_an_int8_and_what_is_added_to_it(value, offset):
    found = centered(value)
    if offset is None:
        assert found is None
    else:
        assert found is not None and found[0].same_as(BYTE) and found[1] == offset
