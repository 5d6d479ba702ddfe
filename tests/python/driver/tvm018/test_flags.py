"""Flags of TVM 0.18 are dropped, replaced or refused before the command line is read."""

from __future__ import annotations

import argparse
import io
import warnings

import pytest

from support.tflite_file import one_operator_model
from usmp.driver.errors import UsageError
from usmp.driver.terminal.shown_warnings import shown_warnings
from usmp.driver.tvm018 import flags as old_flags
from usmp.driver.tvm018.flags import current_arguments
from usmp.driver.tvmc import main
from usmp.support.model_warning import ModelWarning
from usmp.tvm018.old_name import (
    COMMA_LIST,
    NO_VALUE,
    OPTIONAL_TRUTH,
    VALUES,
    accepted,
    mapped,
    refused,
)

ROWS = (
    accepted("--one", "one value is dropped", values=("a", "b")),
    refused("--one", "only a and b are known"),
    accepted("--switch", "a switch is dropped", arity=OPTIONAL_TRUTH),
    accepted("--none", "no value is dropped", arity=NO_VALUE),
    accepted("--several", "all values are dropped", arity=VALUES),
    accepted("-v", "a letter is dropped, however often it is written", arity=NO_VALUE),
    mapped("-L", "--level={value}", "a letter has a value"),
    refused("--kind-*", "there is no such kind"),
    accepted("--list", "of a list each value is looked up", values=("a",), arity=COMMA_LIST),
    mapped("--list", "--not-{value}", "now not {value}", values=("b",), arity=COMMA_LIST),
    refused("--list", "only a and b are known", arity=COMMA_LIST),
    accepted("--format", "the ending says so", values=("x",), beside="*.x"),
    refused("--format", "no ending says so"),
    accepted("--without", "there is no FILE", beside="!file"),
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
        ("compile -v FILE -vvv", "compile FILE"),
        ("compile -va FILE", "compile -va FILE"),
        ("compile --none=1 FILE", "compile --none=1 FILE"),
        ("compile -L3 -L=4 -L 5 FILE", "compile --level=3 --level=4 --level=5 FILE"),
        ("compile --list a,b, FILE", "compile --not-b FILE"),
        ("compile --format x M.X", "compile M.X"),
        ("compile --without x", "compile"),
        ("compile --without x FILE", "compile --without x FILE"),
        ("compile --unlisted c FILE", "compile --unlisted c FILE"),
        ("--config compile compile --one a", "--config compile compile"),
        ("compile --unknown FILE", "compile --unknown FILE"),
        ("list --none", "list --none"),
        ("-v plan FILE -vv", "plan FILE"),
        ("--config default -v info FILE --verbose", "info FILE"),
        ("--config=default explore FILE --config a=-q", "explore FILE --config a=-q"),
    ],
)
def test_flags_are_dropped_or_replaced(rows, written, current):
    assert current_arguments(written.split())[0] == current.split()


def test_a_value_that_no_row_has_stays_where_it_is(monkeypatch):
    row = refused("--executor", "there is no other", values=("graph",))
    monkeypatch.setitem(old_flags._FLAGS, "compile", (row,))
    arguments = ["compile", "--executor", "aot", "FILE"]
    assert current_arguments(arguments) == (arguments, [])


@pytest.mark.parametrize("written", [["--one"], ["--one", "--none"], ["-L"], ["--list"]])
def test_a_flag_without_its_value(rows, written):
    with pytest.raises(UsageError) as error:
        current_arguments(["compile", *written])
    assert str(error.value) == (
        f"argument {written[0]}: expected one argument. See tvmc compile --help"
    )


def test_a_row_beside_another_argument_is_for_no_other_line(rows):
    with pytest.raises(UsageError, match=r"^--format=x: no ending says so$"):
        current_arguments(["compile", "--format=x", "M.y"])


@pytest.mark.parametrize("line", ["M.y -o M.x", "--output=M.x M.y", "M.y --pass-config=M.x"])
def test_a_row_beside_a_file_is_for_no_file_that_is_written(rows, line):
    with pytest.raises(UsageError, match=r"^--format=x: no ending says so$"):
        current_arguments(["compile", "--format=x", *line.split()])


