"""The way to an algorithm and back, with identical constants stored once."""

import numpy as np
import pytest
import tvm
from tvm.script import ir as I
from tvm.script import tirx as T

from support.buffer_views import analyze
from usmp.analysis import assign_stmt_pool_allocations, create_array_buffer_info
from usmp.objects import BufferInfoAnalysis, ConstantPoolInfo, PoolAllocation


def data(*values, dtype="int8"):
    return tvm.runtime.tensor(np.array(values, dtype))


@I.ir_module
class Mod:
    @T.prim_func
    def op(A: T.Buffer((4,), "int8")):
        first_again = T.alloc_buffer((4,), "int8", annotations={"constant_data": data(1, 2, 3, 4)})
        A[0] = first_again[0]

    @T.prim_func
    def __tvm_main__():
        first = T.alloc_buffer((4,), "int8", annotations={"constant_data": data(1, 2, 3, 4)})
        a = T.alloc_buffer((4,), "int8")
        b = T.alloc_buffer((4,), "int8")
        other = T.alloc_buffer((4,), "int8", annotations={"constant_data": data(1, 2, 3, 5)})
        unsigned = T.alloc_buffer(
            (4,), "uint8", annotations={"constant_data": data(1, 2, 3, 4, dtype="uint8")}
        )
        elsewhere = T.alloc_buffer(
            (4,),
            "int8",
            annotations={
                "constant_data": data(1, 2, 3, 4),
                "candidate_memory_pools": [ConstantPoolInfo("rom", ["c"])],
            },
        )
        a[0] = first[0] + other[0] + elsewhere[0] + T.cast(unsigned[0], "int8")
        b[0] = a[0]
        Mod.op(b)


def test_identical_constants_are_placed_once():
    stmts = analyze(Mod).buffer_info_stmts
    assert [info.name_hint for info in stmts] == [
        "first",
        "a",
        "b",
        "other",
        "unsigned",
        "elsewhere",
        "first_again",
    ]
    assert [info.name_hint for info in create_array_buffer_info(stmts)] == [
        "first",
        "a",
        "b",
        "other",
        "unsigned",
        "elsewhere",
    ]


def test_every_statement_gets_a_place():
    stmts = analyze(Mod).buffer_info_stmts
    plan = {
        info: PoolAllocation(info.pool_candidates[0], 16 * index)
        for index, info in enumerate(create_array_buffer_info(stmts))
    }
    places = assign_stmt_pool_allocations(stmts, plan)
    assert {stmt.buffer.name: place.byte_offset for stmt, place in places.items()} == {
        "first": 0,
        "a": 16,
        "b": 32,
        "other": 48,
        "unsigned": 64,
        "elsewhere": 80,
        "first_again": 0,
    }


def test_an_algorithm_may_place_identical_constants_apart():
    stmts = analyze(Mod).buffer_info_stmts
    plan = {
        info: PoolAllocation(info.pool_candidates[0], 16 * index)
        for index, info in enumerate(stmts)
    }
    places = assign_stmt_pool_allocations(stmts, plan)
    assert [place.byte_offset for place in places.values()] == [16 * i for i in range(7)]


def test_a_buffer_without_a_place():
    stmts = analyze(Mod).buffer_info_stmts
    with pytest.raises(ValueError, match=r'^buffer "first" has no allocation$'):
        assign_stmt_pool_allocations(stmts, {})


def test_nothing_to_place():
    nothing = BufferInfoAnalysis({}, 0).buffer_info_stmts
    assert create_array_buffer_info(nothing) == []
    assert assign_stmt_pool_allocations(nothing, {}) == {}
