"""What docs/other-viewers.md says can be run."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from pathlib import Path

import pytest

from conftest import ROOT
from usmp.driver.tvmc import main
from usmp.report.exchange import FORMATS

pytestmark = pytest.mark.usefixtures("digits_session")

PAGE = (ROOT / "docs/other-viewers.md").read_text()


@pytest.fixture
def folder(tmp_path, monkeypatch, digits_model):
    """A folder with the model that the commands read."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(digits_model, "model.tflite")


def commands(title: str) -> list[list[str]]:
    """The indented commands of a section, as arguments of `main`."""
    section = re.split(r"^## ", PAGE.split(f"\n## {title}\n")[1], flags=re.MULTILINE)[0]
    return [shlex.split(line)[1:] for line in re.findall(r"^    (tvmc .*)$", section, re.MULTILINE)]


def test_tflite_micro(folder, capfd):
    (command,) = commands("TFLite Micro")
    assert main(command) == 0
    assert os.path.getsize("planned.tflite") > os.path.getsize("model.tflite")


@pytest.mark.slow
def test_files_for_viewers(folder, capfd):
    lines = commands("Files for viewers")
    for line in lines:
        assert main(line) == 0, capfd.readouterr().err
    written = {argument for line in lines for argument in line if argument.startswith("net")}
    assert len(written) == 4 and written <= set(os.listdir())
    values = json.loads(Path("net.live_bytes.node_data.json").read_text())["results"]
    assert len([key for key in values if key.startswith("<node_")]) == 10


def test_endings():
    cells = re.findall(r"^\| (`.*?) \| \[", PAGE, re.MULTILINE)
    assert [end for cell in cells for end in re.findall(r"`([^`]+)`", cell)] == list(FORMATS)
