"""Names that try to become code: in C, Make, JSON, Python, and on a terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from random import Random

from support.compilers import run_compiler

CANARY = "canary"
"""A token that is in no compiled text unless a name became code."""

_PIECES = (
    *(
        "*",
        "/",
        "\\",
        "\n",
        "\r",
        "*/",
        "/*",
        "//",
        "*\\\n/",
        "??/\n",
        "??/",
        "??=",
        "??'",
        '"',
        "'",
    ),
    *("%", "%s", "%n", "%%", "$(", "`", "{", "}", ";", "#", "<", ">", ",", "(", ")", "@", "=", "&"),
    *("\0", "\x07", "\x08", "\x1b[31m", "\x1b]0;x\x07", "\x7f", "\x85", "\x9b2J", "\t", "\v", "\f"),
    *(
        "\u200b",
        "\u202e",
        "\u2066",
        "\u2069",
        "\u2028",
        "\ufeff",
        "\U000e0001",
        "\xa0",
        "[red]",
        "[/]",
    ),
    *(
        "é",
        "日本",
        "ß",
        "\U0001f600",
        "e\u0301",
        "a",
        "A",
        "x",
        "X",
        "_",
        "__",
        "0",
        "1",
        " ",
        "",
        "..",
        ".",
    ),
    *(
        "int",
        "class",
        "errno",
        "NAN",
        "unix",
        "__FILE__",
        "_Static_assert",
        "defined",
        "run",
        "inputs",
    ),
    *("\n#error live\n", "\n#include <canary>\n", "/*" * 5, "*/" * 5, "block/" * 60, "q" * 300),
    "*/ __attribute__((constructor)) void canary(void) {} /*",
    "*\\\n/ int canary = 1; /\\\n*",
    "; int canary;",
    '"; import os; canary = 1 #',
    "\ncanary = 1\n",
)


def hostile_name(random: Random) -> str:
    """A name of some pieces; most are short."""
    return "".join(random.choices(_PIECES, k=random.choice([1, 1, 2, 3, 5, 9]))) or "x"


def preprocessed(text: str, language: str, standard: str) -> str:
    """The text as the compiler sees it: lines joined, trigraphs replaced, without comments."""
    command = ["gcc", "-x", language, f"-std={standard}", "-trigraphs", "-w", "-E", "-P", "-"]
    without_includes = re.sub(r"^#include <.*>$", "", text, flags=re.MULTILINE)
    return run_compiler(command, input=without_includes).stdout


def check_c(text: str, language: str = "c", standard: str = "c99") -> None:
    """The text is plain ASCII, compiles without a warning, and has nothing of the canary in it."""
    assert re.fullmatch(r"[\x20-\x7e\n]*", text)
    without_strings = re.sub(r'"(\\.|[^"\\\n])*"', '""', preprocessed(text, language, standard))
    assert not re.search(rf"\b{CANARY}\b", without_strings)
    strict = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-trigraphs", "-Wno-unused-function"]
    run_compiler(
        ["gcc", "-x", language, f"-std={standard}", *strict, "-fsyntax-only", "-"], input=text
    )


def check_files(files: Mapping[str, bytes]) -> None:
    """The texts of an archive, but for its C sources, which need their headers."""
    for path, content in files.items():
        assert re.fullmatch(r"[A-Za-z0-9_./]+", path)
        assert max(map(len, path.split("/"))) < 150
        if path.endswith(".o"):
            continue
        text = content.decode()
        if path.endswith((".h", ".c")):
            assert re.fullmatch(r"[\x20-\x7e\n]*", text)
        elif path.endswith(".tir"):
            check_python(text)
        elif path.endswith(".json"):
            assert re.fullmatch(r"[\x20-\x7e\n]*", text)
            json.loads(text)


def check_python(text: str) -> None:
    """The text is plain ASCII, one class of functions, and has nothing of the canary in it."""
    assert re.fullmatch(r"[\x20-\x7e\n]*", text)
    without_strings = re.sub(r'"(\\.|[^"\\\n])*"', '""', text)
    assert not re.search(rf"\b{CANARY}\b", without_strings)
    lines = [line for line in without_strings.split("\n") if line and not line.startswith("#")]
    assert [line for line in lines if not line.startswith("    ")] == [
        "@I.ir_module",
        "class Module:",
    ]


def check_terminal(text: str) -> None:
    """Nothing in the text controls a terminal or turns the direction of writing."""
    check_lines(text.split("\n"))


def check_lines(lines: Iterable[str]) -> None:
    """Each line is printable."""
    for line in lines:
        assert line.isprintable(), ascii(line)
