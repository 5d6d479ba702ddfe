"""Which accesses decide a distance, found by hand."""

from __future__ import annotations

from tvm.script import ir as I
from tvm.script import tirx as T

from usmp.analysis.memory.distances import distance_reason as reasons
from usmp.analysis.memory.distances.distance_reason import DistanceReason, distance_reason
from usmp.analysis.memory.facts import safe_overlap


def reason(func, dying, written, mod=None):
    params = {param.name: param for param in func.params}
    return distance_reason(safe_overlap(func, mod), params[dying], params[written])


def test_a_byte_that_is_read_after_so_many_were_written():
    """Output 2 i is written, then input i + 2 is read: of 8 the last such i is 5."""

    @T.prim_func
    def func(x: T.Buffer((10,), "int8"), y: T.Buffer((20,), "int8")):
        for i in range(8):
            y[2 * i] = x[i] + x[i + 2]

    found = reason(func, "x", "y")
    # The write of i = 6 ends at byte 13; then i = 7 reads from byte 7 on.
    assert found == DistanceReason(reasons.IN_ORDER, (), 13, 7, False, "y", "x")


def test_a_store_to_what_dies():
    @T.prim_func
    def func(x: T.Buffer((4,), "int8"), y: T.Buffer((4,), "int8")):
        for i in range(4):
            y[i] = T.int8(1)
            x[3 - i] = T.int8(2)

    found = reason(func, "x", "y")
    assert (found.kind, found.written_end, found.first_accessed) == (reasons.IN_ORDER, 4, 0)
    assert found.is_write


def test_another_statement_reads_later():
    @T.prim_func
    def func(x: T.Buffer((4,), "int8"), y: T.Buffer((4,), "int8"), z: T.Buffer((4,), "int8")):
        for i in range(4):
            y[i] = T.int8(1)
        for i in range(4):
            z[i] = x[i]

    found = reason(func, "x", "y")
    assert found == DistanceReason(reasons.LATER_STATEMENT, (), 4, 0, False, "y", "x")


def test_a_parallel_loop_has_no_order():
    @T.prim_func
    def func(x: T.Buffer((8,), "int8"), y: T.Buffer((8,), "int8")):
        for i in T.parallel(8):
            y[i] = x[i]

    assert reason(func, "x", "y").kind == reasons.UNORDERED_LOOP


def test_an_index_that_is_loaded():
    @T.prim_func
    def func(x: T.Buffer((8,), "int8"), where: T.Buffer((8,), "int32"), y: T.Buffer((8,), "int8")):
        for i in range(8):
            y[i] = x[where[i]]

    assert reason(func, "x", "y").kind == reasons.UNKNOWN_ADDRESS


@I.ir_module
class CALLS:
    @T.prim_func(private=True)
    def shift(x: T.handle("int8"), y: T.handle("int8")):
        source = T.decl_buffer((8,), "int8", data=x)
        target = T.decl_buffer((8,), "int8", data=y)
        for i in range(8):
            target[i] = source[7 - i]

    @T.prim_func
    def main(a: T.Buffer((16,), "int8"), b: T.Buffer((8,), "int8")):
        CALLS.shift(T.address_of(a[4]), b.data)


def test_bytes_of_a_callee_are_counted_from_the_start_of_what_it_is_given():
    """The callee reads byte 0 of its argument last, when it has written all but one."""
    main = CALLS["main"]
    found = reason(main, "a", "b", CALLS)
    assert (found.kind, found.functions) == (reasons.IN_ORDER, ("shift",))
    assert (found.written_end, found.first_accessed) == (7, 4)
