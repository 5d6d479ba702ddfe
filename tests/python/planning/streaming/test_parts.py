"""The parts of a row that an operator of a segment makes at a time."""

from __future__ import annotations

import pytest
from tvm.script import tirx as T

from usmp.analysis.memory.facts import facts_of_functions
from usmp.planning.streaming.operator_loop import operator_loop
from usmp.planning.streaming.parts import bytes_of_parts, in_parts
from usmp.planning.streaming.timing import Columns, Timing


@T.prim_func
def pixels(x: T.handle("int8"), y: T.handle("int8")):
    """Four rows of three pixels of two channels; each is made of a pixel of four."""
    X = T.decl_buffer((48,), "int8", data=x)
    Y = T.decl_buffer((24,), "int8", data=y)
    for i, j, k in T.grid(4, 3, 2):
        Y[i * 6 + j * 2 + k] = X[i * 12 + j * 4 + k]


@T.prim_func
def columns_last(x: T.handle("int8"), y: T.handle("int8")):
    """Channels of four rows, of which each takes all pixels."""
    X = T.decl_buffer((24,), "int8", data=x)
    Y = T.decl_buffer((24,), "int8", data=y)
    for i, j, k in T.grid(4, 2, 3):
        Y[i * 6 + k * 2 + j] = X[i * 6 + k * 2 + j]


@T.prim_func
def flat(x: T.handle("int8"), y: T.handle("int8")):
    X = T.decl_buffer((5,), "int8", data=x)
    Y = T.decl_buffer((5,), "int8", data=y)
    for i in range(5):
        Y[i] = X[4 - i]


def loop_of(func):
    return operator_loop(facts_of_functions({"main": func}).of("main"))


def test_parts_of_rows_are_their_columns_if_these_follow_each_other():
    loop = loop_of(pixels)
    rows = Timing(0, 1, 1, 4)
    pixelwise = in_parts(loop, rows, {1: 24})
    assert pixelwise == Timing(0, 1, 1, 4, Columns(0, 1, 1, 3))
    written, read = (
        bytes_of_parts(loop, pixelwise, 1, True),
        bytes_of_parts(loop, pixelwise, 0, False),
    )
    assert written.first.tolist() == list(range(0, 24, 2))
    assert written.end.tolist() == list(range(2, 26, 2))
    assert read.first.tolist() == list(range(0, 48, 4))
    assert bytes_of_parts(loop, pixelwise, 0, True) is None
    # Other bytes than all of them, and several rows of a run.
    assert in_parts(loop, rows, {1: 48}) == rows
    assert in_parts(loop, rows, {1: 25}) == rows
    assert in_parts(loop, rows, {0: 48}) == rows
    assert in_parts(loop, Timing(0, 1, 2, 2), {1: 24}) == Timing(0, 1, 2, 2)
    assert in_parts(loop_of(columns_last), rows, {1: 24}) == rows


def test_rows_without_columns_are_as_many_parts_as_a_run_has_steps():
    """Steps that the last run lacks read and write nothing."""
    loop = loop_of(flat)
    rows = Timing(0, 1, 2, 3)
    stepwise = in_parts(loop, rows, {1: 5})
    assert (stepwise.parts, stepwise.shape) == (6, (3, 2, 2))
    written, read = (
        bytes_of_parts(loop, stepwise, 1, True),
        bytes_of_parts(loop, stepwise, 0, False),
    )
    assert written.first.tolist()[:5] == [0, 1, 2, 3, 4]
    assert read.end.tolist()[:5] == [5, 4, 3, 2, 1]
    for found in (written, read):
        assert found.first[5] > found.end[5]
    written, read = bytes_of_parts(loop, rows, 1, True), bytes_of_parts(loop, rows, 0, False)
    assert written.first.tolist() == [0, 2, 4]
    assert written.end.tolist() == [2, 4, 5]
    assert read.first.tolist() == [3, 1, 0]


@pytest.mark.parametrize(
    ("timing", "width", "ticks"),
    [
        (Timing(2, 1, 1, 3), 5, [10, 15, 20]),
        (Timing(0, 2, 1, 2, Columns(1, 2, 1, 3)), 6, [1, 3, 5, 13, 15, 17]),
        (Timing(1, 1, 1, 1, Columns(0, 3, 2, 4)), 6, [6, 6, 9, 9]),
    ],
)
def test_parts_are_made_in_ticks_of_columns(timing, width, ticks):
    assert timing.ticks(width).tolist() == ticks
    rows, columns = timing.moments
    assert (rows.tolist(), columns.tolist()) == (
        [tick // width for tick in ticks],
        [tick % width for tick in ticks],
    )
