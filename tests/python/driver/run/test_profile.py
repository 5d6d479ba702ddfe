"""`tvmc compile --profile` and `tvmc run --profile`."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace

import pytest
from rich.console import Console

from support.board_programs import require_board
from support.commands import message_of
from usmp import load_archive
from usmp.boards.board import board_named
from usmp.driver.run.profile import print_profile
from usmp.runtime.operator_profile import OperatorProfile, OperatorTensor, Profile
from usmp.runtime.reference import REFERENCE

pytestmark = pytest.mark.usefixtures("one_session")

X = OperatorTensor("int8", (1, 4))
PROFILE = Profile(
    "default",
    "main",
    "ns",
    7,
    (
        OperatorProfile(3, "main", ("conv",), ("conv2d 3x3 s2", "add"), (X, X), (X,), 1000, 3000.0),
        OperatorProfile(4, "main", ("[b]mine",), ("accel",), (X,), (X,), None, 1000.0),
        OperatorProfile(5, "main", ("mean",), ("mean",), (X,), (X,), 0, 0.0),
    ),
)


def text(profile, width):
    stream = io.StringIO()
    print_profile(profile, Console(file=stream, width=width, highlight=False))
    return stream.getvalue()


def printed(profile, width=150):
    return [line.split() for line in text(profile, width).splitlines() if line.strip(" ─")]


def test_the_table_of_times():
    assert printed(PROFILE) == [
        ["Operators", "of", "entry", '"main"'],
        ["function", "computes", "takes", "gives", "MACs", "time", "[us]", "share", "per", "MAC"],
        "3 conv conv2d 3x3 s2 + add int8[1,4], int8[1,4] int8[1,4] 1000 3.00 75.0% 3.000".split(),
        "4 [b]mine accel int8[1,4] int8[1,4] ? 1.00 25.0% -".split(),
        "5 mean mean int8[1,4] int8[1,4] 0 0.00 0.0% -".split(),
        ["all", "at", "least", "1000", "4.00", "-"],
        "Times are medians of 7 runs; per MAC they are nanoseconds.".split(),
    ]


def test_the_table_of_instructions():
    counted = Profile("default", "main", "instructions", 1, PROFILE.operators[:1])
    assert printed(counted)[1:] == [
        "function computes takes gives MACs instructions share per MAC".split(),
        "3 conv conv2d 3x3 s2 + add int8[1,4], int8[1,4] int8[1,4] 1000 3000 100.0% 3.00".split(),
        ["all", "1000", "3000", "3.00"],
    ]


def test_the_table_names_operators_of_the_file():
    of_file = ({"index": 2, "type": "Conv"}, {"index": 1, "type": "DequantizeLinear"})
    first, *others = PROFILE.operators
    operators = (replace(first, model_operators=of_file), *others)
    named = Profile("default", "main", "ns", 7, operators)
    lines = printed(named)
    assert lines[1][:6] == ["operator", "of", "the", "model", "function", "computes"]
    assert lines[2][:5] == "3 2 Conv conv conv2d".split()
    assert lines[3][:3] == ["4", "[b]mine", "accel"]
    # The number in the file is the last to go.
    assert ["3", "2", "Conv", "1000", "3.00", "75.0%", "3.000"] in printed(named, 51)


def test_a_profile_without_operators():
    assert printed(Profile("default", "main", "instructions", 1, ()))[-1] == ["all", "0", "0", "-"]


LONG = Profile(
    "default",
    "main",
    "cycles",
    1,
    (
        OperatorProfile(
            12,
            "main",
            ("fused_depthwise_conv2d_add_clip_requantize_3",),
            ("depthwise_conv2d 3x3 s2", "add"),
            (OperatorTensor("int8", (1, 25, 25, 64)),),
            (OperatorTensor("int8", (1, 13, 13, 64)),),
            12345678,
            123456789.0,
        ),
    ),
)


@pytest.mark.parametrize(
    ("width", "headings"),
    [
        (60, ["function", "MACs", "cycles", "share", "MAC"]),
        (80, ["function", "computes", "MACs", "cycles", "share", "MAC"]),
        (100, ["function", "computes", "gives", "MACs", "cycles", "share", "MAC"]),
        (120, ["function", "computes", "takes", "gives", "MACs", "cycles", "share", "MAC"]),
    ],
)
def test_on_a_narrow_terminal_names_lose_their_middle_and_columns_go(width, headings):
    lines = printed(LONG, width)
    assert headings in lines
    assert max(len(line) for line in text(LONG, width).splitlines()) <= width
    (row,) = [line for line in lines if line[0] == "12"]
    assert re.fullmatch("fused_.*….*_3", row[1])
    assert row[-3:] == ["123456789", "100.0%", "10.00"]


def test_a_pipe_has_all_columns_unless_the_width_is_said(capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    print_profile(LONG)
    assert "fused_depthwise_conv2d_add_clip_requantize_3" in capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", "80")
    print_profile(LONG)
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


@pytest.mark.slow
@pytest.mark.cc
def test_a_run_on_this_host(tvmc, small_digits_model):
    assert tvmc("compile", small_digits_model, "--profile", "-o", "model.tar").status == 0
    outcome = tvmc("run", "model.tar", "--profile")
    lines = outcome.stdout.splitlines()
    assert (outcome.status, lines[0]) == (0, "probabilities: int8[1, 10]")
    rows = [line.split() for line in lines if "fully_connected" in line]
    operator = "0 RESHAPE, 1 FULLY_CONNECTED fully_connected fully_connected"
    assert [row[:10] for row in rows] == [f"0 {operator} int8[1,64] int8[1,10] 640".split()]
    written = tvmc(
        "run", "model.tar", "--profile-json", "profile.json", "--report", "map.json", "-q"
    )
    assert written.stdout.splitlines() == lines[:2]
    with open("profile.json") as file, open("map.json") as map_file:
        profile, drawn = json.load(file), json.load(map_file)
    assert (profile["unit"], profile["macs"], len(profile["operators"])) == ("ns", 640, 2)
    measured = [operator["measured"] for operator in drawn["operators"]]
    assert [m["cost"] for m in measured] == [o["cost"] for o in profile["operators"]]
    assert {(m["unit"], m["runs"]) for m in measured} == {("ns", profile["runs"])}
    # An archive with hooks runs as any other.
    assert tvmc("run", "model.tar").stdout.splitlines() == lines[:2]


@pytest.mark.slow
@pytest.mark.cc
def test_faults(tvmc, digits_archive, small_digits_model):
    outcome = tvmc("run", digits_archive, "--profile")
    assert outcome.status == 1
    assert "does not say when its operators begin and end; compile the model" in message_of(
        outcome.stderr
    )
    assert tvmc("run", digits_archive, "--profile-json", "p.json").status == 1
    tvmc("compile", small_digits_model, "--profile", "-o", "model.tar", "-q")
    outcome = tvmc("run", "model.tar", "--profile-json", "model.tar")
    assert "the profile would overwrite the archive" in outcome.stderr
    outcome = tvmc("run", "model.tar", "--profile-json", "missing/p.json")
    assert (outcome.status, outcome.stdout) == (1, "")
    for archive, path, fault in (
        ("model.tar", "model.tar", "the report would overwrite the archive"),
        ("model.tar", "map.txt", "unknown kind of report"),
        ("model.tar", "p.json", "two outputs of this command are this file"),
        (digits_archive, "map.json", "does not say when its operators begin and end"),
    ):
        outcome = tvmc("run", archive, "--profile-json", "p.json", "--report", path)
        assert (outcome.status, outcome.stdout) == (1, "")
        assert fault in outcome.stderr


@pytest.mark.cc
def test_the_flag_adds_a_word_to_the_option(tvmc, small_digits_model):
    setting = ("--pass-config", "tir.usmp.debug=poison_dead_bytes")
    assert tvmc("compile", small_digits_model, "--profile", *setting).status == 0
    source = load_archive("module.tar").files["codegen/host/src/default_lib0.c"].decode()
    assert "_operator_begin" in source and "poisoned" in source


@pytest.mark.slow
@pytest.mark.board
def test_a_run_on_a_board(tvmc, small_digits_model):
    require_board(board_named("mps2-an385"))
    tvmc("compile", small_digits_model, "--profile", "--board", "mps2-an385", "-o", "b.tar", "-q")
    outcome = tvmc("run", "b.tar", "--board", "mps2-an385", "--profile", "--profile-json", "p.json")
    assert outcome.status == 0
    lines = outcome.stdout.splitlines()
    assert f"The outputs equal {REFERENCE}." in lines
    (heading,) = (line for line in lines if "per MAC" in line)
    assert "instructions" in heading
    with open("p.json") as file:
        profile = json.load(file)
    (whole,) = (int(line.split()[-1]) for line in lines if line.startswith("Instructions of a run"))
    # But for what lies between the two operators, and around them.
    assert whole - 200 < profile["cost"] < whole
