"""Flags of TVM 0.18 are dropped, replaced or refused before the command line is read."""

from __future__ import annotations

import argparse
import io

import pytest

from conftest import ROOT
from usmp.driver import old_flags
from usmp.driver.errors import UsageError
from usmp.driver.old_flags import current_arguments
from usmp.driver.shown_warnings import shown_warnings
from usmp.driver.tvmc import main
from usmp.tvm018.old_name import NO_VALUE, OPTIONAL_TRUTH, VALUES, accepted, mapped, refused

ROWS = (
    accepted("--one", "one value is dropped", values=("a", "b")),
    refused("--one", "only a and b are known"),
    accepted("--switch", "a switch is dropped", arity=OPTIONAL_TRUTH),
    accepted("--none", "no value is dropped", arity=NO_VALUE),
    accepted("--several", "all values are dropped", arity=VALUES),
    mapped("--moved", ("--now={value}", "--more"), "now {value}", changes_meaning=True),
)


@pytest.fixture
def rows(monkeypatch):
    monkeypatch.setitem(old_flags._FLAGS, "compile", ROWS)


@pytest.mark.parametrize(
    ("written", "current"),
    [
        ("compile --one a FILE", "compile FILE"),
        ("compile --one=B FILE", "compile FILE"),
        ("--none compile FILE", "compile FILE"),
        ("compile --switch FILE", "compile FILE"),
        ("compile --switch 1 FILE", "compile FILE"),
        ("compile --switch=false FILE", "compile FILE"),
        ("compile --several a b -o OUT FILE", "compile -o OUT FILE"),
        ("compile --moved 3 FILE", "compile --now=3 --more FILE"),
        ("compile FILE -- --none", "compile FILE -- --none"),
        ("compile --unknown FILE", "compile --unknown FILE"),
        ("list --none", "list --none"),
    ],
)
def test_flags_are_dropped_or_replaced(rows, written, current):
    assert current_arguments(written.split())[0] == current.split()


def test_one_error_names_all_refused_flags(rows):
    with pytest.raises(UsageError) as error:
        current_arguments(["compile", "--one=c", "--switch", "--one", "d"])
    assert str(error.value).split("\n") == [
        "--one=c: only a and b are known",
        "--one=d: only a and b are known",
    ]


@pytest.mark.parametrize("quiet", [False, True])
def test_a_warning_of_another_meaning_is_not_silenced(quiet):
    stderr = io.StringIO()
    with shown_warnings(argparse.Namespace(quiet=quiet), stderr):
        accepted("--a", "changes nothing").tell("1")
        accepted("--b", "differs", changes_meaning=True).tell()
    note = [] if quiet else ["tvmc: note: --a=1: changes nothing"]
    assert stderr.getvalue().splitlines() == [*note, "tvmc: warning: --b: differs"]


def test_a_command_notes_old_flags_on_stderr(rows, tmp_path, capfd):
    archive = str(tmp_path / "module.tar")
    model = str(ROOT / "examples/digits/digits_int8.tflite")
    assert main(["compile", model, "--one", "a", "--none", "-o", archive]) == 0
    assert capfd.readouterr().err.splitlines() == [
        "tvmc: note: --one=a: one value is dropped",
        "tvmc: note: --none: no value is dropped",
    ]
