"""docs/operators.md lists the operators of every front end."""

from __future__ import annotations

import re

import pytest

from conftest import ROOT
from support.operator_trials.sweep import operators

TITLES = {"TFLite": "tflite", "ONNX": "onnx", "PyTorch": "pytorch"}


@pytest.mark.parametrize("title", TITLES)
def test_every_operator_is_listed(title):
    sections = re.split(r"^## ", (ROOT / "docs/operators.md").read_text(), flags=re.MULTILINE)
    (section,) = (section for section in sections if section.startswith(f"{title}\n"))
    rows = re.findall(r"^\| `([^`]*)` \| (.*) \|$", section, re.MULTILINE)
    assert [name for name, _ in rows] == operators(TITLES[title]), (
        "python benchmarks/operators_page.py writes the page"
    )
    assert f"{len(rows)} operators;" in section
    assert all(types for _, types in rows)
