"""What docs/other-viewers.md says can be run."""

from __future__ import annotations

import os
import re
import shlex
import shutil

import pytest

import usmp
from conftest import ROOT
from usmp.driver.tvmc import main
from usmp.report.exchange import FORMATS

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


def test_files_for_viewers(folder, digits_model):
    usmp.build(usmp.import_model(digits_model)).export_model_library_format("model.tar")
    (block,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    exec(block, {})
    assert {"net.perfetto.json", "net.pickle", "net_c_info.json"} <= set(os.listdir())


def test_endings():
    cells = re.findall(r"^\| (`.*?) \| \[", PAGE, re.MULTILINE)
    assert [end for cell in cells for end in re.findall(r"`([^`]+)`", cell)] == list(FORMATS)
