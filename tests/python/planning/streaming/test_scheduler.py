"""When operators begin, by rows and by columns, and what rings keep.

A copy of an image of six rows of four pixels, windows of three by three on it, and one pixel for
each two by two of these. A window waits for the pixel below and to the right of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import pytest

from support.streamed_graphs import main_function, module, operator
from usmp.planning.streaming.by_columns import by_columns
from usmp.planning.streaming.interleaving import interleave
from usmp.planning.streaming.read_main import streamed_main
from usmp.planning.streaming.scheduler import Scheduler
from usmp.planning.streaming.timing import COLUMNS, ROWS, Columns, Ring, Tensor, Timing

IMAGE = [("p", 24, "int8"), ("q", 24, "int8")]
NEIGHBORS = [(row, column) for row in (-1, 0, 1) for column in (-1, 0, 1)]
WINDOW = " + ".join(
    f"T.if_then_else(0 <= i + {row} and i + {row} < 6 and 0 <= j + {column} and j + {column} < 4, "
    f"P[i * 4 + j + {row * 4 + column}], T.int8(0))"
    for row, column in NEIGHBORS
)
FUNCTIONS = [
    operator("copy", IMAGE, "for i, j in T.grid(6, 4):\n    Q[i * 4 + j] = P[i * 4 + j]"),
    operator("window", IMAGE, f"for i, j in T.grid(6, 4):\n    Q[i * 4 + j] = {WINDOW}"),
    operator(
        "half",
        [("p", 24, "int8"), ("q", 6, "int8")],
        "for i, j in T.grid(3, 2):\n    Q[i * 2 + j] = P[i * 8 + j * 2] + P[i * 8 + j * 2 + 5]",
    ),
    main_function(
        [("x", "int8"), ("y", "int8")],
        [("a", 24, "int8"), ("b", 24, "int8")],
        ["copy x a", "window a b", "half b y"],
    ),
]


@cache
def scheduler() -> Scheduler:
    main = streamed_main(module(*FUNCTIONS))
    assert main is not None
    loops = [operator.loop for operator in main.operators]
    readings = [read for of_operator in main.readings for read in of_operator]
    return Scheduler(loops, readings, 0, {m: n for m, n in main.sizes.items() if m.name in "ab"})


def named(rings: Mapping[Tensor, object]) -> dict[str, object]:
    return {"ab"[tensor]: ring for tensor, ring in rings.items()}


def test_rows_begin_when_the_rows_that_they_read_are_there():
    found = interleave(scheduler())
    assert found.timings == [Timing(0, 1, 1, 6), Timing(1, 1, 1, 6), Timing(2, 2, 1, 3)]
    assert (found.ticks, found.columns) == (7, 1)
    assert named(found.rings) == {"a": Ring(3, 1, 4), "b": Ring(2, 2, 4)}


def test_columns_begin_when_what_is_made_in_the_same_tick_of_rows_is_there():
    """Rings have two rows and three pixels where they had three rows, from the smallest one up to
    the size that they had by rows."""
    (found,) = by_columns(scheduler())
    assert found.timings == [
        Timing(0, 1, 1, 6, Columns(0, 1, 1, 4)),
        Timing(1, 1, 1, 6, Columns(1, 1, 1, 4)),
        Timing(2, 2, 1, 3, Columns(2, 2, 1, 2)),
    ]
    assert (found.ticks, found.width) == (7, 5)
    assert named(found.rings) == {
        "a": [Ring(11, 1, 1), Ring(12, 4, 1)],
        "b": [Ring(6, 2, 1), Ring(8, 8, 1)],
    }
    assert named(found.parts) == {"a": 24, "b": 24}


def test_columns_wait_for_nothing_that_was_made_in_an_earlier_tick_of_rows():
    ((_, windows),) = scheduler().reads[1]
    made, read = Timing(0, 1, 1, 6, Columns(3, 1, 1, 4)), Timing(1, 1, 1, 6, Columns(7, 1, 1, 4))
    assert windows.gap(made, read, COLUMNS) == 1
    # The pixel below is there, and those beside it.
    later = read.beginning(2, ROWS)
    assert windows.gap(made, later, COLUMNS) is None
    assert scheduler().earliest([made], read, COLUMNS).columns.start == 4
    assert scheduler().earliest([made], later, COLUMNS).columns.start == 0


def test_rows_wait_however_much_later_they_begin():
    ((_, windows),) = scheduler().reads[1]
    made, read = Timing(3, 1, 1, 6), Timing(9, 1, 1, 6)
    assert windows.gap(made, read, ROWS) == 1
    assert scheduler().earliest([made], read, ROWS).start == 4
    # Three rows are made at a time.
    assert windows.gap(Timing(0, 3, 3, 2), read, ROWS) == 1


@pytest.mark.parametrize("start", [2, 5])
def test_the_last_tick_in_which_a_maker_may_begin(start):
    timings = [Timing(0, 1, 1, 6), Timing(1, 1, 1, 6), Timing(start, 2, 1, 3)]
    assert [scheduler().latest(timings, index) for index in range(3)] == [0, start - 1, 0]


def test_rings_that_are_kept_longer():
    """Each tick by which a reader begins later takes a row, and moves are looked for again."""
    (a, _) = scheduler().readers
    rows = [Timing(0, 1, 1, 6), Timing(1, 1, 1, 6)]
    shifted = [timing.beginning(timing.start + 4, ROWS) for timing in rows]
    assert scheduler().rings(rows, a) is scheduler().rings(shifted, a)
    later = [rows[0], rows[1].beginning(3, ROWS)]
    assert scheduler().rings(later, a) == [Ring(5, 1, 4)]
    assert scheduler().rings(rows, a, most_bytes=16) == [Ring(3, 1, 4), Ring(4, 2, 4)]
