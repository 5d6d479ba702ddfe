"""Loops of kernels."""

from __future__ import annotations

import tvm
from tvm import tirx

from usmp.ops.kernels.loops.loops import loop, nested


def test_nested_loops_are_the_loops_one_in_the_other():
    buffer = tirx.decl_buffer((2, 5), "int32", "buffer")

    def store(y, x, c):
        return tirx.BufferStore(buffer, c, [y, x])

    one_in_the_other = loop(
        "y", 2, lambda y: loop("x", 5, lambda x: loop("c", 1, lambda c: store(y, x, c)))
    )
    found = nested(store, y=2, x=5, c=1)
    tvm.ir.assert_structural_equal(found, one_in_the_other, map_free_vars=True)
    assert (found.loop_var.name, found.body.loop_var.name) == ("y", "x")
    assert isinstance(found.body.body, tirx.BufferStore)
