"""Pickles: plain data comes out as Python's unpickler makes it, and nothing else does."""

from __future__ import annotations

import collections
import os
import pickle
import struct
from contextlib import suppress

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from usmp_solver.formats.plain_pickle import plain_loads

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(1 << 70), 1 << 70),
    st.floats(allow_nan=False),
    st.text(st.characters(), max_size=4),
)
PLAIN = st.recursive(
    SCALARS,
    lambda items: (
        st.lists(items, max_size=4)
        | st.lists(items, max_size=4).map(tuple)
        | st.dictionaries(st.text(max_size=3), items, max_size=4)
    ),
    max_leaves=6,
)


@settings(max_examples=40)
@given(PLAIN, st.integers(2, 5))
@example([["x" * 300] * 300, {str(number): number for number in range(1500)}], 2)
@example([b"bytes", b"b" * 300, (), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)], 4)
def test_plain_data_is_what_it_was(data, protocol):
    assert plain_loads(pickle.dumps(data, protocol)) == data


class Runs:
    def __init__(self, *call):
        self.call = call

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize(
    ("value", "opcode"),
    [
        (Runs(os.mkdir, ("made",)), "STACK_GLOBAL"),
        (Runs(eval, ("__import__('os').mkdir('made')",)), "STACK_GLOBAL"),
        (collections.OrderedDict(a=1), "STACK_GLOBAL"),
        ({1, 2}, "EMPTY_SET"),
        (frozenset("a"), "FROZENSET"),
        (bytearray(b"a"), "BYTEARRAY8"),
        (1 << 5000, "LONG4"),
    ],
    # Objects have addresses, which differ from process to process.
    ids=lambda each: each if isinstance(each, str) else type(each).__name__,
)
def test_nothing_is_run(value, opcode, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = pickle.dumps({"segments": value}, 5)
    with pytest.raises(ValueError, match=rf"^byte \d+ of the pickle: the opcode {opcode} is not "):
        plain_loads(data)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the pickle ends after 0 bytes, in the middle"),
        (b"\x80\x04}", "the pickle ends after 3 bytes, in the middle"),
        (b"\x80\x01N.", "byte 1 of the pickle: protocol 1 is not read; 2 to 5 are"),
        (b"\x80\x04.", "byte 2 of the pickle: the pickle ends with more or less than one object"),
        (b"\x80\x04(.", "byte 3 of the pickle: the pickle ends with more or less than one object"),
        (b"\x80\x04NN.", "byte 4 of the pickle: the pickle ends with more or less than one object"),
        (b"\x80\x04\xf0", "byte 2 of the pickle: the opcode 0xf0 is not read: only plain data is "),
        (b"\x80\x04(0", "byte 3 of the pickle: there is no object that the opcode could take"),
        (b"\x80\x04N\x85t", "byte 4 of the pickle: there is no mark below the items"),
        (b"\x80\x04NNa", "byte 4 of the pickle: there is no list that items could be put into"),
        (b"\x80\x04}K\x01Ns", "byte 6 of the pickle: a key is no string"),
        (b"\x80\x04}(Nu", "byte 5 of the pickle: a key has no value"),
        (b"\x80\x04h\x07", "byte 3 of the pickle: object 7 is not there"),
        (b"\x80\x04\x94", "byte 2 of the pickle: there is no object that the opcode could take"),
        (b"\x80\x04\x8c\x01\xff", "byte 4 of the pickle: a string is no UTF-8 text"),
        # More than there is is not even asked for.
        (b"\x80\x04\x8d" + struct.pack("<Q", 1 << 62), "the pickle ends after 11 bytes, in the "),
        (b"\x80\x04\x8e" + struct.pack("<Q", 1 << 62), "the pickle ends after 11 bytes, in the "),
    ],
)
def test_what_is_malformed_is_refused(data, message):
    with pytest.raises(ValueError) as caught:
        plain_loads(data)
    assert str(caught.value).startswith(message)


def test_a_memo_takes_memory_for_what_is_in_it():
    assert plain_loads(b"\x80\x02Nr\xff\xff\xff\xff.") is None


def test_a_list_may_be_in_itself():
    data = []
    data.append(data)
    made = plain_loads(pickle.dumps(data))
    assert made[0] is made


@given(st.binary(max_size=40))
def test_nothing_but_a_value_error_comes_out(data):
    for each in (data, b"\x80\x04" + data, b"\x80\x04}](" + data + b"."):
        with suppress(ValueError):
            plain_loads(each)


@pytest.mark.slow
@given(PLAIN, st.data())
def test_nothing_but_a_value_error_comes_out_of_damaged_pickles(value, data):
    pickled = bytearray(pickle.dumps(value))
    at = data.draw(st.integers(0, len(pickled) - 1))
    pickled[at] = data.draw(st.integers(0, 255))
    with suppress(ValueError):
        plain_loads(bytes(pickled))
