"""Text in lines of a width: nothing is lost, no line is wider, long ones take linear time."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from usmp.support.text import wrapped_text
from usmp.support.text.wrapped_text import (
    TIE,
    cell_width,
    elided,
    parts,
    widest_part,
    widest_word,
    wrapped,
)

CHARACTERS = st.sampled_from([*"ab_/.,-B7 \n名é\u0301", TIE])


@settings(deadline=None)
@given(st.text(CHARACTERS, max_size=60), st.integers(-2, 20))
def test_no_character_but_spaces_is_lost_and_lines_fit(text, width):
    lines = wrapped(text, width)
    kept = "".join("".join(lines).split())
    assert kept == "".join(text.replace(TIE, " ").split())
    # A character of two cells does not fit in one.
    assert all(cell_width(line) <= max(width, 2) for line in lines)


@pytest.mark.slow
@settings(deadline=None)
@given(st.text(st.sampled_from("ab_名"), max_size=40), st.integers(-2, 20))
def test_an_elided_name_fits(text, width):
    found = elided(text, width)
    assert cell_width(found) <= max(width, 1)
    assert found == text or wrapped_text.ELISION in found


def test_the_middle_is_left_out():
    assert [elided("abcdefgh", width) for width in (8, 7, 6, 1)] == [
        "abcdefgh",
        "abc…fgh",
        "abc…gh",
        "…",
    ]
    assert elided("名名名名", 6) == "名…名"


def test_names_go_on_behind_what_joins_their_parts():
    joined = "a_b/c.d,e:f;g=h+i|j\\k-l"
    assert parts(joined) == [
        *("a_", "b/", "c.", "d,", "e:", "f;", "g=", "h+", "i|", "j\\", "k-", "l"),
    ]
    assert parts("aB__cd/") == ["a", "B_", "_", "cd/"]
    assert (widest_word("ab cde_f"), widest_part("ab cde_f"), widest_word("")) == (5, 4, 0)


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("one two three", 7, ["one two", "three"]),
        ("one two three", 1000, ["one two three"]),
        ("  a list of words", 9, ["  a list", "of words"]),
        ("depthwise_conv_2d", 12, ["depthwise_", "conv_2d"]),
        ("abcdef", 4, ["abcd", "ef"]),
        ("名名名", 4, ["名名", "名"]),
        ("名", 1, ["名"]),
        (f"3{TIE}ADD 16{TIE}MUL", 8, ["3 ADD", "16 MUL"]),
        ("", 5, [""]),
        ("   ", 1, [" "]),
        ("   a", 2, ["  ", "a"]),
        ("a\n\nb", 5, ["a", "", "b"]),
    ],
)
def test_lines(text, width, lines):
    assert wrapped(text, width) == lines


def test_a_long_word_is_measured_once_or_twice(monkeypatch):
    """A file may have a name of any length."""
    measured = 0

    def counted(text: str) -> int:
        nonlocal measured
        measured += len(text)
        return len(text)

    monkeypatch.setattr(wrapped_text, "cell_width", counted)
    assert len(wrapped("x" * 60_000, 20)) == 3000
    assert measured < 60_000 * 6
