"""Tables on a terminal and in Markdown, with names that try to be more than names."""

from __future__ import annotations

import html
import io
import re

import pytest
from rich.console import Console

from usmp.report.text_tables import (
    TextTable,
    markdown_name,
    markdown_table,
    markdown_text,
    print_table,
)

HOSTILE = [
    "a|b",
    "`code`",
    "<img src=x onerror=alert(1)>",
    "[link](http://example.com)",
    "![](http://example.com/x.png)",
    "@octocat",
    "#1",
    "**bold** _em_ ~~no~~",
    "a\\|b",
    "</code></details><script>",
    "line\nbreak",
    "&lt;",
    "www.example.com",
    "--- | ---",
]


@pytest.mark.parametrize("escape", [markdown_name, markdown_text])
def test_no_character_of_a_name_is_markdown_or_html(escape):
    for name in HOSTILE:
        written = escape(name).replace("<code>", "").replace("</code>", "").replace("<!-- -->", "")
        assert not set(re.sub(r"&#\d+;", "", written)) & set("|`<>[]!*_~\\&@#\n"), name
        assert "." not in re.sub(r"&#\d+;", "", written).rstrip("."), name
        assert html.unescape(written) == name.replace("\n", "\\n")


def test_a_mention_is_broken_up():
    assert markdown_text("@octocat") == "&#64;<!-- -->octocat"
    assert markdown_text("see #12") == "see &#35;<!-- -->12"


def table(*rows):
    return TextTable("Title", ("name", "kind", "bytes"), rows, numbers=frozenset({2}))


def test_a_row_of_markdown_has_as_many_cells_as_the_heading():
    lines = markdown_table(table(["a|b", "x", "1"], ["", "y", "2"])).splitlines()
    assert lines == [
        "| name | kind | bytes |",
        "| --- | --- | ---: |",
        "| <code>a&#124;b</code> | x | 1 |",
        "|  | y | 2 |",
    ]


@pytest.mark.parametrize("width", [40, 80, 200])
def test_lines_are_no_wider_than_the_terminal_and_numbers_are_whole(width):
    text = io.StringIO()
    console = Console(file=text, width=width, color_system=None, force_jupyter=False)
    print_table(table(["x" * 300, "workspace", "123456789"], ["\x1b[31m", "a", "7"]), console)
    lines = text.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    assert sum("123456789" in line for line in lines) == 1
    assert "\x1b" not in text.getvalue()
    assert "\\x1b[31m" in text.getvalue()
