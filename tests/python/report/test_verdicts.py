"""Whether a model fits: what the table, Markdown and JSON say."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from usmp.report.verdicts import (
    Need,
    Verdict,
    markdown_verdicts,
    print_verdicts,
    size_text,
    verdicts_json,
)

FITS = Verdict("roomy", "cortex-m4", Need({"workspace": 900, "stack": 100}, 1024), Need({}, None))
NOT = Verdict(
    "<tiny>|",
    "",
    Need({"workspace": 1025}, 1024, is_whole=False),
    Need({"constants": 10, "code": 20}, 25),
    notes=["Code not counted."],
)


def printed(*verdicts):
    text = io.StringIO()
    print_verdicts("Fits?", verdicts, Console(file=text, width=100, color_system=None))
    return [" ".join(line.split()) for line in text.getvalue().splitlines() if line.strip()]


def test_what_fits_needs_no_more_than_there_is():
    assert (FITS.fits, FITS.ram.needed, FITS.ram.missing) == (True, 1000, 0)
    assert (NOT.fits, NOT.ram.missing, NOT.flash.missing) == (False, 1, 5)
    assert not Verdict("a", "", Need({}, 1), Need({}, 1), why_not="the linker says no").fits
    assert Verdict("a", "", Need({"x": 5}, 5), Need({"x": 5}, None)).fits


def test_a_table_row_says_what_is_missing():
    lines = printed(FITS, NOT)
    assert "roomy cortex-m4 yes 1000 of 1K 0" in lines
    assert "<tiny>| no 1025+ of 1K 30 of 25 RAM 1, flash 5" in lines
    assert lines[-1] == "<tiny>|: Code not counted."


def test_notes_of_all_and_of_many():
    many = [Verdict(f"b{i}", "", Need({}, 1), Need({}, 1), notes=["one"]) for i in range(6)]
    assert printed(*many)[-1] == "one"
    assert printed(*many, FITS)[-1] == "b0, b1, b2 and 3 others: one"


def test_markdown_has_a_row_for_each():
    lines = markdown_verdicts("Does a*b fit?", [FITS, NOT]).splitlines()
    assert lines[0] == "**Does a&#42;b fit&#63;**"
    assert lines[4] == "| <code>roomy</code> | cortex-m4 | yes | 1000 of 1K | 0 |  |"
    assert lines[5].startswith("| <code>&#60;tiny&#62;&#124;</code> |  | no | 1025+ of 1K |")
    assert lines[7] == "- &#60;tiny&#62;&#124;: Code not counted."


def test_the_document():
    document = json.loads(verdicts_json("net.tflite", False, [NOT]))
    assert (document["schema"], document["version"], document["fits"]) == ("usmp.check", 1, False)
    (target,) = document["targets"]
    assert target["flash"] == {
        "needed_bytes": 30,
        "available_bytes": 25,
        "missing_bytes": 5,
        "parts": {"constants": 10, "code": 20},
        "all_counted": True,
    }
    assert not target["ram"]["all_counted"]


def test_round_sizes():
    assert [size_text(n) for n in (0, 1, 1024, 1536, 98304, 1 << 20, 3 << 19)] == [
        "0",
        "1",
        "1K",
        "1536",
        "96K",
        "1M",
        "1536K",
    ]


@pytest.mark.parametrize(
    ("ram", "flash", "why_not", "fits"),
    [
        ((8, 8), (9, 9), "", True),
        ((9, 8), (9, 9), "", False),
        ((8, 8), (10, 9), "", False),
        ((9, 8), (10, 9), "", False),
        ((8, 8), (9, 9), "its compiler is missing", False),
    ],
)
def test_a_model_fits_with_what_is_there_of_both(ram, flash, why_not, fits):
    needs = (Need({"one": 1, "rest": needed - 1}, there) for needed, there in (ram, flash))
    assert Verdict("board", "", *needs, why_not).fits == fits


def test_memory_that_nobody_asked_for_is_enough():
    assert Verdict("board", "", Need({"all": 9}, None), Need({}, None)).fits
