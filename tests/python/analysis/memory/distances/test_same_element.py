"""Outputs that may have the place of an input, whatever the order of iterations is."""

from __future__ import annotations

import pytest
from tvm.script import tirx as T

from usmp.analysis.memory.distances.same_element import is_in_place
from usmp.analysis.memory.element_accesses import element_accesses


def in_place(func):
    dying, written, *_ = func.params
    return is_in_place(element_accesses(func), dying, written)


@T.prim_func
def same(x: T.Buffer((4, 6), "int8"), y: T.Buffer((4, 6), "int8")):
    for i, j in T.grid(4, 6):
        y[i, j] = x[i, j] + x[i, j]


@T.prim_func
def reshaped(x: T.Buffer((4, 6), "int8"), y: T.Buffer((24,), "int8")):
    for i, j in T.grid(4, 6):
        y[i * 6 + j] = x[i, j]


@T.prim_func
def parallel(x: T.Buffer((24,), "int8"), y: T.Buffer((24,), "int8")):
    for i in T.parallel(4):
        for j in T.vectorized(6):
            y[i * 6 + j] = x[i * 6 + j]


@T.prim_func
def one_after_the_other(
    x: T.Buffer((24,), "int8"), y: T.Buffer((24,), "int8"), z: T.Buffer((24,), "int8")
):
    for i in range(24):
        z[i] = x[23 - i]
    for i in range(24):
        y[i] = z[i]


@T.prim_func
def written_twice(x: T.Buffer((24,), "int8"), y: T.Buffer((24,), "int8")):
    for i in range(24):
        y[i] = x[i]
        y[i] = y[i] + T.int8(1)


@T.prim_func
def unused_input(x: T.Buffer((24,), "int8"), y: T.Buffer((24,), "int8")):
    for i in range(24):
        y[i] = T.int8(0)


@T.prim_func
def mixed_radix(x: T.Buffer((100,), "int8"), y: T.Buffer((100,), "int8")):
    for i, j, k in T.grid(3, 2, 4):
        y[j + i * 2 + k * 6] = x[k * 6 + i * 2 + j]


@T.prim_func
def one_iteration(x: T.Buffer((24,), "int8"), y: T.Buffer((24,), "int8")):
    for i, j in T.grid(1, 24):
        y[i + j] = x[i + j]


IN_PLACE = [
    *(same, reshaped, parallel, one_after_the_other, written_twice, unused_input, mixed_radix),
    one_iteration,
]


@pytest.mark.parametrize("func", IN_PLACE, ids=lambda func: func.attrs["global_symbol"])
def test_the_same_elements_are_read_before_they_are_written(func):
    assert in_place(func)


@T.prim_func
def shifted(x: T.Buffer((25,), "int8"), y: T.Buffer((25,), "int8")):
    for i in range(24):
        y[i] = x[i + 1]


@T.prim_func
def turned(x: T.Buffer((24,), "int8"), y: T.Buffer((24,), "int8")):
    for i in range(24):
        y[i] = x[23 - i]


@T.prim_func
def transposed(x: T.Buffer((4, 6), "int8"), y: T.Buffer((6, 4), "int8")):
    for i, j in T.grid(4, 6):
        y[j, i] = x[i, j]


@T.prim_func
def other_type(x: T.Buffer((24,), "int8"), y: T.Buffer((24,), "uint8")):
    for i in range(24):
        y[i] = T.Cast("uint8", x[i])


@T.prim_func
def read_later(x: T.Buffer((24,), "int8"), y: T.Buffer((24,), "int8"), z: T.Buffer((24,), "int8")):
    for i in range(24):
        y[i] = T.int8(1)
        z[i] = x[i]


@T.prim_func
def read_by_a_later_loop(
    x: T.Buffer((24,), "int8"), y: T.Buffer((24,), "int8"), z: T.Buffer((24,), "int8")
):
    for i in range(24):
        y[i] = T.int8(1)
    for i in range(24):
        z[i] = x[i]


@T.prim_func
def input_is_written(x: T.Buffer((24,), "int8"), y: T.Buffer((24,), "int8")):
    for i in range(24):
        x[i] = x[i] + T.int8(1)
        y[i] = x[i]


@T.prim_func
def row_of_each(x: T.Buffer((4, 6), "int8"), y: T.Buffer((4, 6), "int8")):
    for i in range(4):
        for j in range(6):
            y[i, j] = T.int8(0)
        for j in range(6):
            y[i, j] = y[i, j] + x[i, 5 - j]


@T.prim_func
def several_iterations_an_element(x: T.Buffer((24,), "int8"), y: T.Buffer((24,), "int8")):
    for i in range(4):
        for _ in range(6):
            y[i] = x[i]


@T.prim_func
def overlapping_terms(x: T.Buffer((24,), "int8"), y: T.Buffer((24,), "int8")):
    for i, j in T.grid(4, 4):
        y[i * 3 + j] = x[i * 3 + j]


@T.prim_func
def quotients(x: T.Buffer((24,), "int8"), y: T.Buffer((24,), "int8")):
    for i in range(24):
        y[i // 2] = x[i // 2]


@T.prim_func
def by_memory(x: T.Buffer((24,), "int8"), y: T.Buffer((24,), "int8"), at: T.Buffer((24,), "int32")):
    for i in range(24):
        y[at[i]] = x[at[i]]


@T.prim_func
def address_is_kept(x: T.Buffer((24,), "int8"), y: T.Buffer((24,), "int8")):
    T.evaluate(T.call_extern("int32", "f", x.data))
    for i in range(24):
        y[i] = x[i]


OTHERS = [
    *(shifted, turned, transposed, other_type, read_later, read_by_a_later_loop, input_is_written),
    *(row_of_each, several_iterations_an_element, overlapping_terms, quotients, by_memory),
    address_is_kept,
]


@pytest.mark.parametrize("func", OTHERS, ids=lambda func: func.attrs["global_symbol"])
def test_others_need_places_of_their_own(func):
    assert not in_place(func)


def test_strides_are_not_followed():
    @T.prim_func
    def func(x: T.Buffer((24,), "int8", strides=[2]), y: T.Buffer((24,), "int8", strides=[2])):
        for i in range(24):
            y[i] = x[i]

    assert not in_place(func)
