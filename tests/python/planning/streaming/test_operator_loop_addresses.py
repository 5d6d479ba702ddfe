"""Addresses that tensor intrinsics are called with, by step of an operator's loop."""

from __future__ import annotations

import numpy as np
import pytest
from tvm.script import tirx as T

from usmp.analysis.memory.facts import facts_of_functions
from usmp.planning.streaming.operator_loop import operator_loop


def rows_copied(first: int, by_row: int):
    """Copies rows 1 to 4 of ten bytes each, by a function that is called with the address of an
    element before them."""

    @T.prim_func(private=True, s_tir=True)
    def copied(x: T.handle("int8"), y: T.handle("int8")):
        x_1 = T.decl_buffer((50,), "int8", data=x)
        y_1 = T.decl_buffer((40,), "int8", data=y)
        for row in range(4):
            with T.attr(
                "tvmgen_copy",
                "usmp.tensor_intrin",
                T.call_pure_extern(
                    "int32", "tvmgen_copy", y_1[row * 10], x_1[row * by_row + first], 10
                ),
            ):
                for i in range(10):
                    y_1[row * 10 + i] = x_1[row * 10 + i + 10]

    return operator_loop(facts_of_functions({"copied": copied}).of("copied"))


@pytest.mark.parametrize(
    ("first", "by_row", "begins"),
    [
        (10, 10, [10, 20, 30, 40]),
        (8, 10, [8, 18, 28, 38]),
        # All of the tensor is kept.
        (0, 0, [0, 0, 0, 0]),
    ],
)
def test_what_is_read_begins_at_the_address(first, by_row, begins):
    loop = rows_copied(first, by_row)
    assert np.array_equal(loop.reads[0].first, begins)
    assert np.array_equal(loop.reads[0].end, [20, 30, 40, 50])
    assert loop.step_bytes(1, 40) == 10
