"""One PrimFunc that runs operators interleaved computes what they do."""

from __future__ import annotations

from random import Random

import pytest
from tvm import tirx

from support.random_segments import possible_segments
from support.random_streamed_graphs import draw_streamed
from support.streamed_graphs import counted_run, main_function, module, operator
from usmp.objects.attributes.operator_attributes import SEGMENT_ATTR
from usmp.objects.schedule import SCHEDULE_ATTR, Schedule
from usmp.transform import StreamOperators


@pytest.mark.parametrize("by_columns", [False, True], ids=["rows", "columns"])
@pytest.mark.parametrize("seed", [0, 2, 3, 4, 6, 7, 8, 11])
def test_all_operators_of_a_program_at_once(seed, by_columns):
    """Each element is made once, too."""
    program = draw_streamed(Random(seed))
    expected = counted_run(program, program.mod)
    longest = max(possible_segments(program.mod), key=lambda each: each[1] - each[0])
    streamed = StreamOperators([longest], by_columns)(program.mod)
    assert tirx.analysis.verify_well_formed(streamed)
    assert counted_run(program, streamed) == expected


def window(name: str, rows: int, taps: int, width: int = 4) -> str:
    """An operator whose row is the sum of so many rows."""
    total = " + ".join(f"P[(i + {tap}) * {width} + j]" for tap in range(taps))
    body = f"""
for i in range({rows}):
    for j in range({width}):
        Q[i * {width} + j] = {total}
"""
    sizes = [("p", (rows + taps - 1) * width, "int8"), ("q", rows * width, "int8")]
    return operator(name, sizes, body)


def test_the_segment_says_what_its_rings_take():
    """Of ten rows of four bytes, three are kept; two of them move before each new one."""
    mod = module(
        window("first", 10, 1),
        window("second", 8, 3),
        window("third", 8, 1),
        main_function(
            [("x", "int8"), ("y", "int8")],
            [("A", 40, "int8"), ("B", 32, "int8")],
            ["first x A", "second A B", "third B y"],
        ),
    )
    for name, tile in (("first", "1 row"), ("second", "2 rows"), ("third", "1 row")):
        mod.update_func(mod.get_global_var(name), SCHEDULE_ATTR.put(mod[name], Schedule(tile, 100)))
    streamed = StreamOperators([(0, 3)], False)(mod)
    (func,) = (f for f in streamed.functions.values() if f.attrs and SEGMENT_ATTR.name in f.attrs)
    segment = func.attrs[SEGMENT_ATTR.name]
    assert list(segment["operators"]) == ["first", "second", "third"]
    assert segment["by"] == "rows"
    assert int(segment["ring_size_bytes"]) == 3 * 4 + 4
    assert int(segment["tensor_size_bytes"]) == 72
    assert int(segment["moved_bytes"]) == 7 * 2 * 4
    # 56 bytes move, in ten ticks three operators ask what is next, and 26 rows are made.
    assert SCHEDULE_ATTR.of(func).tile == "1 row and 2 rows"
    assert SCHEDULE_ATTR.of(func).instructions == 300 + 56 // 8 + 10 * 3 * 6 + 26 * 20
