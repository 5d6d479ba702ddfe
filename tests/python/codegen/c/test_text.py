"""Names of models in comments and string literals of C."""

import subprocess

import pytest

from support.compilers import run_compiler
from usmp.codegen.c.text import c_string, comment, comment_text, quoted

HOSTILE = [
    "a*\\\n/b",
    "*/",
    "/*",
    "??/\n",
    "\\",
    "\r",
    "\u2028",
    "\u202e",
    "\x1b[2J",
    "\0",
    "\ud800",
]


def test_what_is_kept_in_comments():
    cases = [
        ("serving_default_x:0; a/b, 100 %", "serving_default_x:0; a/b, 100 %"),
        ("a*/b", "a\\x2a/b"),
        ("/**", "/\\x2a\\x2a"),
        ("??/", "\\x3f\\x3f/"),
        ("a\\", "a\\x5c"),
        ("a\nb\x1b", "a\\nb\\x1b"),
        ("été", "\\xe9t\\xe9"),
        ("\u202e日\U0001f600", "\\u202e\\u65e5\\U0001f600"),
    ]
    assert [comment_text(text) for text, _ in cases] == [kept for _, kept in cases]


def test_a_comment_for_doxygen():
    assert comment("One", "two", params=[("x", "int8")]) == (
        "/*!\n * \\brief One\n * two\n * \\param x int8\n */"
    )


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_ends_a_comment_or_adds_a_line(text):
    written = comment(text, text, params=[("x", text)])
    lines = written.split("\n")
    assert written.count("*/") == written.count("/*") == 1
    assert len(lines) == 5
    assert all(line.isascii() and line.isprintable() for line in lines)
    assert "??" not in written and "\\\n" not in written


def test_lines_of_comments_are_no_longer_than_c_reads():
    assert len(comment_text("x" * 100_000)) == 2000
    assert len(comment_text("\U0001f600" * 100_000)) == 2000


def test_the_middle_of_a_long_name_is_left_out():
    name = "first/" + "x" * 1000 + "/last"
    assert len(quoted(name)) == 202
    assert quoted(name).startswith('"first/xx')
    assert "...xx" in quoted(name)
    assert quoted(name).endswith('xx/last"')
    assert quoted("x" * 200) == '"' + "x" * 200 + '"'


@pytest.mark.cc
@pytest.mark.parametrize("text", ["plain", 'a"b', "??/", "a\\n", "été\n1", "\x007", "%s%n"])
def test_strings_are_what_c_makes_of_their_literals(tmp_path, text):
    source = f"#include <stdio.h>\nint main(void) {{ static const char s[] = {c_string(text)};\n"
    source += "fwrite(s, 1, sizeof(s) - 1, stdout); return 0; }\n"
    (tmp_path / "x.c").write_text(source, encoding="ascii")
    run_compiler(["gcc", "-std=c99", "x.c", "-o", "x"], cwd=tmp_path)
    done = subprocess.run([tmp_path / "x"], capture_output=True, check=True)
    assert done.stdout == text.encode()
