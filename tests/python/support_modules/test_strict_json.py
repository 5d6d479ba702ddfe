"""JSON that is damaged, or made to do harm, is refused with a reason."""

from __future__ import annotations

import pytest

from usmp.support.text.strict_json import DamagedJSON, parse_json


def test_json_is_parsed():
    content = b'{"a": [1, -2.5, "x", true, null], "b": {"a": 12345678901234567890}}'
    parsed = {"a": [1, -2.5, "x", True, None], "b": {"a": 12345678901234567890}}
    assert parse_json(content, len(content)) == parsed


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[1] ", "it has 4 bytes; it may have 3 at most"),
        (b"[", "it is not JSON"),
        (b"\xff", "it is not JSON"),
    ],
)
def test_damaged_texts_are_refused(content, message):
    with pytest.raises(DamagedJSON) as caught:
        parse_json(content, 3)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[" * 100_000, "it is not JSON"),
        (b'{"b": 1, "a\\u001b": 2, "a\\u001b": 3}', 'it has "a\\x1b" twice in one object'),
        (b"1" * 21, "it has a number of 21 digits"),
        (b"1e999", "it has the number 1e999"),
        (b"-Infinity", "it has the number -Infinity"),
        (b"NaN", "it has the number NaN"),
    ],
)
def test_harmful_values_are_refused(content, message):
    with pytest.raises(DamagedJSON) as caught:
        parse_json(content, 1_000_000)
    assert str(caught.value) == message
