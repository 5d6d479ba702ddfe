"""Durations as a user writes them."""

from __future__ import annotations

import pytest

from usmp.support.text.durations import parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10s", 10.0),
        ("500ms", 0.5),
        ("2min", 120.0),
        ("1h", 3600.0),
        ("1.5", 1.5),
        (".5 s", 0.5),
        (" 3 ", 3.0),
        ("007s", 7.0),
        ("1000000000", 1e9),
    ],
)
def test_seconds(text, seconds):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        *("", "s", "0", "0ms", "-1s", "+1s", "1e3", "10 sec", "1s2ms", "nan", "inf", "1,5s"),
        *("9" * 400, "1000000001"),
    ],
)
def test_what_is_no_duration(text):
    with pytest.raises(ValueError, match="is no duration; write a number and ms, s, min or h") as e:
        parse_duration(text)
    assert str(e.value).startswith(f'"{text}" ')
