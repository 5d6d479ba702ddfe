"""Loops that are marked to be unrolled."""

from __future__ import annotations

import tvm_ffi
from tvm import tirx

from usmp.tir.unrolled_loops import unrolled


def marked(name: str) -> tirx.AttrStmt:
    var = tirx.Var(name, "int32")
    return unrolled(tirx.For(var, 0, 4, tirx.ForKind.SERIAL, tirx.Evaluate(var)))


def test_equal_loops_stay_equal():
    # Otherwise equal operators would be lowered and emitted twice.
    assert tvm_ffi.structural_equal(marked("i"), marked("j"))
