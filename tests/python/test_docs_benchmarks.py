"""What docs/benchmarks.md says of its tables can be found and computed."""

from __future__ import annotations

import re
from statistics import geometric_mean

from conftest import ROOT

PAGE = (ROOT / "docs/benchmarks.md").read_text()
MLPERF_TINY = [f"mlperf_{name}_int8" for name in ("ad01", "kws", "resnet8", "strww", "vww_96")]


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


def mean(column: str, otherwise: str = "") -> str:
    """Geometric mean of what is in a column, or else in another one, as a part of TFLite Micro's
    arena."""
    rows = [ram()[name] for name in MLPERF_TINY]
    ratios = [row.get(column, row.get(otherwise)) / row["TFLM arena"] for row in rows]
    return f"{geometric_mean(ratios):.2f}"


def test_what_interleaving_and_overlap_save():
    means = [mean(column) for column in ("interleaved", "overlap", "no overlap")]
    text = r"is ([\d.]+) of TFLite Micro's arena, ([\d.]+) .*?, and ([\d.]+) without\s+overlap"
    assert list(re.search(text, PAGE, re.DOTALL).groups()) == means
    readme = (ROOT / "README.md").read_text()
    (of_five,) = re.findall(
        r"^\| RAM, geometric mean .* \| ([\d.]+) \| 1 \|$", readme, re.MULTILINE
    )
    (one_by_one,) = re.findall(r"one after the other \(([\d.]+) of TFLite", readme)
    assert [of_five, one_by_one] == means[:2]
    by_rows = re.search(r"with inputs by rows, where they can be, it is ([\d.]+)\.", PAGE)
    assert by_rows and by_rows.group(1) == mean("input by rows", "interleaved")


def test_every_peak_is_at_least_its_bounds():
    for row in ram().values():
        assert row["lower bound"] <= row["interleaved"] <= row["overlap"] <= row["no overlap"]
        assert row.get("no choice below", 0) <= row["interleaved"]
