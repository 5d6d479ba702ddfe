"""What the pages in docs/ show works as it stands there."""

import re

import pytest

from conftest import ROOT
from support.python_here import run_python
from usmp import algorithms, analysis, names, transform
from usmp.objects.attributes import annotations
from usmp.objects.attributes.attribute import Annotation

pytestmark = pytest.mark.cc

PAGE = (ROOT / "docs/hand-written-tir.md").read_text()


@pytest.mark.slow
def test_the_examples_of_hand_written_tir(tmp_path):
    """As a file: TVMScript reads the source of what it parses."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    printed = run_python("\nprint('next')\n".join(blocks), tmp_path)
    planned, ran, product, c_source, dynamic, distance, progress = printed.split("next\n")
    places = dict(line.split(" ", 1) for line in planned.splitlines()[-2:])
    assert places == {"a": "dtcm 0", "scratch": "sram 0"}
    assert ran == f"{sum(range(64))}\n"
    assert product == "first 64\n"
    assert re.search(r"if \(.*\) \{\s+tvmgen_default_decay\(", c_source) is not None
    shown = dynamic.replace('T.handle("int8", "global")', 'T.handle("int8")')
    shown = shown.replace("T.handle().ty", '"handle"')
    body = shown[shown.index("def ") :].rstrip().splitlines()
    body = [f"    {line}" for line in body if "func_attr" not in line]
    assert "\n" + "\n".join(body) + "\n\n" in PAGE
    assert re.search(r"distance\(image, out\)\)  # (\d+)", PAGE)[1] == distance.strip()
    assert set(progress.splitlines()) <= {"128 128"}  # None if it ends at once.


def first_column(section):
    table = PAGE.split(f"## {section}\n")[1].split("##")[0]
    cells = re.findall(r"^\| (`[^|]*)\|", table, re.MULTILINE)
    return [name for cell in cells for name in re.findall(r"`([\w.]+)", cell)]


def test_every_step_exists():
    steps = [name for name in first_column("The steps") if "." in name]
    assert len(steps) == 13
    for step in steps:
        room, name = step.split(".")
        assert hasattr({"transform": transform, "analysis": analysis}.get(room, algorithms), name)


def test_every_annotation_and_algorithm_is_there():
    known = {str(each) for each in vars(annotations).values() if isinstance(each, Annotation)}
    assert set(first_column("Annotations of an AllocBuffer")) == known
    listed = first_column("Algorithms")
    assert sorted(listed) == sorted(names.ALGORITHMS)
