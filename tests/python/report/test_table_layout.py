"""Which widths the columns of a table have, and what goes first where a terminal is narrow."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from usmp.report.table_layout import PAGE
from usmp.report.text_tables import TextTable, print_list, print_table, print_text, printed_text

PROSE = "written here; still read by operators"
NAME = "fused_conv2d_add_relu" * 5


def printed(table: TextTable, width: int | None, encoding: str = "utf-8") -> list[str]:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    print_table(table, Console(file=stream, width=width, color_system=None))
    stream.seek(0)
    return stream.read().splitlines()


LIVE = TextTable(
    "Live",
    ("buffer", "lower bound", "why"),
    [["conv2d_ring", "32", PROSE], ["add", "4", "output"]],
    numbers=frozenset({1}),
)


NAMES = TextTable(
    "",
    ("operator", "what", "why", "code"),
    [[NAME, "changed", f"{PROSE}, and then by the application", "5 -> 1358"]],
    numbers=frozenset({3}),
)


@pytest.fixture(params=[LIVE, NAMES], ids=["narrow", "wide"])
def table(request) -> TextTable:
    return request.param


def test_a_table_is_the_same_on_terminals_in_files_and_in_logs(table, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    log = printed(table, None)
    assert log == printed(table, 160) == printed(table, 1000)
    assert printed_text(lambda console: print_table(table, console)).splitlines() == log
    if table is LIVE:
        assert log == printed(table, PAGE)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert log == printed(table, None)


def test_names_and_numbers_make_a_table_wider_than_a_page_and_sentences_do_not(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    lines = printed(NAMES, None)[3:]
    assert lines[0] == f" {NAME}  changed  written here; still read by      5 -> 1358"
    assert [line.strip() for line in lines[1:]] == ["operators, and then by the", "application", ""]


def test_a_narrow_column_has_several_words_a_line():
    assert [line[31:47].strip() for line in printed(NAMES, 60)[3:-2]] == [
        "written here;",
        "still read by",
        "operators, and",
        "then by the",
        "application",
    ]


def test_a_wide_terminal_has_a_line_a_row():
    assert printed(LIVE, 80) == [
        "Live",
        "",
        " buffer       lower bound  why",
        f" {'─' * 63}",
        f" conv2d_ring           32  {PROSE}",
        " add                    4  output",
        "",
    ]


def test_sentences_have_several_lines_first_then_headings_then_gaps_are_narrow():
    assert printed(LIVE, 56)[2:6] == [
        " buffer       lower bound  why",
        f" {'─' * 54}",
        " conv2d_ring           32  written here; still read by",
        "                           operators",
    ]
    assert printed(LIVE, 46)[2:4] == [
        "                lower",
        " buffer         bound  why",
    ]
    assert printed(LIVE, 42)[2:4] == [
        "             lower",
        " buffer      bound why",
    ]


def test_names_go_on_behind_what_joins_their_parts():
    lines = printed(LIVE, 26)
    assert [line.split()[0] for line in lines[5:7]] == ["conv2d_", "ring"]


@pytest.mark.slow
def test_no_word_is_broken_and_no_line_is_too_long():
    name = "StatefulPartitionedCall/sequential/conv2d_7/BiasAdd;bn/moving_variance"
    table = TextTable(
        f"Live at the peak of {name}",
        ("buffer", "kind", "peak bytes", "change", "offset", "overwrites"),
        [[name, "intermediate", "123456 -> 7890", "+12 (+0.1 %)", "7 -> 8", f"8 of 9 of {name}"]],
        names=frozenset({0, 5}),
        numbers=frozenset({2, 3, 4}),
        footer=("all", "", "12345", "", "", ""),
    )
    whole = words(printed(table, 1000))
    for width in range(60, 121):
        lines = printed(table, width)
        assert max(map(len, lines)) <= width
        assert words(lines) == whole, width


def words(lines: list[str]) -> set[str]:
    """Those that names and sentences are made of."""
    return set(re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", "\n".join(lines)))


def test_what_is_optional_goes_and_one_line_names_lose_their_middle():
    table = TextTable(
        "",
        ("operator", "takes", "cycles"),
        [["fused_conv2d_add_relu", "int8[1,25,5,64]", "123456"]],
        numbers=frozenset({2}),
        one_line=frozenset({0}),
        optional=(1,),
    )
    assert printed(table, 60)[-2] == " fused_conv2d_add_relu  int8[1,25,5,64]  123456"
    assert printed(table, 44)[-2] == " fused_con…_add_relu int8[1,25,5,64] 123456"
    assert printed(table, 28)[-2] == " fused_con…_add_relu 123456"


def test_a_table_without_rows_says_so():
    assert printed(TextTable("operators", ("a",), []), 80) == ["operators: none"]
    assert printed(TextTable("", ("a",), []), 80) == []


def test_an_encoding_without_these_characters_has_those_of_ascii():
    table = TextTable("", ("a",), [["x" * 20]], one_line=frozenset({0}))
    assert printed(table, 14, "ascii")[1:] == [" a", f" {'-' * 12}", " xxxxxx~xxxxx", ""]


def test_text_and_lists_break_no_word():
    text = io.StringIO()
    console = Console(file=text, width=12, color_system=None)
    print_text("[b]tir.usmp.debug=on is so", console)
    print_list(["one two three", "four"], console)
    assert text.getvalue().splitlines() == [
        "[b]tir.usmp.",
        "debug=on is",
        "so",
        "- one two",
        "  three",
        "- four",
    ]
