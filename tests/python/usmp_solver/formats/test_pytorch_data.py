"""Checked access to what PyTorch wrote."""

from __future__ import annotations

import json
import pickle

import pytest

from usmp_solver.formats.pytorch_data import MOST_BYTES, Record, is_pytorch, load


def record(**value):
    return Record("f.json", "event 3", value)


@pytest.mark.parametrize(
    ("value", "is_taken"),
    [(2, True), (0, True), (9, True), (10, False), (-1, False), (True, False), (2.0, False)],
)
def test_whole_numbers(value, is_taken):
    if is_taken:
        assert record(n=value).integer("n", 0, 10) == value
        assert record(n=[value]).integers("n", 0, 10, (), 1) == [value]
        return
    with pytest.raises(ValueError, match='must have a whole number from 0 to 9 as "n", not'):
        record(n=value).integer("n", 0, 10)
    with pytest.raises(ValueError, match=r'^f\.json: "n" of event 3 must have a whole number'):
        record(n=[value]).integers("n", 0, 10, (), 1)


def test_what_is_missing_has_a_default_or_is_refused():
    assert record().integer("n", 0, 10, 7) == 7
    assert record().integers("n", 0, 10, (), 2) == []
    assert record(n=[1, 2]).integers("n", 0, 10, (), 2) == [1, 2]
    assert record().items("n", (1,)) == (1,)
    with pytest.raises(ValueError, match=r"^f\.json: event 3 must have a whole .*, not nothing"):
        record().integer("n", 0, 10)
    with pytest.raises(ValueError, match='has 3 numbers as "n"; at most 2 are read'):
        record(n=[1, 2, 3]).integers("n", 0, 10, (), 2)
    with pytest.raises(ValueError, match='must have a list as "n", not "x"'):
        record(n="x").items("n")
    with pytest.raises(ValueError, match='must have text as "n", not 5'):
        record(n=5).text("n")
    with pytest.raises(ValueError, match=r'"n" of event 3 is no dict, but a list'):
        record(n=[]).record("n")
    assert record(n={"m": "text"}).record("n").text("m") == "text"


def test_bytes_and_addresses():
    assert record(n=MOST_BYTES - 1).size("n") == MOST_BYTES - 1
    assert record(n=(1 << 64) - 1).address("n") == (1 << 64) - 1
    for value in (-1, MOST_BYTES):
        with pytest.raises(ValueError, match="whole number"):
            record(n=value).size("n")
    for value in (-1, 1 << 64):
        with pytest.raises(ValueError, match="whole number"):
            record(n=value).address("n")


@pytest.mark.parametrize("value", [True, None, "1", 1e300, -1e300, float("nan"), float("inf")])
def test_numbers_are_finite(value):
    assert [record(n=n).number("n") for n in (3, -2.5)] == [3.0, -2.5]
    with pytest.raises(ValueError, match=r"must have a (finite )?number"):
        record(n=value).number("n")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "nothing"),
        (1.5, "1.5"),
        (1 << 64, str(1 << 64)),
        ((1 << 128) - 1, str((1 << 128) - 1)),
        (1 << 128, "a number beyond 128 bits"),
        (-(1 << 128), "a number beyond 128 bits"),
        ("x" * 60, '"' + "x" * 50 + '"'),
        ([], "a list"),
    ],
)
def test_what_is_there_instead_is_said(value, words):
    with pytest.raises(ValueError) as caught:
        record(n=value).integer("n", 0, 1)
    assert str(caught.value).endswith(f"not {words}")


def test_kinds_of_files():
    assert is_pytorch(pickle.dumps({}, 2))
    assert is_pytorch(b"\x1f\x8b")
    assert is_pytorch(b" \r\n\t{")
    assert not is_pytorch(b"id,lower,upper,size")
    data = pickle.dumps({"a": 1}, 4)
    found = load("f", data)
    assert (found.value, found.file_bytes, found.place) == ({"a": 1}, len(data), "the snapshot")
    found = load("f", b'{"a": 1}')
    assert (found.value, found.file_bytes, found.place) == ({"a": 1}, 8, "the file")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x1f\x8b", "f: the file is compressed"),
        (b"\x80\x02c", "f: "),
        (b"[" * 100_000, "f: lists of this JSON are too deep"),
        (b'{"\xff"}', "f: the file is neither a pickle of protocol 2 to 5 nor JSON"),
        (b'{\n"a": x}', "f, line 2: this is no JSON"),
        (b'{"a": ' + b"9" * 5000 + b"}", "f: a number of this JSON has thousands of digits"),
        (json.dumps([1]).encode(), "f: the file is no dict, but a list"),
    ],
)
def test_files_that_are_refused(data, message):
    with pytest.raises(ValueError) as caught:
        load("f", data)
    assert str(caught.value).startswith(message)
