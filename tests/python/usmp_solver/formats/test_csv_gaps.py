"""The column `gaps`."""

from __future__ import annotations

import pytest

from usmp_solver.formats.csv_gaps import Lifespan, live_ranges

LIFE = Lifespan(2, 20, 8)


@pytest.mark.parametrize(
    ("text", "inclusive", "expected"),
    [
        ("", False, [(2, 20)]),
        ("3-5", False, [(2, 3), (5, 20)]),
        ("7-9 3-5", False, [(2, 3), (5, 7), (9, 20)]),
        ("3-5 5-9", False, [(2, 3), (9, 20)]),
        ("2-5", False, [(5, 20)]),
        ("5-20", False, [(2, 5)]),
        ("2-3 19-20", False, [(3, 19)]),
        ("3-5 8-8", True, [(2, 3), (6, 8), (9, 20)]),
        # A gap that keeps all bytes is none, but still may not overlap another.
        ("3-5@0:8", False, [(2, 20)]),
        ("3-5@0:8 6-9", False, [(2, 6), (9, 20)]),
        ("3-5 5-7@0:8 7-9", False, [(2, 3), (5, 7), (9, 20)]),
    ],
)
def test_what_gaps_leave(text, inclusive, expected):
    assert live_ranges(text, LIFE, inclusive) == expected


def test_times_may_be_negative():
    assert live_ranges("-3--2", Lifespan(-5, 0, 1), False) == [(-5, -3), (-2, 0)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x", 'the gap "x" cannot be read'),
        ("3_5", "cannot be read"),
        ("3-5-7", "cannot be read"),
        ("5-5", 'the gap "5-5" is empty or negative'),
        ("5-4", "is empty or negative"),
        ("1-4", r"is not within the life of the buffer, 2 to 20"),
        ("18-21", "is not within the life"),
        ("3-6 5-8", 'the gaps "3-6" and "5-8" overlap'),
        ("5-8@0:8 3-6", 'the gaps "3-6" and "5-8@0:8" overlap'),
        ("2-20", "the gaps leave nothing"),
        ("2-10 10-20", "the gaps leave nothing"),
        ("3-5@0:4", "has a window"),
        ("3-5@1:8", "has a window"),
    ],
)
def test_gaps_that_are_refused(text, message):
    with pytest.raises(ValueError, match=message):
        live_ranges(text, LIFE, False)


def test_a_long_gap_is_cut_in_the_message():
    longest = "3-" + "0" * 197 + "5"
    assert live_ranges(longest, LIFE, False) == [(2, 3), (5, 20)]
    with pytest.raises(ValueError) as caught:
        live_ranges("3-0" + longest[2:], LIFE, False)
    assert str(caught.value).startswith(f'the gap "3-{"0" * 198}" cannot be read')
