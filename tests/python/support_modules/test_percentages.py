"""Percentages as a user writes them."""

from __future__ import annotations

import pytest

from usmp.support.text.percentages import parse_percentage


@pytest.mark.parametrize(
    ("value", "percent"),
    [
        ("10%", 10.0),
        ("10", 10.0),
        ('"10%"', 10.0),
        (" .5 % ", 0.5),
        ("0", 0.0),
        (10, 10.0),
        (2.5, 2.5),
        (0, 0.0),
        ("1000000", 1e6),
    ],
)
def test_percent(value, percent):
    assert parse_percentage(value) == percent


@pytest.mark.parametrize(
    "value",
    [
        *(
            "",
            "%",
            "-1%",
            "+1",
            "1e3",
            "10 percent",
            "nan",
            "inf",
            "1,5%",
            "9" * 400,
            '"10%',
            "1000001",
        ),
        *(-1, float("nan"), float("inf"), True, None, [10]),
    ],
)
def test_what_is_no_percentage(value):
    with pytest.raises(ValueError, match="is no percentage; write a number that is not negative"):
        parse_percentage(value)
