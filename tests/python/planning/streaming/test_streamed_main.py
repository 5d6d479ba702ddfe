"""How many more instructions operators may take by columns than by rows."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from support.streamed_graphs import module, operator
from usmp.objects.schedule import SCHEDULE_ATTR, Schedule
from usmp.planning.streaming.interleaving import Interleaving
from usmp.planning.streaming.read_main import streamed_main
from usmp.planning.streaming.segment import Segment, interleaving_instructions
from usmp.planning.streaming.streamed_main import StreamedMain

TICKS = 2
MORE_TICKS = 10
MORE_INSTRUCTIONS = 60

COPY = operator("copy", [("p", 8, "int8"), ("q", 8, "int8")], "for i in range(8):\n    Q[i] = P[i]")
MAIN = """
@T.prim_func
def __tvm_main__(x: T.handle("int8"), y: T.handle("int8")):
    A = T.alloc_buffer((8,), "int8", annotations={"streamed_tensor": "input x"})
    B = T.alloc_buffer((8,), "int8")
    T.evaluate(T.call_extern("int32", "fill", A.data))
    Module.copy(A.data, B.data)
    Module.copy(B.data, y)
"""


@cache
def unscheduled_main() -> StreamedMain:
    main = streamed_main(module(COPY, MAIN))
    assert main is not None
    return main


def main_of(instructions: int, more_percent: float) -> StreamedMain:
    """Two operators that together take so many instructions, after a call of a function in C."""
    schedule = Schedule("8 elements", instructions // 2)
    operators = [
        each if each.func is None else replace(each, func=SCHEDULE_ATTR.put(each.func, schedule))
        for each in unscheduled_main().operators
    ]
    return replace(unscheduled_main(), operators=operators, more_percent=more_percent)


def segment(main: StreamedMain, inside: str, work: int, ticks: int) -> Segment:
    """An operator that takes so many instructions, with tensors that only it uses."""
    memories = {memory: {} for memory in main.allocations if memory.name in inside.split()}
    assert len(memories) == len(inside.split())
    return Segment(main.operators[:1], memories, [], Interleaving([], {}, ticks), {}, work)


@pytest.mark.parametrize(
    ("tensors", "more_percent", "percent", "percent_of_all"),
    [
        ("B", 0.0, 5, 2),
        ("B", 1.0, 5, 2),
        ("B", 4.0, 5, 4),
        # However much strips leave: no more than where inputs are given by rows.
        ("B", 50.0, 5, 8),
        ("A", 0.0, 5, 8),
        ("A B", 4.0, 5, 8),
        ("A", 50.0, 5, 8),
    ],
)
def test_columns_are_fast_up_to_a_share_of_what_operators_take(
    tensors, more_percent, percent, percent_of_all
):
    """Of those that run by columns, or of all operators: what permits more."""

    def is_fast(work: int, all_work: int) -> bool:
        main = main_of(all_work, more_percent)
        rows, columns = (
            segment(main, tensors, work, ticks) for ticks in (TICKS, TICKS + MORE_TICKS)
        )
        more = interleaving_instructions(columns) - interleaving_instructions(rows)
        assert more == MORE_INSTRUCTIONS
        return main.is_fast(columns, rows)

    enough = MORE_INSTRUCTIONS * 100 // percent
    assert is_fast(enough, 0) and not is_fast(enough - 1, 0)
    enough = MORE_INSTRUCTIONS * 100 // percent_of_all
    assert is_fast(0, enough) and not is_fast(0, enough - 2)