def test_one_error_names_what_is_refused_in_values_too(monkeypatch):
    row = refused("--flag", "there is none")
    monkeypatch.setitem(old_flags._FLAGS, "compile", (row, *old_flags._FLAGS["compile"]))
    settings = ["--pass-config=tir.add_lower_pass = 1", "--pass-config", "relay.ext.mrvl.options=x"]
    settings += ["--pass-config", "tir.noalias=1", "--pass-config=damaged"]
    target = "--target=ethos-u -a=1, c -executor=graph -keys=a,hexagon -libs=bnns -link-params=0"
    json = '--target={"kind": "c", "executor": "graph"}'
    names = ["tir.add_lower_pass=1", "relay.ext.mrvl.options=x"]
    of_target = ['target "ethos-u"', "-executor=graph", "-link-params=0"]
    for line, expected in (
        ([*settings, target], [*names, *of_target]),
        (["--flag=1", *settings], ["--flag=1", *names]),
        (["--flag=1", target, json], ["--flag=1", *of_target]),
        (["--flag=1", target, "--extension=x.py"], ["--flag=1", *of_target[1:]]),
        (
            ["--flag=1", "--target-c-num-cores=2", "--target-llvm-num-cores", "4"],
            ["--flag=1", "--target-llvm-num-cores=4"],
        ),
        # One reason of a flag and of a setting.
        (
            ["--tuning-records=x", "--pass-config=relay.backend.use_meta_schedule=1"],
            ["--tuning-records=x, relay.backend.use_meta_schedule=1"],
        ),
    ):
        with pytest.raises(UsageError) as error:
            current_arguments(["compile", *line])
        lines = str(error.value).split("\n")
        assert [each.partition(": ")[0] for each in lines] == expected
    # One of them alone is said where it is read.
    for line in (settings, [target]):
        assert current_arguments(["compile", *line]) == (["compile", *line], [])


def test_a_row_of_all_names_that_begin_so(rows):
    with pytest.raises(UsageError, match=r"^--kind-a=1, --kind-b=2: there is no such kind$"):
        current_arguments(["compile", "--kind-a=1", "--kind-b", "2"])


def test_a_letter_is_written_with_its_value():
    assert accepted("-L", "a reason").sentence("3") == "-L 3: a reason"
    assert accepted("-L", "a reason").sentence() == "-L: a reason"


def test_one_error_names_all_refused_flags(rows):
    with pytest.raises(UsageError) as error:
        current_arguments(["compile", "--one=c", "--switch", "--format=y", "--one", "d"])
    assert str(error.value).split("\n") == [
        "--one=c, --one=d: only a and b are known;",
        "--format=y: no ending says so",
    ]


@pytest.mark.parametrize("quiet", [False, True])
def test_a_warning_of_another_meaning_is_not_silenced(quiet):
    stderr = io.StringIO()
    with shown_warnings(argparse.Namespace(quiet=quiet), stderr):
        accepted("--a", "changes nothing").tell("1")
        accepted("--b", "differs", changes_meaning=True).tell()
    note = [] if quiet else ["tvmc: note: --a=1: changes nothing"]
    assert stderr.getvalue().splitlines() == [*note, "tvmc: warning: --b: differs"]


def test_an_error_follows_no_notes():
    """But warnings about the model, which may be why."""
    stderr = io.StringIO()
    with pytest.raises(UsageError), shown_warnings(argparse.Namespace(), stderr):
        accepted("--a", "changes nothing").tell("1")
        accepted("--b", "differs", changes_meaning=True).tell()
        warnings.warn("x", ModelWarning, stacklevel=1)
        raise UsageError
    assert stderr.getvalue() == "tvmc: warning: x\n"


def test_a_command_notes_old_flags_on_stderr(rows, tmp_path, capfd):
    archive = str(tmp_path / "module.tar")
    model = tmp_path / "small.tflite"
    model.write_bytes(one_operator_model())
    assert main(["compile", str(model), "--one", "a", "--none", "-o", archive]) == 0
    assert capfd.readouterr().err.splitlines() == [
        "tvmc: note: --one=a: one value is dropped",
        "tvmc: note: --none: no value is dropped",
    ]
