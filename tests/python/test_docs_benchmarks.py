"""What docs/benchmarks.md says of its tables can be found and computed."""

from __future__ import annotations

import re

from conftest import ROOT

PAGE = (ROOT / "docs/benchmarks.md").read_text()
CONVOLUTIONAL = [f"mlperf_{name}_int8" for name in ("kws", "resnet8", "strww", "vww_96")]


def test_the_scripts_exist():
    scripts = set(re.findall(r"`(?:\.venv/bin/python )?(benchmarks/\w+\.py)", PAGE))
    assert len(scripts) > 10
    assert [script for script in scripts if not (ROOT / script).exists()] == []


def ram() -> dict[str, dict[str, int]]:
    table = PAGE.split("## RAM\n")[1].split("\n## ")[0]
    heading, _, *rows = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in re.findall(r"^\|.*\|$", table, re.MULTILINE)
    ]
    return {
        row[0]: {
            column: int(cell) for column, cell in zip(heading, row, strict=True) if cell.isdigit()
        }
        for row in rows
    }


def percent(table: dict[str, dict[str, int]], column: str) -> list[int]:
    ratios = [100 * table[name]["overlap"] / table[name][column] for name in CONVOLUTIONAL]
    return [round(min(ratios)), round(max(ratios))]


def test_what_overlap_saves():
    least, most = re.search(r"Overlap saves (\d+) to (\d+) %", PAGE).groups()
    assert f"Overlap saves {least} to {most} % of" in (ROOT / "README.md").read_text()
    assert percent(ram(), "no overlap") == [100 - int(most), 100 - int(least)]
    tensors = re.search(r"(\d+) to (\d+) % of what TFLite Micro needs", PAGE).groups()
    assert percent(ram(), "TFLM tensors") == [int(share) for share in tensors]


def test_every_peak_is_at_least_its_bound():
    for row in ram().values():
        assert row["lower bound"] <= row["overlap"]
        assert row["largest tensor"] <= row["overlap"]
