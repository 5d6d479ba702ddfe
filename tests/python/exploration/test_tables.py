"""A sweep for people: nothing in a name is taken for markup, formulas or commands."""

from __future__ import annotations

import csv
import io
import re
import shlex
from dataclasses import replace
from itertools import product

import pytest
from rich.console import Console

from support.sweeps import built, sweep
from usmp.exploration.document import document
from usmp.exploration.result import ESTIMATED, NOT_LINKED, REFUSED, UNKNOWN, Result
from usmp.exploration.sweep import Configuration, InputFile, Sweep
from usmp.exploration.tables import print_sweep, sweep_csv, sweep_markdown
from usmp.report.text_tables import markdown_text

HOSTILE = "=[b]|`<script>\x1b[2J"


def table(given: Sweep, width: int = 100) -> list[str]:
    text = io.StringIO()
    print_sweep(given, Console(file=text, width=width, highlight=False))
    return [line.rstrip() for line in text.getvalue().splitlines()]


@pytest.fixture
def hostile() -> Sweep:
    names = (("optimize", HOSTILE),)
    configurations = [
        Configuration(HOSTILE, names, ("a",), f"tvmc compile {HOSTILE}"),
        Configuration(None, names, ("b",), "tvmc"),
    ]
    results = {("a",): built(1, 1), ("b",): Result(REFUSED, HOSTILE)}
    return Sweep("1", [InputFile.of(HOSTILE, b"")], configurations, results=results)


def test_the_best_come_first():
    shown = table(sweep(built(9, 9), built(5, 1, 70), built(1, 5), None, max_ram_bytes=8))
    rows = [line.split() for line in shown if line[:3].strip().isdigit()]
    assert rows == [
        ["3", "1", "5", "1", "2", "yes"],
        ["2", "5", "1", "70", "1", "yes"],
        ["1", "9", "9", "1", "0", "no:", "limit"],
    ]
    assert shown[0] == "3 of 4 configurations of m.tflite"
    assert shown[-2:] == ["3: tvmc compile m --n=2", "2: tvmc compile m --n=1"]


def varied() -> Sweep:
    """All combinations of what is varied by default, with the commands of a long path."""
    options = {
        "use_workspace_io": "01",
        "optimize": ("ram", "speed"),
        "code": ("balanced",),
        "streaming": "10",
    }
    configurations, results = [], {}
    for number, values in enumerate(product(*options.values())):
        arguments = tuple(
            f"--pass-config=tir.usmp.{n}={v}" for n, v in zip(options, values, strict=True)
        )
        command = shlex.join(["tvmc", "compile", "/home/user/my models/it's.tflite", *arguments])
        pairs = tuple(zip(options, values, strict=True))
        configurations.append(Configuration(None, pairs, arguments, command))
        results[arguments] = built(123456 - number, 987654 + number, 9436280)
    return Sweep("1", [InputFile.of("m.tflite", b"")], configurations, results=results)


def test_what_is_the_same_in_all_rows_is_said_once():
    lines = table(varied(), 80)
    assert lines[1] == "The same in all: instructions 9436280, code=balanced"
    heading = next(line for line in lines if line.split()[:1] == ["#"])
    assert heading.split() == [
        "#",
        "RAM",
        "flash",
        "use_workspace_io",
        "optimize",
        "streaming",
        "best",
    ]


@pytest.mark.slow
def test_no_word_is_broken_and_no_line_is_too_long():
    def words(lines: list[str]) -> set[str]:
        return set(re.findall(r"[a-zA-Z\d]+", " ".join(lines)))

    given = varied()
    whole = words(table(given, 1000))
    for width in range(60, 121):
        lines = table(given, width)
        assert max(map(len, lines)) <= width
        assert words(lines) == whole, width


@pytest.mark.parametrize("width", [20, 60, 80, 1000])
def test_commands_can_be_pasted(width):
    given = varied()
    text = "\n".join(table(given, width)).replace("\\\n", " ")
    found = re.findall(r"^(\d+): (tvmc .*)$", text, re.MULTILINE)
    assert [int(number) for number, _ in found] == list(range(8, 0, -1))
    for number, command in found:
        assert shlex.split(command) == shlex.split(given.configurations[int(number) - 1].command)


def test_where_options_have_no_room_they_are_one_column():
    lines = table(varied(), 50)
    assert headings(lines) == ["#", "RAM", "flash", "configuration", "best"]
    assert lines[6].split() == ["8", "123449", "987661", "use_workspace_io=1", "yes"]
    assert [line.split() for line in lines[7:9]] == [["optimize=speed"], ["streaming=0"]]


