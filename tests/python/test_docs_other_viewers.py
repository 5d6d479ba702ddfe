"""What docs/other-viewers.md says can be run."""

from __future__ import annotations

import os
import re
import shlex
import shutil

import pytest

from conftest import ROOT
from usmp.driver.tvmc import main

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
