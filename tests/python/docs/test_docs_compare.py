"""docs/compare.md: its commands run, its workflow is one, its fields are those of the documents."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from conftest import ROOT
from support.small_digits import small_convolutions
from usmp.driver.tvmc import main

pytestmark = pytest.mark.usefixtures("digits_session")

PAGE = (ROOT / "docs/compare.md").read_text()
COMMANDS = [
    shlex.split(line.strip())[1:] for line in PAGE.splitlines() if line.startswith("    tvmc ")
]


def section(title: str) -> str:
    return re.split(r"^## ", PAGE.split(f"\n## {title}\n")[1], flags=re.MULTILINE)[0]


def fields(text: str, after: str) -> list[str]:
    """The names in the first column of the table that follows these words."""
    table = text.split(after)[1].split("\n\n")[1]
    rows = re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE)
    return [name for row in rows for name in re.findall(r"`(\w+)`", row)]


@pytest.mark.slow
@pytest.mark.board
def test_commands_run_and_write_what_the_page_says(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.tflite").write_bytes(small_convolutions())
    for command in COMMANDS:
        assert main(command) == 0, (command, capfd.readouterr().err)
    diff = json.loads((tmp_path / "diff.json").read_text())
    assert list(diff) == fields(PAGE, "`version` changes if")
    (module,) = diff["modules"]
    row = next(line for line in PAGE.splitlines() if line.startswith("| `modules` |"))
    assert list(module) == re.findall(r"`(\w+)`", row.split("|")[2])
    assert module["sums"].keys() <= set(re.findall(r"`(\w+_size_bytes)`", PAGE))
    assert (tmp_path / "comment.md").read_text().startswith("**Memory")

    main(["check", "after.tar", "--max-ram=64K", "--format=json", "-o", "verdict.json"])
    verdict = json.loads((tmp_path / "verdict.json").read_text())
    about = section("Check that a model fits")
    assert list(verdict) == fields(about, "the document has these fields")
    row = next(line for line in about.splitlines() if line.startswith("| `targets` |"))
    assert list(verdict["targets"][0]) == re.findall(r"`(\w+)`", row.split("|")[2])
    last = about.split("`ram` and `flash` have")[1]
    assert set(verdict["targets"][0]["ram"]) == set(re.findall(r"`(\w+)`", last))


def test_the_workflow():
    (text,) = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {"contents": "read"}
    (job,) = workflow["jobs"].values()
    steps = job["steps"]
    used = {step["uses"] for step in steps if "uses" in step}
    ours = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text())
    checkouts = {
        step["uses"]
        for job in ours["jobs"].values()
        for step in job["steps"]
        if step.get("uses", "").startswith("actions/checkout@")
    }
    assert used == checkouts
    runs = [step["run"] for step in steps if "run" in step]
    commands = [shlex.split(line)[:2] for run in runs for line in run.splitlines()]
    assert [words[1] for words in commands if words[0] == "tvmc"] == [
        "compile",
        "compile",
        "diff",
        "check",
    ]


@pytest.mark.slow
@pytest.mark.cc
def test_the_step_that_fails_writes_its_summary_first(tmp_path):
    """The shell lines of the workflow, on builds of which the second takes more."""
    (text,) = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (job,) = yaml.safe_load(text)["jobs"].values()
    (script,) = [step["run"] for step in job["steps"] if "diff.md" in step.get("run", "")]
    model = tmp_path / "model.tflite"
    model.write_bytes(small_convolutions())
    for name, options in {"before": [], "after": ["--disabled-pass=StreamOperators"]}.items():
        main(["compile", str(model), "-q", "-o", str(tmp_path / f"{name}.tar"), *options])
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "GITHUB_STEP_SUMMARY": "summary.md"}
    # As GitHub runs them.
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    done = subprocess.run(command, cwd=tmp_path, env=environment, check=False)
    assert done.returncode == 2
    assert "more than &#45;&#45;fail&#45;on&#45;growth" in (tmp_path / "summary.md").read_text()
