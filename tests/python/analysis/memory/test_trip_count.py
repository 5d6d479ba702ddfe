"""The most iterations of a loop."""

import pytest
from tvm import tirx

from usmp.analysis.memory.trip_count import UNKNOWN_TRIP_COUNT, trip_count

i, j = tirx.Var("i", "int32"), tirx.Var("j", "int32")
memory = tirx.decl_buffer((4,), "int32", "memory")


def loop(extent, var=j, step=None):
    body = tirx.Evaluate(0)
    return tirx.For(var, 0, extent, tirx.ForKind.SERIAL, body, step=step)


@pytest.mark.parametrize(
    ("extent", "step", "trips"),
    [
        (12, None, 12),
        (0, None, 0),
        (-3, None, 0),
        (10, 4, 3),
        (8 - i, None, 8),
        (tirx.min(2 * i, 5), None, 5),
        (tirx.Cast("int32", memory[0] < 3) + 1, None, 2),
        (memory[0], None, UNKNOWN_TRIP_COUNT),
        (8, memory[0], UNKNOWN_TRIP_COUNT),
    ],
    ids=str,
)
def test_inside_of_a_loop_of_five(extent, step, trips):
    assert trip_count(loop(extent, step=step), [loop(5, i)]) == trips
