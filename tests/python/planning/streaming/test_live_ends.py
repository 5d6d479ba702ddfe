"""Which bytes of a memory are live between two operators."""

from __future__ import annotations

import pytest

from support.streamed_graphs import module, operator
from usmp.planning.streaming.read_main import streamed_main

COPY = operator("copy", [("p", 8, "int8"), ("q", 8, "int8")], "for i in range(8):\n    Q[i] = P[i]")
LAST = operator(
    "last", [("p", 32, "int8"), ("q", 8, "int8")], "for i in range(8):\n    Q[i] = P[24 + i]"
)
MAIN = """
@T.prim_func
def __tvm_main__(x: T.handle("int8"), y: T.handle("int8")):
    A = T.alloc_buffer((32,), "int8")
    B = T.alloc_buffer((8,), "int8")
    C = T.alloc_buffer((8,), "int8", annotations={"input_tensor": "C"})
    D = T.alloc_buffer((8,), "int8", annotations={"output_tensor": "D"})
    Module.copy(C.data, T.address_of(A[8]))
    Module.copy(x, T.address_of(A[16]))
    Module.copy(T.address_of(A[8]), B.data)
    T.evaluate(T.call_extern("int32", "f", B.data))
    Module.copy(x, T.address_of(A[24]))
    Module.last(A.data, D.data)
"""
"""A is written from byte 8 to 24, and read from byte 8, then written and read from byte 24 on."""


@pytest.fixture(scope="module")
def ends():
    main = streamed_main(module(COPY, LAST, MAIN))
    assert main is not None
    names = {str(memory.name): memory for memory in main.sizes}
    assert set(names) == set("ABCD")
    return main.ends, names


@pytest.mark.parametrize(
    ("name", "first", "end"),
    [
        ("A", [8, 8, 8, 24, 24, 24, 32], [0, 16, 24, 24, 24, 32, 32]),
        # Of what a function in C does nothing is known.
        ("B", [0, 0, 0, 8, 8, 8, 8], [0, 0, 0, 0, 8, 8, 8]),
        ("C", [0, 8, 8, 8, 8, 8, 8], [8, 8, 8, 8, 8, 8, 8]),
        ("D", [0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 8]),
    ],
)
def test_from_what_is_accessed_to_what_was_written(ends, name, first, end):
    found, names = ends
    assert [found.first(names[name], index) for index in range(7)] == first
    assert [found.end(names[name], index) for index in range(7)] == end


def test_live_bytes(ends):
    found, names = ends
    assert [found.live(names["A"], index) for index in range(7)] == [0, 8, 16, 0, 0, 8, 0]
    assert found.live(names["C"], 0) == 8
    assert found.live(names["C"], 0, 1) == 0
    assert found.live(names["D"], 6) == 8
