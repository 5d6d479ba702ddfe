"""Text of models made plain for a terminal."""

import pytest

from usmp.support.text.plain_text import escaped, printable, shortened, shown


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("serving/x:0", "serving/x:0"),
        ("été 日本 ß €", "été 日本 ß €"),
        ("a\\b", "a\\b"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x9b2J\x85\x7f", "\\x9b2J\\x85\\x7f"),
        ("a\r\nb\tc\0", "a\\r\\nb\\tc\\x00"),
        ("\u202eabc\u2066", "\\u202eabc\\u2066"),
        ("\u200b\ufeff\u2028\xa0", "\\u200b\\ufeff\\u2028\\xa0"),
        ("\U000e0001\ud800", "\\U000e0001\\ud800"),
    ],
)
def test_what_is_shown(text, plain):
    assert printable(text) == plain
    assert shown(text) == plain


def test_the_middle_of_a_long_name_is_left_out():
    assert shown("a" * 150 + "b" * 150) == "a" * 131 + "..." + "b" * 66
    assert shown("x" * 200) == "x" * 200
    assert shortened("0123456789", 9) == "012...789"


def test_what_else_is_escaped():
    """Of characters that could be shown, some callers keep only these."""
    assert escaped("a b", str.isalnum) == "a\\x20b"
    assert escaped("aé€", str.isascii) == "a\\xe9\\u20ac"


def test_escapes_count():
    assert len(shown("\x1b" * 1000)) == 200
