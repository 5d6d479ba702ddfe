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


def table(section: str) -> list[list[str]]:
    """The cells of the first table of a section, without the line below its heading."""
    text = PAGE.split(f"## {section}\n")[1].split("\n## ")[0]
    heading, _, *rows = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in re.findall(r"^\|.*\|$", text, re.MULTILINE)
    ]
    return [heading, *rows]


def ram() -> dict[str, dict[str, int]]:
    heading, *rows = table("RAM")
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


def test_storage_of_tvms_virtual_machine():
    _, *rows, means = table("Storage of TVM's virtual machine")
    ratios = []
    for _, _, theirs, _, ours, bound, is_optimal, ratio, _, _, time in rows:
        assert int(bound) <= int(ours) < int(theirs)
        assert is_optimal == ("yes" if bound == ours else "no")
        ratios.append(int(ours) / int(theirs))
        assert f"{ratios[-1]:.2f}" == ratio
        assert abs(float(time) - 1) <= 0.02
    assert means[7] == f"{geometric_mean(ratios):.2f}"
    page = (ROOT / "docs/tvm-vm.md").read_text()
    assert re.search(r"the storages take ([\d.]+) of the bytes", page).group(1) == means[7]
