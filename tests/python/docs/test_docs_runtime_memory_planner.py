"""What docs/runtime-memory-planner.md shows works as it stands there, and lists all counters."""

from __future__ import annotations

import re

import pytest

from conftest import ROOT
from usmp.runtime import MemoryPlanner

PAGE = (ROOT / "docs/runtime-memory-planner.md").read_text()


def block(language):
    (text,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    return text


@pytest.mark.slow
def test_the_python_prints_what_stands_there(capsys):
    exec(compile(block("python"), "docs/runtime-memory-planner.md", "exec"), {})
    assert capsys.readouterr().out == block("text")


def test_every_property_is_listed():
    table = PAGE.split("\n## Counters\n")[1].split("\n## ")[0]
    listed = re.findall(r"`(\w+)`", table)
    public = [name for name in vars(MemoryPlanner) if not name.startswith("_")]
    assert sorted(set(listed)) == sorted({*public} - {"deallocate", "deallocate_output_tensors"})
