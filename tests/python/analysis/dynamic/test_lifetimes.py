"""When allocations of dynamic size are in use, and which of them share a block of memory."""

from __future__ import annotations

import pytest
from tvm import tirx
from tvm.script import tirx as T

from usmp.analysis.dynamic.lifetimes import DynamicLifetime, dynamic_blocks, dynamic_lifetimes
from usmp.analysis.memory.facts import facts_of_functions

N, M = tirx.Var("n", "int32"), tirx.Var("m", "int32")


def lifetimes_of(func):
    facts = facts_of_functions({"main": func}).of("main")
    found = dynamic_lifetimes(list(func.body.seq), facts)
    return [(str(each.stmt.buffer.name), each.declared, each.first, each.last) for each in found]


def test_statements_use_what_they_mention():
    """A view counts for what it is of; an allocation that nothing uses has no lifetime."""

    @T.prim_func
    def func(x: T.handle("int8"), n: T.int32):
        a = T.alloc_buffer((n,), "int8")
        static = T.alloc_buffer((4,), "int8")
        b = T.alloc_buffer((n * 2,), "int8")
        unused = T.alloc_buffer((n,), "int8")  # noqa: F841
        T.evaluate(T.call_extern("int32", "f", a.data))
        view = T.decl_buffer((n,), "int8", data=b.data)
        for i in range(4):
            static[i] = view[i]
        T.evaluate(T.call_extern("int32", "f", x, a.data))
        T.evaluate(T.call_extern("int32", "f", x))

    assert lifetimes_of(func) == [("a", 0, 4, 7), ("b", 2, 5, 6)]


def test_what_has_its_address_kept_is_used_to_the_end():
    @T.prim_func
    def func(x: T.handle("int8"), n: T.int32):
        a = T.alloc_buffer((n,), "int8")
        T.evaluate(T.tvm_struct_set(x, 0, 1, a.data))
        T.evaluate(T.call_extern("int32", "f", x))

    assert lifetimes_of(func) == [("a", 0, 1, 2)]


def test_static_allocations_have_no_lifetimes():
    @T.prim_func
    def func(x: T.handle("int8")):
        a = T.alloc_buffer((4,), "int8")
        T.evaluate(T.call_extern("int32", "f", x, a.data))

    assert lifetimes_of(func) == []


def blocks_of(*given):
    """Of shapes, declarations, first and last uses: the members, and which is the largest."""
    lifetimes = []
    for number, (shape, *uses) in enumerate(given):
        dtype = "int8"
        if isinstance(shape, str):
            dtype, shape = "int32", N
        extents = shape if isinstance(shape, tuple) else (shape,)
        buffer = tirx.decl_buffer(extents, dtype, str(number))
        lifetimes.append(DynamicLifetime(tirx.AllocBuffer(buffer), *uses))
    return [
        (
            [int(str(each.stmt.buffer.name)) for each in block.members],
            int(str(block.largest.stmt.buffer.name)),
            (block.first, block.last),
        )
        for block in dynamic_blocks(lifetimes)
    ]


def test_one_follows_the_other_in_a_block():
    assert blocks_of((N * 2, 0, 2, 3), (N, 1, 4, 6)) == [([0, 1], 0, (2, 6))]
    assert blocks_of((N * 2, 0, 2, 4), (N, 1, 4, 6)) == [([0], 0, (2, 4)), ([1], 1, (4, 6))]


def test_a_block_becomes_larger_if_that_is_declared_before():
    assert blocks_of((N, 0, 2, 3), (N * 2, 1, 4, 6)) == [([0, 1], 1, (2, 6))]
    assert blocks_of((N, 0, 2, 3), (N * 2, 2, 4, 6)) == [([0], 0, (2, 3)), ([1], 1, (4, 6))]


def test_the_smallest_of_large_blocks_and_the_largest_of_small_ones_is_taken():
    wide, narrow = (N * 8, 0, 9, 10), (N * 4, 1, 9, 11)
    assert [each[0] for each in blocks_of(wide, narrow, (N * 2, 2, 12, 13))] == [[0], [1, 2]]
    assert [each[0] for each in blocks_of(wide, narrow, (N * 9, 2, 12, 13))] == [[0, 2], [1]]
    # In the order of their use, then of the text.
    assert [each[0] for each in blocks_of((N, 1, 5, 6), (N, 0, 5, 8))] == [[1], [0]]


@pytest.mark.parametrize(
    ("large", "small", "is_shared"),
    [
        (N * 4, N * 4, True),
        (N * M * 2, M * N, True),
        ((N, M, 6), (2, M, N, 3), True),
        (N * N, N * N, True),
        (N * N, N, False),
        (N, M, False),
        (N + 1, N + 1, True),
        (N + 1, N, False),
        # Four bytes an element; bytes and elements both count.
        ("int32", N * 4, False),
        (N * 4, "int32", True),
        (N * -1, N * -2, False),
        (tirx.Cast("int64", N), N, False),
        (
            tirx.decl_buffer((4,), "int32", "b")[0] * 2,
            tirx.decl_buffer((4,), "int32", "b")[0],
            False,
        ),
        (
            tirx.call_extern("int32", "f", N),
            tirx.call_extern("int32", "f", N),
            False,
        ),
    ],
)
def test_blocks_are_as_large_at_all_sizes(large, small, is_shared):
    """Sizes are multiples of the same product of variables."""
    found = blocks_of((large, 2, 3, 3), (small, 4, 5, 6))
    assert (len(found) == 1) is is_shared
