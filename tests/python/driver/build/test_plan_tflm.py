"""`tvmc plan --emit-tflm`: a model with offsets for the arena of TFLite Micro."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

from usmp.frontend.tflite.arena.offline_plan import plan_offline
from usmp_solver import read_csv, solve


@pytest.fixture
def model(tvmc, digits_model) -> Path:
    """The digits model in the folder in which commands run."""
    return Path(shutil.copy(digits_model, "model.tflite"))


def test_the_file_and_the_table(tvmc, model):
    outcome = tvmc("plan", model, "--emit-tflm", "out.tflite")
    assert (outcome.status, outcome.stderr) == (0, "")
    assert outcome.stdout.splitlines()[0] == "Memory of model.tflite (auto)"
    assert outcome.stdout.splitlines()[4].split() == ["arena", "head", "1536", "1536", "1.000", "-"]
    assert Path("out.tflite").read_bytes() == plan_offline(model.read_bytes(), solve).content


def test_a_plan_that_is_replaced(tvmc, model):
    assert tvmc("plan", model, "--emit-tflm", "once.tflite").status == 0
    outcome = tvmc("plan", "once.tflite", "--emit-tflm", "twice.tflite", "--format=json")
    assert outcome.stderr == (
        "tvmc: once.tflite had offsets for TFLite Micro; twice.tflite has these in their place\n"
    )
    assert json.loads(outcome.stdout)["pools"][0]["peak_bytes"] == 1536


def test_the_csv_is_what_plan_buffers_reads(tvmc, model):
    outcome = tvmc(
        "plan", model, "--emit-tflm=out.tflite", "-o", "plan.csv", "--usmp-algorithm=no_sharing"
    )
    assert (outcome.status, outcome.stdout, outcome.stderr) == (0, "", "")
    rows = list(csv.DictReader(Path("plan.csv").read_text().splitlines()))
    assert rows[0] == {
        "id": "image",
        "lower": "0",
        "upper": "2",
        "size": "64",
        "alignment": "16",
        "offset": "0",
    }
    assert solve(read_csv("plan.csv").problem).peak == sum(int(row["size"]) for row in rows)


@pytest.mark.slow
def test_refused(refused, model, digits_archive):
    other = shutil.copy(model, "other.tflite")
    Path("model.onnx").touch()
    arguments = "plan", "--emit-tflm", "out.tflite"
    assert refused(*arguments, model, "--target=c -O1") == (
        "--target has no meaning for TFLite Micro, which has one arena and kernels of its own; "
        "leave it or --emit-tflm out"
    )
    assert refused(*arguments, model, other) == (
        "--emit-tflm is for one .tflite model, not for model.tflite, other.tflite"
    )
    assert refused(*arguments, "model.onnx") == (
        "--emit-tflm is for one .tflite model, not for model.onnx"
    )
    assert refused(*arguments, digits_archive) == (
        f"--emit-tflm belongs to a model, and {digits_archive} is planned already"
    )
    assert refused(*arguments, "--buffers=in.csv") == (
        "--emit-tflm belongs to a model, and --buffers plans without one"
    )
    assert refused("plan", model, "--emit-tflm", model) == (
        "model.tflite: the model with offsets would overwrite the model"
    )
    assert refused(*arguments, model, "-o", "out.tflite") == (
        "out.tflite: the plan would overwrite the model with offsets"
    )
    assert refused(*arguments, "no.tflite") == "no.tflite: No such file or directory"
    Path("bad.tflite").write_bytes(b"....TFL3")
    assert refused(*arguments, "bad.tflite").startswith("bad.tflite: the file is damaged")
    assert refused(*arguments, model, "--usmp-algorithm=best").startswith(
        'unknown algorithm "best"'
    )
