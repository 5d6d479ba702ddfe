"""`tvmc explain`: an explanation on the command line."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("one_session")

QUICK = ("--no-suggestions", "--module-name=net")


@pytest.mark.slow
def test_formats_and_files(tvmc, small_digits_model):
    outcome = tvmc("explain", small_digits_model, *QUICK, "--format=json")
    assert (outcome.status, outcome.stderr) == (0, "")
    document = json.loads(outcome.stdout)
    assert (document["schema"], document["version"]) == ("usmp.explanation", 1)
    assert document["suggestions"] is None
    plan = json.loads(tvmc("plan", small_digits_model, *QUICK[1:], "--format=json").stdout)
    (pool,) = document["pools"]
    assert {p["name"]: p["peak_bytes"] for p in plan["pools"]}[pool["name"]] == pool["peak_bytes"]
    assert tvmc("explain", small_digits_model, *QUICK, "-o", "memory.md").stdout == ""
    text = Path("memory.md").read_text()
    assert text.startswith("# Memory of digits&#95;int8, module net\n")
    assert "## Pool global&#95;workspace" in text
    assert os.listdir() == ["memory.md"]


@pytest.mark.slow
def test_other_options_are_tried(tvmc, small_model):
    outcome = tvmc("explain", small_model, "--usmp-algorithm=greedy_by_size")
    assert (outcome.status, outcome.stderr) == (0, "")
    assert "each planned again" in outcome.stdout
    assert "Tried, no gain: --pass-config tir.usmp.max_extra_macs=10%" in " ".join(
        outcome.stdout.split()
    )


def test_an_archive_needs_the_model_for_more(tvmc, refused, small_model):
    tvmc("compile", small_model, "-o", "model.tar")
    outcome = tvmc("explain", "model.tar")
    assert outcome.status == 0
    assert "found with the model: tvmc explain MODEL." in " ".join(outcome.stdout.split())
    error = refused("explain", "model.tar", "--workspace-io")
    assert "--workspace-io belongs to a model, and model.tar is planned already" in error


def test_refused(refused, small_model):
    assert "belongs to tvmc compile" in refused(
        "explain", small_model, "--export-state-layout", "places.json"
    )
    assert "would overwrite" in refused("explain", small_model, "-o", small_model)
