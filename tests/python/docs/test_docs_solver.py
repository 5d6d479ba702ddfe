"""What docs/solver.md shows works as it stands there."""

from __future__ import annotations

import os
import re
import shlex

import pytest

from conftest import ROOT
from usmp.driver.tvmc import main
from usmp_solver.formats.csv_cells import MINIMALLOC

pytestmark = pytest.mark.cc

PAGE = (ROOT / "docs/solver.md").read_text()


def test_commands(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (table,) = re.findall(r"```csv\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "in.csv").write_text(table)
    lines = re.findall(r"^    tvmc (.*)$", PAGE, re.MULTILINE)
    assert len(lines) == 3
    for line in lines:
        assert main(shlex.split(line)) == 0, capfd.readouterr().err
    assert set(os.listdir()) == {"in.csv", "out.csv"}


def test_columns():
    rows = re.findall(r"^\| (`\w+` \|.*)\|$", PAGE, re.MULTILINE)
    assert [row.split("`")[1] for row in rows] == list(dict.fromkeys(MINIMALLOC.names.values()))
    named = set(re.findall(r"`(\w+)`", "\n".join(rows)))
    assert set(MINIMALLOC.names) <= named


def test_python(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict = {}
    exec(code, names)
    assert names["solution"].has_plan
    assert set(names["solution"].places) == {"image", "features", "sum"}
    assert names["solution"].lower_bound <= names["solution"].peak <= 8192
