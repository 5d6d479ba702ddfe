"""The file of a sweep: what a later run takes over, and what it refuses."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from support.sweeps import built, sweep
from usmp.exploration.document import OtherSweep, sweep_json, take_results
from usmp.exploration.result import DOES_NOT_FIT, FAILED, Result
from usmp.exploration.sweep import InputFile

RESULTS = (built(3, 1), Result(DOES_NOT_FIT, "too small"), Result(FAILED, "broken"), None)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "sweep.json"
    path.write_text(sweep_json(sweep(*RESULTS)))
    return path


def unfinished(**rest):
    return sweep(None, None, None, None, **rest)


def changed(file, change) -> None:
    data = json.loads(file.read_text())
    change(data)
    file.write_text(json.dumps(data))


def test_done_is_taken_over_and_a_failure_tried_again(file):
    again = unfinished()
    assert take_results(again, file) == 2
    assert again.results == {("--n=0",): RESULTS[0], ("--n=1",): RESULTS[1]}
    assert [each.arguments for each in again.remaining] == [("--n=2",), ("--n=3",)]


def test_a_larger_sweep_goes_on(file):
    larger = sweep(*[None] * 6)
    assert take_results(larger, file) == 2
    assert len(larger.remaining) == 4


def test_limits_are_those_of_the_run(file):
    again = unfinished(max_ram_bytes=2)
    take_results(again, file)
    assert [row.status for row in again.rows()] == ["over a limit", "does not fit"]


def refusal(file, given=None) -> str:
    before, given = file.read_bytes(), unfinished() if given is None else given
    with pytest.raises(OtherSweep) as refused:
        take_results(given, file)
    assert file.read_bytes() == before
    assert given.results == {}
    return str(refused.value).removeprefix(f"{file} ")


def test_another_model(file):
    other = unfinished(inputs=[InputFile.of("m.tflite", b"another")])
    assert refusal(file, other).startswith("is of other files: m.tflite (9372c470), not m.tflite (")


def test_another_version(file):
    other = replace(unfinished(), version="1.2.4")
    assert refusal(file, other).startswith("was made with usmp_version 1.2.3, and this is 1.2.4")
    changed(file, lambda data: data.update(schema_version=2))
    assert refusal(file).startswith("was made with schema_version 2, and this is 1")


def test_configurations_that_would_be_lost(file):
    assert refusal(file, sweep(None)).startswith(
        "has a configuration that this sweep lacks (--n=1), and would lose it"
    )


def of_a_row(**values):
    return lambda data: data["configurations"][0].update(values)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda data: data.pop("schema"), 'it has no "schema" that is "usmp-exploration"'),
        (lambda data: data.pop("inputs"), "something is missing in it"),
        (of_a_row(arguments=None), "something is missing in it"),
        (of_a_row(outcome="nice"), 'no outcome "nice", or no kind of code "compiled"'),
        (of_a_row(workspace_bytes="1"), "workspace_bytes is str, not int"),
        (of_a_row(workspace_bytes=True), "workspace_bytes is bool, not int"),
        (of_a_row(instructions=-1), "instructions is negative"),
        (of_a_row(constant_bytes=None), 'outcome "built" and figures contradict each other'),
        (of_a_row(reason="\x1b[2J", outcome="\x1b[2J"), 'no outcome "\\x1b[2J"'),
    ],
)
def test_damaged(file, change, reason):
    changed(file, change)
    assert refusal(file).startswith(f"is not the file of a sweep, or damaged: {reason}")


@pytest.mark.parametrize("text", ["", "[]", "{", '{"schema": 1e999}'])
def test_no_sweep(file, text):
    file.write_text(text)
    assert refusal(file).startswith("is not the file of a sweep, or damaged: it ")
