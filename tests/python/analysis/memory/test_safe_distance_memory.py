"""Distances of operators whose loops run together billions of times take little memory."""

import tracemalloc

import pytest
from tvm.script import tirx as T

from support.safe_distances import distance
from usmp.analysis.memory.distances import safe_distance
from usmp.support.errors import OutOfMemoryError

PLANES, SIDE = 64, 256
MOST_BYTES = 64 << 20
"""Of the analysis; one array over all iterations would have 4 GiB or more."""


@T.prim_func
def linear(x: T.Buffer((PLANES * SIDE**3,), "int8"), y: T.Buffer((PLANES * SIDE**3,), "int8")):
    for p, i, j, k in T.grid(PLANES, SIDE, SIDE, SIDE):
        y[((p * SIDE + i) * SIDE + j) * SIDE + k] = x[((p * SIDE + i) * SIDE + j) * SIDE + k]


@T.prim_func
def guarded_loop_by_loop(
    x: T.Buffer((PLANES * SIDE**2,), "int8"), y: T.Buffer((PLANES * SIDE**2,), "int8")
):
    for p, i, j, k in T.grid(PLANES, SIDE, SIDE, SIDE):
        if i < SIDE - 1 and k > 0:
            y[(p * SIDE + i) * SIDE + j] = x[(p * SIDE + i) * SIDE + j]


@T.prim_func
def guarded_by_other_loops(
    x: T.Buffer((PLANES * SIDE,), "int8"), y: T.Buffer((PLANES * SIDE,), "int8")
):
    for p, i, j, k in T.grid(PLANES, SIDE, SIDE, SIDE):
        if i < SIDE - 1 and k > 0:
            y[p * SIDE + j] = x[p * SIDE + j]


@T.prim_func
def with_quotients(
    x: T.Buffer((PLANES * SIDE**2,), "int8"), y: T.Buffer((PLANES * SIDE**2,), "int8")
):
    for p, i, j, k in T.grid(PLANES, SIDE, SIDE, SIDE):
        y[(p * SIDE + i // 2 * 2) * SIDE + j] = x[(p * SIDE + i) * SIDE + k // 2]


@T.prim_func
def guarded_by_several_loops(
    x: T.Buffer((PLANES * SIDE**2,), "int8"), y: T.Buffer((PLANES * SIDE**2,), "int8")
):
    for p, i, j, k in T.grid(PLANES, SIDE, SIDE, SIDE):
        if i + j + k < SIDE:
            y[(p * SIDE + i) * SIDE + j] = x[(p * SIDE + i) * SIDE + k]


@pytest.mark.parametrize(
    ("func", "expected"),
    [
        # Rows of the two outer loops are followed: one of them is written while it is read.
        (linear, SIDE * SIDE),
        (guarded_loop_by_loop, SIDE),
        (guarded_by_other_loops, SIDE),
        (with_quotients, SIDE),
        (guarded_by_several_loops, SIDE),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_memory(func, expected):
    tracemalloc.start()
    try:
        assert distance(func, "x", "y") == expected
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
    finally:
        tracemalloc.stop()


def test_out_of_memory(monkeypatch):
    """The message names the operator."""

    def fails(*arguments):
        raise MemoryError("4 GiB")

    monkeypatch.setattr(safe_distance, "in_order", fails)
    with pytest.raises(OutOfMemoryError, match=r"the accesses of operator main \(4 GiB\), and "):
        distance(linear, "x", "y")
