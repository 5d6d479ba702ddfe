"""What the pages in docs/ show works as it stands there."""

import re
import subprocess
import sys

from conftest import ROOT
from usmp import algorithms, analysis, transform
from usmp.objects import attributes

PAGE = (ROOT / "docs/hand-written-tir.md").read_text()


def test_the_example_of_hand_written_tir(tmp_path):
    """As a file: TVMScript reads the source of what it parses."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    script = tmp_path / "example.py"
    script.write_text(code)
    done = subprocess.run([sys.executable, script], check=True, capture_output=True, text=True)
    places = dict(line.split(" ", 1) for line in done.stdout.splitlines()[-2:])
    assert places == {"a": "sram 0", "scratch": "dtcm 0"}


def first_column(section):
    table = PAGE.split(f"## {section}\n")[1].split("##")[0]
    cells = re.findall(r"^\| (`[^|]*)\|", table, re.MULTILINE)
    return [name for cell in cells for name in re.findall(r"`([\w.]+)", cell)]


def test_every_step_exists():
    steps = [name for name in first_column("The steps") if "." in name]
    assert len(steps) == 9
    for step in steps:
        room, name = step.split(".")
        assert hasattr({"transform": transform, "analysis": analysis}.get(room, algorithms), name)


def test_every_annotation_and_algorithm_is_there():
    annotations = {
        attributes.CANDIDATE_MEMORY_POOL_ATTR,
        attributes.CONSTANT_DATA_ATTR,
        attributes.FIXED_OFFSET_ATTR,
        attributes.LIVE_THROUGHOUT_ATTR,
        attributes.INPUT_TENSOR_ATTR,
        attributes.OUTPUT_TENSOR_ATTR,
        attributes.STATE_TENSOR_ATTR,
    }
    assert set(first_column("Annotations of an AllocBuffer")) == annotations
    listed = first_column("Algorithms")
    assert sorted(listed) == sorted(algorithms.BUILTIN_ALGORITHMS)