def headings(lines: list[str]) -> list[str]:
    return next(line.split() for line in lines if line.split()[:1] == ["#"])


def test_how_flash_is_known_is_said():
    results = [
        built(1, 9, code_bytes=20),
        built(2, 9, code_bytes=10, code=ESTIMATED, compiler="cc 2"),
        built(3, 9, code_bytes=None, code=UNKNOWN, compiler=None, code_reason="cc is gone"),
        built(4, 9, code_bytes=11, code=NOT_LINKED, compiler="LLVM", code_reason="ld is gone"),
    ]
    shown = "\n".join(table(sweep(*results), 200))
    assert [word in shown for word in ("  29  ", " ~19  ", " >=9  ", " ~20  ")] == [True] * 4
    for sentence in (
        "Flash is constants and code (gcc 1) (1).",
        "Flash is constants and code as of this kind of host (cc 2), an estimate: name a core,",
        "Flash is constants alone, for cc is gone (3).",
        "Flash is constants and the code of operators (LLVM), an estimate without what is linked "
        "with them: ld is gone (4).",
    ):
        assert sentence in shown


def test_what_shared_code_costs_is_not_in_the_instructions():
    note = (
        "Estimated instructions leave out what shared code costs (code=small: up to about 40 % "
        "more), so no configuration is dominated by one with more shared code; measure with tvmc "
        "run --board."
    )
    balanced, small = built(1, 2, 70, shared_code="balanced"), built(1, 1, 70, shared_code="small")
    lines = table(sweep(balanced, small), 200)
    assert [line.split()[2:3] for line in lines if line[:3].strip().isdigit()] == [[">=70"], ["70"]]
    assert note in lines
    assert note not in table(sweep(balanced, replace(balanced, workspace_bytes=2)), 200)
    unknown = [replace(result, instructions=None) for result in (balanced, small)]
    assert note not in table(sweep(*unknown), 200)


def test_options_that_are_the_same_are_said():
    given = sweep(built(1, 1), built(2, 2))
    first, second = given.configurations
    given.configurations = [replace(first, name="one", duplicates=("two", "three")), second]
    note = "1 (one optimize=0) is also two, three: the options are the same."
    assert note in table(given)
    assert [row["duplicates"] for row in document(given)["configurations"]] == [
        ["two", "three"],
        [],
    ]


def test_nothing_is_built():
    lines = table(sweep(Result(REFUSED, "too odd"), Result(REFUSED, "too even")))
    assert lines == [
        "2 of 2 configurations of m.tflite",
        "1 (optimize=0): refused: too odd",
        "2 (optimize=1): refused: too even",
    ]


def test_hostile_names_on_a_terminal(hostile):
    text = "\n".join(table(hostile))
    assert "\x1b" not in text
    assert "=[b]|`<script>\\x1b[2J" in text


def test_hostile_names_in_csv(hostile):
    first, second = csv.DictReader(io.StringIO(sweep_csv(hostile)))
    assert first["name"] == first["optimize"] == second["reason"] == "'=[b]|`<script>\\x1b[2J"
    assert (first["number"], first["status"], first["ram_bytes"]) == ("1", "best", "1")
    assert second["ram_bytes"] == ""


def test_hostile_names_in_markdown(hostile):
    text = sweep_markdown(hostile)
    name = "=[b]|`<script>\x1b[2J"
    escaped = markdown_text(name)
    assert not set("[|`<") & set(escaped.replace("<!-- -->", ""))
    assert f"| 1 | 1 | 1 | 1 | {escaped} {markdown_text(f'optimize={name}')} | best |" in text
    assert f"| 2 | {markdown_text(f'optimize={name}')} | refused | {escaped} |" in text
    assert "1. `` tvmc compile =[b]|`<script>\\x1b[2J ``" in text


def test_json_has_every_figure_and_the_verdict():
    data = document(sweep(built(2, 1), built(2, 2), None))
    assert (data["complete"], data["compared"]) == (
        False,
        ["ram_bytes", "flash_bytes", "instructions"],
    )
    first, second = data["configurations"]
    assert (first["status"], second["status"]) == ("best", "dominated by 1")
    assert (second["number"], second["dominated_by"], second["is_best"]) == (2, 1, False)
    assert (second["ram_bytes"], second["flash_bytes"]) == (2, 2)
