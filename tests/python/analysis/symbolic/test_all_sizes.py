"""Buffers of a module with symbolic sizes, such that a plan holds for every size."""

from __future__ import annotations

import pytest
from tvm.ir import IRModule
from tvm.script import ir as I
from tvm.script import tirx as T

from support.symbolic_models import with_interface
from usmp.analysis.symbolic.all_sizes import (
    are_few,
    extract_for_all_sizes,
    largest_bytes,
    largest_bytes_of,
)
from usmp.analysis.symbolic.instances import Instances, InstanceStore
from usmp.objects.symbolic_size import SymbolicSize
from usmp.transform import AssignPoolInfo

MAIN = "__tvm_main__"


@I.ir_module
class Model:
    """`b` is as large as a for the largest size only, and reads it from its end."""

    @T.prim_func(private=True)
    def turn(p: T.handle("int16"), q: T.handle("int16"), n: T.int32):
        P = T.decl_buffer((n,), "int16", data=p)
        Q = T.decl_buffer((n,), "int16", data=q)
        for i in range(n):
            Q[i] = P[n - 1 - i]

    @T.prim_func
    def __tvm_main__(x: T.handle("int16"), seq: T.int32):
        a = T.alloc_buffer((seq * 2,), "int16")
        b = T.alloc_buffer((seq * 2,), "int16")
        c = T.alloc_buffer((T.max(9 - seq, 2),), "int16")
        d = T.alloc_buffer((seq - 9,), "int8")
        T.evaluate(T.call_extern("int32", "f", x, a.data, c.data, d.data))
        Model.turn(a.data, b.data, seq * 2)
        T.evaluate(T.call_extern("int32", "f", x, b.data))


def with_sizes(mod, *sizes):
    return AssignPoolInfo()(with_interface(mod, ([], []), sizes))


def bytes_by_name(found):
    return {str(stmt.buffer.name): size for stmt, size in found.items()}


def extracted(mod, **options):
    found = extract_for_all_sizes(MAIN, mod, InstanceStore(), **options)
    return {str(info.name_hint): info for info in found.buffer_info_stmts}, found


def test_allocations_take_the_most_that_they_take_at_any_size():
    """`c` is largest at the smallest size; what would be less than nothing is nothing."""
    mod = with_sizes(Model, SymbolicSize("seq", 1, 8))
    assert bytes_by_name(largest_bytes_of(mod)) == {"a": 32, "b": 32, "c": 16, "d": 0}
    buffers, found = extracted(mod)
    assert {name: int(info.size_bytes) for name, info in buffers.items()} == {
        "a": 32,
        "b": 32,
        "c": 16,
        "d": 0,
    }
    stmts = {str(stmt.buffer.name): stmt for stmt in found.buffer_info_stmts.values()}
    assert all(stmts[name] in largest_bytes_of(mod) for name in "abcd")


def test_overlaps_are_the_largest_distance_of_all_sizes():
    """Of n elements, the last is written before the first is read: n - 1 of them."""
    mod = with_sizes(Model, SymbolicSize("seq", 1, 8))
    buffers, _ = extracted(mod)
    distances = {str(i.name_hint): int(d) for i, d in buffers["b"].overlaps.items()}
    assert distances == {"a": 30}
    assert dict(extracted(mod, overlap=False)[0]["b"].overlaps) == {}


def test_overlaps_may_be_smaller_at_the_largest_size():
    """Two elements go to the end of eight: seven are written when the second is read. All eight
    stay where they are."""

    @I.ir_module
    class Moved:
        @T.prim_func(private=True)
        def move(p: T.handle("int8"), q: T.handle("int8"), n: T.int32):
            P = T.decl_buffer((8,), "int8", data=p)
            Q = T.decl_buffer((8,), "int8", data=q)
            for i in range(n):
                Q[i + (8 - n)] = P[i]

        @T.prim_func
        def __tvm_main__(x: T.handle("int8"), seq: T.int32):
            a = T.alloc_buffer((8,), "int8")
            b = T.alloc_buffer((8,), "int8")
            T.evaluate(T.call_extern("int32", "f", x, a.data))
            Moved.move(a.data, b.data, seq)
            T.evaluate(T.call_extern("int32", "f", x, b.data))

    buffers, _ = extracted(with_sizes(Moved, SymbolicSize("seq", 1, 8)))
    assert [int(distance) for distance in buffers["b"].overlaps.values()] == [6]
    buffers, _ = extracted(with_sizes(Moved, SymbolicSize("seq", 8, 8)))
    assert [int(distance) for distance in buffers["b"].overlaps.values()] == [0]


@pytest.mark.parametrize(
    ("sizes", "few"),
    [
        ([SymbolicSize("a", 1, 1024)], True),
        ([SymbolicSize("a", 1, 1025)], False),
        ([SymbolicSize("a", 2, 33), SymbolicSize("b", 1, 32)], True),
        ([SymbolicSize("a", 2, 33), SymbolicSize("b", 1, 33)], False),
        ([SymbolicSize("a", 1)], False),
        ([], True),
    ],
)
def test_overlaps_are_found_for_few_sizes(sizes, few):
    assert are_few(sizes) is few


def test_too_many_sizes_have_no_overlaps():
    buffers, _ = extracted(with_sizes(Model, SymbolicSize("seq", 1, 1025)))
    assert dict(buffers["b"].overlaps) == {}
    assert int(buffers["b"].size_bytes) == 4 * 1025


def test_sizes_without_a_bound_have_no_largest():
    mod = with_sizes(Model, SymbolicSize("seq", 1))
    instances = Instances(mod, MAIN, InstanceStore())
    assert largest_bytes(instances, [SymbolicSize("seq", 1)]) == {}


def test_a_module_without_symbolic_sizes_has_none():
    assert largest_bytes_of(IRModule({})) == {}
