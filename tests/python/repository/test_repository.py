"""Workflows, templates and metadata of the repository agree with pyproject.toml."""

from __future__ import annotations

import re
from importlib.metadata import distribution

import pytest
import yaml

import usmp
from conftest import ROOT

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
METADATA = distribution("tvm-usmp").metadata
PYTHONS = [
    classifier.rpartition(" ")[2]
    for classifier in METADATA.get_all("Classifier")
    if re.search(r":: 3\.\d+$", classifier)
]


def read(path: str):
    return yaml.safe_load((ROOT / path).read_text())


def steps_of(workflow) -> list[dict]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def test_the_workflows():
    assert [path.stem for path in WORKFLOWS] == ["docs", "lint", "nightly", "tests", "wheels"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_may_do_little_and_ends(path):
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    most = 350 if path.stem == "nightly" else 90
    assert all(job["timeout-minutes"] <= most for job in workflow["jobs"].values())
    for step in steps_of(workflow):
        action = step.get("uses", "")
        assert not action or re.search(r"@v\d+\.\d+\.\d+$", action)
        if action.startswith("actions/checkout@"):
            assert step["with"] == {"persist-credentials": False}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_makes_what_the_makefile_has(path):
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M)
    runs = [step.get("run", "") for step in steps_of(yaml.safe_load(path.read_text()))]
    assert {target for run in runs for target in re.findall(r"\bmake (\w+)", run)} <= set(targets)


def test_tests_and_wheels_are_of_every_python():
    assert PYTHONS == ["3.10", "3.11", "3.12", "3.13"]
    tests = read(".github/workflows/tests.yml")["jobs"]["tests"]
    assert tests["strategy"]["matrix"]["python"] == PYTHONS
    wheels = re.search(r"^build = \[(.*)\]$", (ROOT / "pyproject.toml").read_text(), re.M)[1]
    assert re.findall(r'"cp3(\d+)-\*"', wheels) == [python[2:] for python in PYTHONS]


def test_hooks_have_the_versions_of_make_lint():
    hooks = {repo["repo"]: repo["rev"] for repo in read(".pre-commit-config.yaml")["repos"]}
    for tool, repo in (("ruff", "ruff-pre-commit"), ("clang-format", "mirrors-clang-format")):
        (revision,) = (rev for url, rev in hooks.items() if url.endswith(f"/{repo}"))
        assert f'{tool}=={revision.removeprefix("v")}; extra == "lint"' in METADATA.get_all(
            "Requires-Dist"
        )


def test_templates_of_issues():
    for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"):
        form = yaml.safe_load(path.read_text())
        if path.stem != "config":
            assert {"name", "description", "body"} <= set(form)
            assert all({"type", "attributes"} <= set(element) for element in form["body"])


def test_the_version_in_texts():
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert headings[0] == "Unreleased"
    assert headings[1].split(" ")[0] == usmp.__version__
    citation = read("CITATION.cff")
    assert citation["version"] == usmp.__version__
    assert citation["license"] == METADATA["License-Expression"]
