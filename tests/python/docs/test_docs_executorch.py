"""What docs/executorch.md shows works as it stands there."""

from __future__ import annotations

import re
from statistics import geometric_mean

import pytest

from conftest import ROOT

pytestmark = pytest.mark.models

PAGE = (ROOT / "docs/executorch.md").read_text()


@pytest.mark.slow
def test_python(capsys):
    names: dict = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(code, names)
    assert capsys.readouterr().out == "[0, 32784]\n"


def test_the_table():
    rows = re.findall(r"^\| ([^|]+) \| (\d+) \| (\d+) \| (\d+) \| ([\d.]+) \|", PAGE, re.MULTILINE)
    assert len(rows) >= 20
    for _, greedy, alone, in_place, ratio in rows:
        assert int(in_place) <= int(alone) <= int(greedy)
        assert f"{int(in_place) / int(greedy):.2f}" == ratio
    mean = geometric_mean(int(row[3]) / int(row[1]) for row in rows)
    assert f"geometric mean is {mean:.2f}" in PAGE
