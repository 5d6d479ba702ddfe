"""What docs/see-the-plan.md shows: its commands and Python run; its tables are complete."""

from __future__ import annotations

import json
import re
from importlib.resources import files

import pytest

from conftest import ROOT
from usmp.driver.tvmc import main
from usmp.names import REPORTS
from usmp.report.exchange import FORMATS

pytestmark = pytest.mark.usefixtures("digits_session")

PAGE = (ROOT / "docs/see-the-plan.md").read_text()
OWN = [ending for ending in REPORTS if ending not in FORMATS]
"""The others are on the page of other viewers."""


@pytest.mark.slow
def test_commands_and_python(tmp_path, monkeypatch, digits_model, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.tflite").symlink_to(digits_model)
    monkeypatch.setenv("COLUMNS", "80")
    commands = re.findall(r"^    tvmc (.*)$", PAGE, re.MULTILINE)
    assert len(commands) == 4
    for command in commands:
        assert main(command.split()) == 0, capfd.readouterr().err
    (shown,) = re.findall(r"^```text\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert shown in capfd.readouterr().out
    written = {path.name: path.read_bytes() for path in tmp_path.glob("map.*")}
    assert set(written) == {f"map{ending}" for ending in OWN}
    (program,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    # A page has the name of its file.
    exec(program.replace("examples/digits/digits_int8.tflite", "model.tflite"), {})
    assert (tmp_path / "map.html").read_bytes() == written["map.html"]


def test_the_endings_are_those_of_reports():
    assert re.findall(r"^\| `(\.\w+)` \|", PAGE, re.MULTILINE) == OWN


def test_the_keys_are_those_of_the_schema():
    schema = json.loads(
        files("usmp.report.memory_maps").joinpath("memory_map.schema.json").read_text()
    )
    section = PAGE.partition("## The JSON")[2]
    keys = set(schema["properties"])
    for definition in schema["$defs"].values():
        keys |= set(definition["properties"])
    assert [key for key in sorted(keys) if not re.search(rf"`[^`]*\b{key}\b[^`]*`", section)] == []
