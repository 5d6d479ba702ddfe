"""Structs of inputs and outputs with callbacks, as a model calls them."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from usmp.runtime.row_callbacks import NO_SUCH_ROW, TensorRows, TensorStruct, callbacks

CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p)


def called(struct: TensorStruct, member: int, row: int, data: np.ndarray) -> int:
    function, context = struct.members()[member : member + 2]
    return int(CALLBACK(function)(context, row, data.ctypes.data))


@pytest.fixture
def structs():
    """An input and an output by rows, each after a tensor that is there as a whole."""
    image = np.arange(12, dtype=np.int16).reshape(1, 3, 4)
    inputs = [np.zeros(2, np.int8), image]
    outputs = [np.zeros(3, np.int8), np.full((1, 3, 4), -1, np.int16)]
    with callbacks(TensorRows({1: 8}, {1: 8}), inputs, outputs) as found:
        yield found


def test_what_metadata_says():
    whole, by_rows = {"size": 4}, {"size": 24, "by_rows": {"rows": 3, "row_size": 8}}
    found = TensorRows.of({"a": whole, "b": by_rows}, {"c": by_rows, "d": whole})
    assert found == TensorRows({1: 8}, {0: 8})


def test_members(structs):
    for struct in structs:
        members = struct.members()
        assert (len(members), members[0], members[2]) == (3, struct.arrays[0].ctypes.data, 0)
        passed = struct.struct()
        values = [getattr(passed, name) or 0 for name, _ in passed._fields_]
        assert members == struct.members() == values


def test_rows_of_an_input(structs):
    given, _ = structs
    row = np.zeros(4, np.int16)
    for number in range(3):
        assert called(given, 1, number, row) == 0
        assert row.tolist() == list(range(number * 4, number * 4 + 4))
    assert called(given, 1, 3, row) == NO_SUCH_ROW


def test_rows_of_an_output(structs):
    _, taken = structs
    assert called(taken, 1, 0, np.arange(4, dtype=np.int16)) == 0
    assert taken.arrays[1].tolist() == [[[0, 1, 2, 3], [-1] * 4, [-1] * 4]]


def test_rows_in_another_order(structs):
    for struct in structs:
        assert called(struct, 1, 1, np.zeros(4, np.int16)) == NO_SUCH_ROW
