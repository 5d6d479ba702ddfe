"""Which loop of an operator is over its rows, and what each row accesses."""

from __future__ import annotations

from tvm.script import tirx as T

from usmp.analysis.memory.facts import facts_of_functions
from usmp.planning.streaming.operator_loop import operator_loop


def test_of_several_loops_the_one_that_does_most_is_over_the_rows():
    @T.prim_func
    def sums(data: T.handle("int8"), output: T.handle("int32")):
        x = T.decl_buffer((4 * 3 * 16,), "int8", data=data)
        y = T.decl_buffer((16,), "int32", data=output)
        acc = T.alloc_buffer((16,), "int32")
        for c in range(16):
            acc[c] = 0
        for row, column, c in T.grid(4, 3, 16):
            acc[c] = acc[c] + T.Cast("int32", x[row * 48 + column * 16 + c])
        for c in range(16):
            y[c] = acc[c]

    loop = operator_loop(facts_of_functions({"sums": sums}).of("sums"))
    assert (len(loop.before), loop.steps, len(loop.after)) == (1, 4, 1)
    assert loop.reads[0].first.tolist() == [0, 48, 96, 144]
    assert loop.reads[0].end.tolist() == [48, 96, 144, 192]
    # All of the result is written when the last row was read.
    assert loop.writes[1].end.tolist()[3] == 64
    assert loop.step_bytes(1, 64) is None
