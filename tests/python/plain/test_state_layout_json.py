"""State layouts as JSON, which may be damaged."""

from __future__ import annotations

import json

import pytest

from usmp.plain.state_layout_json import hashed_content, layout_document, parse_document
from usmp.plain.state_place import StatePlace

STATES = [
    StatePlace("a", [2, 3], "int8", "fast", 0, 6, 4, "digest"),
    StatePlace("b", [], "float32", "slow", 8, 4, 4, ""),
    StatePlace("c", [2**40], "int8", "fast", 2**40, 2**40, 2**40, "x"),
]
STATE = {
    "name": "a",
    "dtype": "int8",
    "shape": [2, 3],
    "offset": 0,
    "size": 6,
    "alignment": 4,
    "initial_value": "digest",
}
DOCUMENT = {"version": 1, "module": "net", "hash": "abc", "pools": {"fast": [STATE]}}


def test_documents_have_the_states_by_pool():
    document = layout_document("net", STATES, "abc")
    assert list(document["pools"]) == ["fast", "slow"]
    assert document["pools"]["fast"][0] == STATE
    assert {**document, "pools": DOCUMENT["pools"]} == DOCUMENT
    module, states, digest = parse_document(json.dumps(document))
    assert (module, digest) == ("net", "abc")
    assert states == [STATES[0], STATES[2], STATES[1]]


def test_another_alignment_means_the_same_bytes():
    first, *_ = STATES
    aligned = StatePlace("a", [2, 3], "int8", "fast", 0, 6, 8, "digest")
    moved = StatePlace("a", [2, 3], "int8", "fast", 2, 6, 4, "digest")
    assert hashed_content("net", [first]) == hashed_content("net", [aligned])
    assert hashed_content("net", [first]) != hashed_content("net", [moved])
    assert hashed_content("net", [first]) == [
        1,
        "net",
        ["fast", "a", "int8", [2, 3], 0, 6, "digest"],
    ]


def with_state(**fields):
    entry = {**STATE, **fields}
    return {**DOCUMENT, "pools": {"fast": [STATE, entry]}}


def without(fields, name):
    return {key: value for key, value in fields.items() if key != name}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "it is no JSON object"),
        ({**DOCUMENT, "version": 2}, "it is of version 2; this usmp reads version 1"),
        ({**DOCUMENT, "version": True}, "it is of version True; this usmp reads version 1"),
        ({**DOCUMENT, "version": "1\x1b"}, "it is of version 1\\x1b; this usmp reads version 1"),
        ({}, 'it has no "hash"'),
        (without(DOCUMENT, "version"), 'it has no "version"'),
        ({**DOCUMENT, "x\n": 1}, 'it has "x\\n", which is unknown'),
        ({**DOCUMENT, "pools": []}, 'it has no valid "pools"'),
        ({**DOCUMENT, "module": 3}, 'it has no valid "module"'),
        ({**DOCUMENT, "hash": None}, 'it has no valid "hash"'),
        ({**DOCUMENT, "module": "\ud800"}, 'it has no valid "module"'),
        ({**DOCUMENT, "module": "x\udfff"}, 'it has no valid "module"'),
        ({**DOCUMENT, "pools": {"a": {}}}, 'pool "a" has no list of states'),
        ({**DOCUMENT, "pools": {"a": []}}, 'pool "a" has no list of states'),
        ({**DOCUMENT, "pools": {"\ud812": [STATE]}}, 'pool "\\ud812" has no list of states'),
        ({**DOCUMENT, "pools": {"a": [3]}}, 'state 0 of pool "a" is no JSON object'),
        (with_state(x=1), 'state 1 of pool "fast" has "x", which is unknown'),
        (with_state(name=1), 'state 1 of pool "fast" has no valid "name"'),
        (with_state(shape=[1] * 65), 'state 1 of pool "fast" has no valid "shape"'),
        (with_state(shape=[-1]), 'state 1 of pool "fast" has no valid "shape"'),
        (with_state(shape=[True]), 'state 1 of pool "fast" has no valid "shape"'),
        (with_state(shape={}), 'state 1 of pool "fast" has no valid "shape"'),
        (with_state(offset=1.0), 'state 1 of pool "fast" has no valid "offset"'),
        (with_state(size=2**40 + 1), 'state 1 of pool "fast" has no valid "size"'),
        (with_state(alignment="4"), 'state 1 of pool "fast" has no valid "alignment"'),
    ],
)
def test_damaged_documents_are_refused(document, message):
    with pytest.raises(ValueError) as caught:
        parse_document(json.dumps(document))
    assert str(caught.value) == message


def test_text_that_is_not_json_is_refused():
    for content in ("{", "\ud800", b"\xff"):
        with pytest.raises(ValueError, match=r"^it is not JSON$"):
            parse_document(content)


def test_limits_are_inside():
    """Of 64 extents, and 16 MiB of text."""
    document = json.dumps(with_state(shape=[0] * 64))
    _, states, _ = parse_document(document.encode().ljust(2**24))
    assert list(states[1].shape) == [0] * 64
    with pytest.raises(ValueError, match="it may have 16777216 at most"):
        parse_document(document.encode().ljust(2**24 + 1))
