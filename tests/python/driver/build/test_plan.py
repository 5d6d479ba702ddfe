"""`tvmc plan`: the plan of `tvmc compile`, without C."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import sys
import tarfile
from pathlib import Path

import pytest

from conftest import ROOT

pytestmark = pytest.mark.usefixtures("one_session")

OPTIONS = ("--pass-config", "tir.usmp.algorithm=hill_climb", "--module-name=net")


@pytest.fixture
def no_c(monkeypatch):
    """Let nothing make C."""

    def refuse(*arguments):
        raise AssertionError("C is made")

    build = sys.modules["usmp.executor_factory"]
    printers = [name for name in vars(build) if name.startswith("print_")]
    assert "print_header" in printers
    for printer in printers:
        monkeypatch.setattr(build, printer, refuse)


def memory_of(archive: str) -> dict:
    with tarfile.open(archive) as tar:
        (module,) = json.load(tar.extractfile("./metadata.json"))["modules"].values()
    return module["memory"]


@pytest.mark.slow
def test_json_is_the_memory_of_the_archive(tvmc, small_digits_model):
    tvmc("compile", small_digits_model, *OPTIONS, "-o", "model.tar")
    outcome = tvmc("plan", small_digits_model, *OPTIONS, "--format=json")
    assert (outcome.status, outcome.stderr) == (0, "")
    assert outcome.stdout == json.dumps(memory_of("model.tar"), indent=2) + "\n"


@pytest.mark.slow
def test_table_is_that_of_compile(tvmc, small_digits_model):
    compiled = tvmc("compile", small_digits_model, *OPTIONS, "-o", "model.tar")
    assert tvmc("plan", small_digits_model, *OPTIONS).stdout == compiled.stdout
    assert tvmc("plan", small_digits_model, *OPTIONS, "--format=table").stdout == compiled.stdout


@pytest.mark.slow
def test_no_c_is_made_and_no_file_written(tvmc, small_model, no_c):
    for shown_as in ("table", "json", "csv"):
        assert tvmc("plan", small_model, "--format", shown_as).status == 0
    assert os.listdir() == []
    assert tvmc("compile", small_model).status == 1


@pytest.mark.slow
def test_csv_has_a_row_for_every_buffer(tvmc, convolutions):
    plan = json.loads(tvmc("plan", convolutions, "--format=json").stdout)
    rows = list(csv.DictReader(io.StringIO(tvmc("plan", convolutions, "--format=csv").stdout)))
    expected = [
        (pool["name"], buffer["name"], buffer["offset"], buffer["size"])
        for pool in plan["pools"]
        for buffer in pool["buffers"]
    ]
    assert [(r["pool"], r["name"], int(r["offset"]), int(r["size"])) for r in rows] == expected
    assert len(rows) == 10


@pytest.mark.parametrize("shown_as", ["json", "csv"])
def test_file_has_what_stdout_would(tvmc, small_model, shown_as):
    shown = tvmc("plan", small_model, "--format", shown_as).stdout
    for arguments in ([f"-oplan.{shown_as}"], ["-o", "plan", "--format", shown_as]):
        assert tvmc("plan", small_model, *arguments).stdout == ""
        (name,) = os.listdir()
        assert Path(name).read_text() == shown
        Path(name).unlink()


def test_table_in_a_file(tvmc, small_model):
    shown = tvmc("plan", small_model).stdout
    assert tvmc("plan", small_model, "-o", "plan.txt").stdout == ""
    # Lines of tables are as long as the terminal is wide, and words are set in cells.
    words = (re.findall(r"[^\s─]+", text) for text in (Path("plan.txt").read_text(), shown))
    assert len({tuple(sorted(found)) for found in words}) == 1


def test_model_that_cannot_be_read(refused):
    assert refused("plan", "no.tflite", "-o", "plan.csv") == "no.tflite: No such file or directory"


def test_options_are_those_of_compile(refused, small_model):
    assert refused("plan", small_model, "--target=cuda").startswith('target "cuda"')
    assert refused("plan", small_model, "--pass-config=tir.usmp.enable=2") == (
        "pass option tir.usmp.enable takes 0 or 1, not 2"
    )


@pytest.mark.parametrize(
    ("output", "reason"),
    [("missing/plan.csv", "No such file or directory"), ("folder", "Is a directory")],
)
def test_unwritable_output(refused, small_model, output, reason):
    Path("folder").mkdir()
    message = refused("plan", small_model, "-o", output)
    assert message == f"{output}: cannot be written ({reason})"


def test_output_over_the_model(refused, small_model):
    before = small_model.read_bytes()
    assert refused("plan", small_model, "-o", small_model) == (
        f"{small_model}: the plan would overwrite the model"
    )
    assert small_model.read_bytes() == before


def test_output_without_a_name(refused, small_model):
    assert refused("plan", small_model, "-o", "") == "the path for the plan is empty; name a file"


def test_unknown_format(refused, small_model):
    assert refused("plan", small_model, "--format=xml").startswith(
        'argument --format: invalid choice "xml"'
    )


@pytest.mark.slow
def test_operators(tvmc, digits_model):
    outcome = tvmc("plan", digits_model, "--operators", "-q")
    page = (ROOT / "docs/tvmc.md").read_text()
    shown = [line.strip() for line in outcome.stdout.splitlines()]
    documented = page.split("with a star at the")[1].split("With `--format json`")[0]
    rows = [line.strip() for line in documented.splitlines() if line.startswith("     ")]
    assert len(rows) == 9
    assert [line for line in shown if line in rows] == rows


@pytest.mark.slow
def test_operators_as_files(tvmc, convolutions):
    tvmc("compile", convolutions, *OPTIONS, "-o", "model.tar", "-q")
    tvmc("plan", "model.tar", "--operators", "-o", "operators.json")
    tvmc("plan", convolutions, *OPTIONS, "--operators", "-o", "operators.csv", "-q")
    document = json.loads(Path("operators.json").read_text())
    with tarfile.open("model.tar") as tar:
        (module,) = json.load(tar.extractfile("./metadata.json"))["modules"].values()
    assert document == {
        "schema": "usmp.operators",
        "version": 1,
        "model_operators": module["model_operators"],
        "operators": module["operators"],
    }
    rows = list(csv.DictReader(io.StringIO(Path("operators.csv").read_text())))
    assert rows[0]["model_operators"] == "0 CONV_2D; 1 CONV_2D"
    assert [int(row["weight_bytes"]) for row in rows] == [
        operator["weights_size_bytes"] for operator in module["operators"]
    ]
