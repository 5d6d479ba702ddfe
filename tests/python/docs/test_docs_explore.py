"""What docs/explore.md says is so; its commands run."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import fields

import pytest

from conftest import ROOT
from support.small_digits import small_digits
from support.sweeps import built, sweep
from usmp.driver.explore import options as explore_options
from usmp.driver.explore.options import DEFAULT_SWEEP
from usmp.driver.tvmc import main
from usmp.exploration import processes
from usmp.exploration.document import SCHEMA, SCHEMA_VERSION, document
from usmp.exploration.result import CODE_KINDS, OUTCOMES, Result

PAGE = (ROOT / "docs/explore.md").read_text()


def commands() -> list[list[str]]:
    text = re.sub(r"^```.*?^```", "", PAGE, flags=re.DOTALL | re.MULTILINE)
    lines = "".join(re.findall(r"^    .*\n", text, re.MULTILINE)).replace("\\\n", " ")
    return [shlex.split(line) for line in lines.splitlines()]


def keys(heading: str) -> set[str]:
    """The first cells of a table, that of the keys of an object."""
    table = PAGE.split(heading)[1].split("|---|---|\n")[1].split("\n\n")[0]
    return {
        name for line in table.splitlines() for name in re.findall(r"`(\w+)`", line.split("|")[1])
    }


def test_default_sweep():
    for name, values in DEFAULT_SWEEP.items():
        assert f"`{name}` ({', '.join(values)})" in PAGE.replace("\n", " ")


def test_keys():
    data = document(sweep(built(1, 1)))
    assert keys("JSON has one object:") == set(data)
    (row,) = data["configurations"]
    assert keys("what is not known is null:") == set(row)
    assert {field.name for field in fields(Result)} < set(row)
    assert f"`{SCHEMA}`, {SCHEMA_VERSION}." in PAGE
    for value in (*OUTCOMES, *CODE_KINDS):
        assert f"`{value}`" in PAGE


def in_this_process(evaluate, shared, tasks, *_):
    for task in tasks:
        yield task, evaluate(shared, task)


@pytest.mark.slow
@pytest.mark.board
def test_commands(tmp_path, monkeypatch, capfd, digits_model):
    """All but those of a cluster; the sweep of the defaults is cut to one of its values."""
    pytest.importorskip("vl_convert")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(explore_options, "DEFAULT_SWEEP", {"optimize": ("ram",)})
    # Each process would load TVM.
    monkeypatch.setattr(processes, "in_processes", in_this_process)
    model = tmp_path / "model.tflite"
    model.symlink_to(digits_model)
    lines = commands()
    assert [line[:2] for line in lines[-3:-1]] == [["dask", "scheduler"], ["dask", "worker"]]
    for line in lines[:-3]:
        assert main(line[1:]) == 0, capfd.readouterr().err
        # The figures of the page are those of the first command.
        model.unlink(missing_ok=True)
        model.write_bytes(small_digits())
    assert len(lines) == 6
    (row,) = json.loads((tmp_path / "sweep.json").read_text())["configurations"]
    shown = re.search(r"^ 15 +(\d+) +\d+ +>=(\d+) ", PAGE, re.MULTILINE)
    assert row["ram_bytes"] == int(shown[1]) + 74
    assert row["instructions"] == int(shown[2])
